"""Forms start jobs, whose pages show progress and then the answer."""

import json
import time
from typing import Any

import lxml.html
import pytest
from litestar.testing import TestClient

from tests.web.pages.reading import HTML, Root, links, opened, texts

SHOP_PATH = "fixtures/shop/cluster"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: fresh}\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: new}\nspec: {containers: [{name: c, image: x}]}\n"


def started(client: TestClient[Any], **form: str) -> str:
    """Send a form that starts a job, and return the address of its page."""
    response = client.post("/jobs", data=form, headers=HTML, follow_redirects=False)
    assert response.status_code == 303, response.text
    address: str = response.headers["Location"]
    return address


def ended(client: TestClient[Any], address: str) -> Any:
    """Return the page of a job once the job has ended."""
    while True:
        root = opened(client, address)
        if not root.cssselect("#job"):
            return root
        assert root.cssselect("noscript meta[http-equiv=refresh]")
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        (
            {"question": "simulate_drain", "node": "node-8", "ignore-daemonsets": "true"},
            "node-8 can be drained: 2 pods move",
        ),
        ({"question": "simulate_queue", "seed": ""}, "4 of 5 pods placed; 1 pending, 1 evicted"),
        ({"question": "simulate_queue", "manifest": POD.replace("\n", "\r\n")}, "5 of 6 pods placed"),
        (
            {"question": "simulate_queue", "manifest": f"{NAMESPACE}---\n{POD}", "namespace": "fresh"},
            "5 of 6 pods placed",
        ),
        ({"question": "count_copies", "pod": "shop/web-7"}, "9 more pods fit, on 5 nodes"),
        ({"question": "find_changes", "changes": "1"}, "4 pods are pending in 4 groups"),
        ({"question": "compare", "cordon": "node-8"}, "3 of 4 pods have another outcome"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["question"],
)
def test_a_form_starts_a_job_whose_page_has_the_answer(
    shop: TestClient[Any], form: dict[str, str], answer: str
) -> None:
    root = ended(shop, started(shop, **form))
    assert answer in " ".join(texts(root, "main"))


def test_jobs_of_pages_and_of_the_api_have_a_user(shop: TestClient[Any]) -> None:
    started(shop, question="simulate_queue")
    shop.post("/api/v1/simulate")
    assert [job.user for job in shop.app.state.served.jobs.all][-2:] == ["testclient", "testclient"]


def test_the_map_shows_the_nodes_of_the_what_ifs(shop: TestClient[Any]) -> None:
    root = ended(shop, started(shop, **{"question": "simulate_queue", "fail-zone": "eu-central-1a"}))
    assert texts(root, "summary .group") == ["zone eu-central-1b", "zone eu-central-1c"]


def test_the_links_of_an_answer_keep_the_what_ifs_of_the_job(shop: TestClient[Any]) -> None:
    address = started(shop, question="simulate_drain", node="node-8", cordon="node-7")
    assert address.endswith("?cordon=node-7")
    assert links(ended(shop, address), "main a")["node-8"] == "/nodes/node-8?cordon=node-7"


def test_a_job_that_fails_says_why(shop: TestClient[Any]) -> None:
    ending = ended(shop, started(shop, question="provision_nodes"))
    assert "has no NodePool" in " ".join(texts(ending, "main"))


@pytest.mark.parametrize(
    ("form", "status", "problem"),
    [
        ({}, 400, "names no question"),
        ({"question": "explain_pod"}, 400, "names no question"),
        ({"question": "simulate_queue", "colour": "red"}, 400, '"colour" is not a parameter here'),
        ({"question": "simulate_drain"}, 400, "name nodes, or use selector or zone"),
        ({"question": "simulate_queue", "seed": "x"}, 400, "seed: is not a whole number"),
    ],
)
def test_a_wrong_form_says_why(shop: TestClient[Any], form: dict[str, str], status: int, problem: str) -> None:
    response = shop.post("/jobs", data=form, headers=HTML)
    assert response.status_code == status
    assert problem in " ".join(texts(lxml.html.fromstring(response.text), "main"))


@pytest.mark.parametrize(
    ("form", "problem", "kept"),
    [
        (
            {"question": "simulate_drain", "zone": "", "surge": "2", "rolling": "true"},
            "name nodes, or use selector or zone",
            {"surge": "2", "rolling": "true"},
        ),
        ({"question": "count_copies"}, "either a pod or a manifest is needed", {}),
        ({"question": "simulate_queue", "seed": "x", "cordon": "node-8"}, "seed: is not a whole number", {"seed": "x"}),
        ({"question": "simulate_drain", "node": "nope"}, "the cluster has no node nope", {"node": "nope"}),
        (
            {"question": "simulate_drain", "node": "gpu-[9]"},
            "the cluster has no node that matches gpu-[9]",
            {"node": "gpu-[9]"},
        ),
        ({"question": "simulate_drain", "zone": "x"}, 'the cluster has no node in zone "x"', {"zone": "x"}),
        ({"question": "simulate_drain", "selector": "a in ("}, '"a in (" cannot be read', {"selector": "a in ("}),
        ({"question": "simulate_drain", "selector": "a=b"}, 'no node matches the selector "a=b"', {}),
        ({"question": "consolidate_nodes", "node": "nope"}, "the cluster has no node nope", {"node": "nope"}),
        ({"question": "find_changes", "selector": "a in ("}, '"a in (" cannot be read', {"selector": "a in ("}),
        ({"question": "find_changes", "namespace": "nope"}, "the snapshot has no namespace nope", {}),
        ({"question": "count_copies", "pod": "shop/nope"}, "the snapshot has no pod shop/nope", {"pod": "shop/nope"}),
        ({"question": "count_copies", "pod": "shop/web-7", "namespace": "nope"}, "has no namespace nope", {}),
        ({"question": "count_copies", "manifest": POD, "namespace": "nope"}, "the snapshot has no namespace nope", {}),
        ({"question": "simulate_queue", "manifest": POD, "namespace": "nope"}, "has no namespace nope", {}),
        ({"question": "simulate_queue", "namespace": "nope"}, "the snapshot has no namespace nope", {}),
        ({"question": "simulate_queue", "manifest": "foo: ["}, "parsing a flow node", {}),
        ({"question": "simulate_queue", "manifest": CONFIG_MAP}, "no object to answer for", {}),
        ({"question": "count_copies", "manifest": CONFIG_MAP}, "no object to answer for", {}),
        ({"question": "simulate_queue", "manifest": POD.replace("image", "imago")}, "imago", {}),
        ({"question": "compare", "to": "nope"}, "the server was not started with this snapshot to compare with", {}),
    ],
    ids=lambda value: "-".join(value.values()).split("\n")[0] if isinstance(value, dict) else "",
)
def test_a_form_that_is_refused_keeps_what_was_typed(
    shop: TestClient[Any], form: dict[str, str], problem: str, kept: dict[str, str]
) -> None:
    response = shop.post("/jobs", data={"manifest": "", **form}, headers=HTML)
    root = lxml.html.fromstring(response.text)
    assert response.status_code == 400
    (told,) = texts(root, "main [role=alert]")
    assert problem in told
    assert len(root.cssselect("main .tone-bad")) == 1
    assert [each.text_content().lstrip("\n") for each in root.cssselect("textarea")] in ([], [form.get("manifest", "")])
    (sent,) = root.cssselect("main form.fields")
    checked = {each.get("name"): each.get("value") for each in sent.cssselect("input[checked]")}
    filled = {each.get("name"): each.get("value") for each in sent.cssselect("input:not([type=checkbox])")} | checked
    assert {"question": form["question"], **kept}.items() <= filled.items()
    assert len(root.cssselect(".chips a")) == ("cordon" in form)


def test_a_manifest_of_a_form_that_is_refused_is_kept(shop: TestClient[Any]) -> None:
    form = {"question": "count_copies", "pod": "shop/web-7", "manifest": POD.replace("\n", "\r\n")}
    root = lxml.html.fromstring(shop.post("/jobs", data=form, headers=HTML).text)
    assert root.cssselect("textarea")[0].text_content().lstrip("\n") == POD


@pytest.mark.parametrize(
    ("address", "field", "name"),
    [
        ("/drain", "node", "gpu-5"),
        ("/drain", "zone", "eu-central-1a"),
        ("/capacity", "pod", "shop/web-7"),
        ("/capacity", "namespace", "shop"),
        ("/pods", "workload", "Deployment shop/web"),
        ("/pods", "node", "node-8"),
    ],
)
def test_a_field_offers_the_names_of_the_cluster(shop: TestClient[Any], address: str, field: str, name: str) -> None:
    root = opened(shop, address)
    (control,) = root.cssselect(f"main input[name={field}]")
    assert name in [each.get("value") for each in root.cssselect(f"#{control.get('list')} option")]


def test_a_job_is_cancelled_by_its_button(shop: TestClient[Any]) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1m"}}}
    template = {"metadata": {"labels": {"app": "many"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 5000, "selector": {"matchLabels": {"app": "many"}}, "template": template}
    many = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "many"}, "spec": spec}
    address = started(shop, question="simulate_queue", manifest=json.dumps(many))
    path = address.partition("?")[0]
    response = shop.post(f"{path}/cancel", headers=HTML, follow_redirects=False)
    assert (response.status_code, response.headers["Location"]) == (303, path)
    assert "cancelled" in " ".join(texts(ended(shop, address), "main"))
    assert "cancelled" in " ".join(texts(opened(shop, "/jobs"), "main tr"))


def test_a_server_with_one_snapshot_says_how_to_compare(shop: TestClient[Any]) -> None:
    paths = [each.text for each in opened(shop, "/compare").cssselect("select[name=to] option")]
    assert len(paths) == 1
    assert paths[0].endswith(SHOP_PATH)


def test_the_fields_of_a_form_are_the_parameters_of_the_question(shop: TestClient[Any]) -> None:
    root = opened(shop, "/drain?node=node-8&ignore-daemonsets=true&surge=2")
    filled = {each.get("name"): each.get("value") for each in root.cssselect("main input[value]:not([type=checkbox])")}
    assert {"node": "node-8", "surge": "2", "zone": ""}.items() <= filled.items()
    assert [each.get("name") for each in root.cssselect("main input[checked]")] == ["ignore-daemonsets"]


FITS = """apiVersion: v1
kind: Pod
metadata: {name: new}
spec:
  containers: [{name: c, image: "registry.example/a:1", resources: {requests: {cpu: 100m}}}]
"""


def tried(client: TestClient[Any], manifest: str, address: str = "/try") -> Root:
    """Send a manifest."""
    response = client.post(address, data={"manifest": manifest}, headers=HTML)
    assert response.status_code == 200, response.text
    return lxml.html.fromstring(response.text)


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ("a: [", "line 2"),
        (" ", "the box is empty"),
        ("kind: Pod", "apiVersion"),
        ("# nothing", "the manifest: no object that kschedctl reads was found"),
        (CONFIG_MAP, "the manifest: no object to answer for"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_one_error(shop: TestClient[Any], manifest: str, problem: str) -> None:
    root = tried(shop, manifest)
    (part,) = texts(root, "#answer .part")
    assert problem in part
    assert len(root.cssselect("#answer .tone-bad")) == 1
    assert not root.cssselect("#answer .tone-good")


@pytest.mark.parametrize(
    ("manifest", "scheduling", "lint"),
    [
        (FITS, "default/new fits on", ""),
        (FITS.replace("100m", "100"), "default/new fits on none of 15 nodes", ""),
        (FITS.replace("cpu:", "cpus:"), "cpus", "cpus"),
    ],
)
def test_a_manifest_is_explained_and_linted(shop: TestClient[Any], manifest: str, scheduling: str, lint: str) -> None:
    parts = texts(tried(shop, manifest), "#answer .part")
    assert [part.split()[0] for part in parts] == ["Scheduling", "Lint"]
    assert scheduling in parts[0]
    assert lint in parts[1]


def test_what_ifs_apply_to_the_manifest(shop: TestClient[Any]) -> None:
    assert "fits on none" in texts(tried(shop, FITS, "/try?set-request=cpu%3D100"), "#answer .part")[0]


@pytest.mark.parametrize("text", ["</textarea><script>x</script>", "a\n\n  b\t\u202e\u200b c", "&lt;", "\n\na"])
def test_the_box_has_what_was_sent(shop: TestClient[Any], text: str) -> None:
    root = tried(shop, text)
    # The first newline of the element is no part of its value.
    assert root.cssselect("textarea")[0].text.removeprefix("\n") == text
    assert len(root.cssselect("script")) == 2
