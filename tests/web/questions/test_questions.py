"""Questions over HTTP answer as the commands do, also those that take long."""

import json
from typing import Any

import pytest
import yaml
from litestar.testing import TestClient

from kschedctl.common.errors import ManifestError
from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.questions.diff.answer import Diff
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.simulate.request import SimulateRequest
from kschedctl.web.questions.question import Asked, AskedRequest
from kschedctl.web.questions.questions import CompareQuery, ManifestQuery, compare, simulate_queue
from tests.builders import load_engine
from tests.cli.in_process import run
from tests.web.conftest import SHOP, ended


def test_a_job_of_more_pods_than_can_be_created_ends_at_once() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 10**9, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    asked = AskedRequest(ManifestQuery(), body=json.dumps(web).encode(), request=SimulateRequest())
    with pytest.raises(ManifestError, match="1,000,000,000 pods would be created one by one"):
        simulate_queue(load_engine(str(SHOP)), asked, AnalysisHandle())


def test_the_rules_of_a_comparison_are_those_of_the_server() -> None:
    cluster = load_engine(str(SHOP), kubernetes_version="1.34")
    other = ClusterRequest(source=ClusterSource(paths=(str(SHOP),)), kubernetes_version="1.34")
    answer = compare(cluster, Asked(CompareQuery(), compare=(other,)), AnalysisHandle())
    assert isinstance(answer, Diff)
    assert [side.rules.kubernetes_version for side in (answer.before, answer.after)] == ["1.34", "1.34"]


POD = """
apiVersion: v1
kind: Pod
metadata: {name: big}
spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 100}}}]}
"""

#: The address, and the command with the same answer.
SAME = {
    "nodes": "nodes",
    "nodes?by=zone&sort-by=cpu": "nodes --by zone --sort-by cpu",
    "nodes?selector=shop.example/pool%3Dgpu": "nodes -l shop.example/pool=gpu",
    "nodes?cordon=node-8": "nodes --cordon node-8",
    "nodes/node-8": "nodes node-8",
    "nodes/node-8?taint=node-8:a%3Db:NoSchedule": "nodes node-8 --taint node-8:a=b:NoSchedule",
    "pods/shop/web-7/explain": "explain shop/web-7",
    "pods/shop/web-7/explain?cordon=node-8&set-request=cpu%3D100m": "explain shop/web-7 --cordon node-8 "
    "--set-request cpu=100m",
    "pods/shop/web-7/explain?cordon=node-8&cordon=node-5": "explain shop/web-7 --cordon node-8 --cordon node-5",
    "pods/shop/web-7/explain?node=node-3&why=true": "explain shop/web-7 --node node-3 --why",
    "pods/shop/web-7/explain?prefer=node-3&suggest=2": "explain shop/web-7 --prefer node-3 --suggest 2",
    "pods/shop/web-7/explain?withstand=true": "explain shop/web-7 --withstand",
    "pods/shop/web-7/explain?sampling=true": "explain shop/web-7 --sampling",
    "pods/shop/web-7/explain?seed=7": "explain shop/web-7 --seed 7",
    "pods/shop/search-3/preempt": "preempt shop/search-3",
    "pods/data/postgres-0/volumes": "volumes pod/postgres-0 -n data",
    "pending": "pending --changes 0",
    "pending?namespace=shop": "pending --changes 0 -n shop",
    "volumes": "volumes -A",
    "volumes/data/data-postgres-0": "volumes data/data-postgres-0",
    "devices": "devices",
    "leader": "leader",
}
#: The address of a job, and the command with the same answer.
SAME_JOBS = {
    "drain?node=node-8&ignore-daemonsets=true": "drain node-8 --ignore-daemonsets",
    "drain?zone=eu-central-1a&force=true&surge=1": "drain --zone eu-central-1a --force --surge 1",
    "simulate": "simulate",
    "simulate?fail-zone=eu-central-1a&seed=3": "simulate --fail-zone eu-central-1a --seed 3",
    "capacity?pod=shop/web-7&max=3": "capacity shop/web-7 --max 3",
    "pending?changes=2": "pending --changes 2",
    f"diff?to={SHOP}&cordon=node-8": "",
}


def of_command(words: str) -> Any:
    printed = run(*words.split(), "--snapshot", str(SHOP), "-o", "json")
    return json.loads(printed.out), printed


@pytest.mark.parametrize(("address", "command"), SAME.items(), ids=SAME)
def test_answers_are_those_of_the_command_line(shop: TestClient[Any], address: str, command: str) -> None:
    response = shop.get(f"/api/v1/{address}")
    expected, printed = of_command(command)
    assert response.status_code == 200, (response.text, printed.err)
    assert list(response.json().items()) == list(expected.items())
    assert response.headers["Kschedctl-Cluster-Version"] == "1"


@pytest.mark.parametrize(("address", "command"), SAME_JOBS.items(), ids=SAME_JOBS)
def test_answers_of_jobs_are_those_of_the_command_line(shop: TestClient[Any], address: str, command: str) -> None:
    response = shop.post(f"/api/v1/{address}")
    assert response.status_code == 202, response.text
    job = ended(shop, response)
    assert job["state"] == "done", job["problem"]
    if command:
        assert job["answer"] == of_command(command)[0]


def test_a_manifest_is_explained_as_yaml_and_as_json(shop: TestClient[Any]) -> None:
    answers = [shop.post("/api/v1/explain", content=body).json() for body in (POD, json.dumps(yaml.safe_load(POD)))]
    assert answers[0]["pod"]["name"] == "big"
    assert not answers[0]["verdict"]["nodes"]
    assert answers[1] == answers[0]


def test_several_pods_are_explained_together(shop: TestClient[Any]) -> None:
    answer = shop.post("/api/v1/explain", content=f"{POD}---{POD.replace('big', 'other')}").json()
    assert [item["pod"]["name"] for item in answer["items"]] == ["big", "other"]


def test_the_other_objects_of_a_manifest_are_applied_first(shop: TestClient[Any]) -> None:
    own_class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: mine}\nvalue: 7\n---"
    spec = POD.replace("spec: {", "spec: {priorityClassName: mine, ")
    assert shop.post("/api/v1/explain", content=own_class + spec).json()["pod"]["priority"] == 7
    # The next user does not see it.
    assert shop.post("/api/v1/explain", content=spec).status_code == 422


def test_manifests_are_linted_against_the_cluster(shop: TestClient[Any]) -> None:
    report = shop.post("/api/v1/lint", content=POD).json()
    assert [(finding["rule"], finding["file"]) for finding in report["findings"] if finding["rule"] == "KS501"] == [
        ("KS501", "request")
    ]


def test_comments_of_helm_read_no_files(shop: TestClient[Any]) -> None:
    body = "---\n# Source: ../../../../etc/templates/passwd\n" + POD.strip()
    report = shop.post("/api/v1/lint", content=body).json()
    assert {finding["file"] for finding in report["findings"]} == {"request"}


#: Method, address, body: status, and a part of the problem or its hint.
REFUSED = {
    "an unknown pod": ("GET", "pods/shop/nope/explain", "", 404, "no pod shop/nope"),
    "an unknown node": ("GET", "nodes/node-99", "", 404, "no node node-99"),
    "an unknown workload": ("GET", "workloads/Deployment/shop/nope", "", 404, "no Deployment shop/nope"),
    "an unknown budget": ("GET", "budgets/shop/nope", "", 404, "no PodDisruptionBudget shop/nope"),
    "an unknown claim": ("GET", "volumes/shop/nope", "", 404, "no PersistentVolumeClaim shop/nope"),
    "an unknown job": ("GET", "jobs/nope", "", 404, "no such job"),
    "an unknown address": ("GET", "nope", "", 404, "Not Found"),
    "another method": ("DELETE", "nodes", "", 405, "Method Not Allowed"),
    "an unknown parameter": ("GET", "nodes?selectr=a", "", 400, "did you mean selector?"),
    "a parameter that is given twice": ("GET", "nodes?by=zone&by=pool", "", 400, "is given twice"),
    "a parameter of another type": ("GET", "pods/shop/web-7/explain?suggest=many", "", 400, "is not a whole number"),
    "a parameter out of range": ("GET", "pods/shop/web-7/explain?suggest=101", "", 400, "<= 100"),
    "a missing parameter": ("GET", "search", "", 400, "is missing"),
    "a parameter of the path": ("GET", "nodes/node-8?name=node-7", "", 400, "not a parameter here"),
    "a broken escape": ("GET", "search?q=%ff", "", 400, "percent-encoded UTF-8"),
    "many parameters": ("GET", "nodes?" + "cordon=node-1&" * 300, "", 400, "more than 200 parameters"),
    "long parameters": ("GET", f"search?q={'x' * 20_000}", "", 400, "longer than"),
    "a what-if that reads files": ("GET", "nodes?apply=/etc/passwd", "", 400, "not a parameter here"),
    "a what-if about no node": ("GET", "pods/shop/web-7/explain?cordon=node-99", "", 400, "no node node-99"),
    "a broken what-if": ("GET", "pods/shop/web-7/explain?taint=x", "", 400, "does not name a node"),
    "no manifest": ("POST", "explain", "", 400, "no manifest"),
    "no text": ("POST", "explain", "\x00\x01", 422, ""),
    "no object": ("POST", "explain", "a: b", 422, "kind"),
    "broken JSON": ("POST", "explain", "{", 422, "the request's body, document 1"),
    "an unknown field": ("POST", "explain", POD.replace("image", "imgae"), 422, "imgae"),
    "no pod": ("POST", "explain", "apiVersion: v1\nkind: Node\nmetadata: {name: a}", 422, "give a"),
    "a snapshot that is not offered": ("POST", "diff?to=/etc", "", 202, "not started with this snapshot"),
    "a drain of no node": ("POST", "drain", "", 400, "name nodes, or use selector or zone"),
    "a selector of no node": ("POST", "drain?selector=pool%3Dnope", "", 202, '"field": "selector"'),
    "a large body": ("POST", "explain", "x" * 100_001, 413, "exceeds 100,000 bytes"),
    "deeply nested YAML": ("POST", "explain", "[" * 5_000, 422, ""),
}


@pytest.mark.parametrize(("method", "address", "body", "status", "part"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(
    shop: TestClient[Any], method: str, address: str, body: str, status: int, part: str
) -> None:
    response = shop.request(method, f"/api/v1/{address}", content=body)
    assert response.status_code == status, response.text
    problem = ended(shop, response)["problem"] if status == 202 else response.json()
    if status != 202:
        assert response.headers["Content-Type"] == "application/problem+json"
        assert problem["status"] == status
    assert part in json.dumps(problem)
    assert "Traceback" not in response.text


def test_what_ifs_of_two_users_do_not_touch_each_other(shop: TestClient[Any]) -> None:
    address = "/api/v1/pods/shop/web-7/explain"
    before = shop.get(address).json()
    assert shop.get(address, params={"cordon": "node-8"}).json()["verdict"]["nodes"] == ["node-5"]
    assert shop.get(address, params={"cordon": "node-5"}).json()["verdict"]["nodes"] == ["node-8"]
    assert shop.get(address).json() == before


def test_notices_are_warnings_of_the_response(shop: TestClient[Any]) -> None:
    response = shop.post(
        "/api/v1/explain", content=POD + '---\napiVersion: v1\nkind: Secret\nmetadata: {name: "é\\n"}\n'
    )
    assert response.status_code == 200, response.text
    assert "1 Secret" in response.headers["Warning"]
