"""Selection options: in every command the same options select the same pods, the same what-ifs the same cluster."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kschedctl.cli.main import app
from kschedctl.questions.cluster_request import ClusterRequest, ClusterSource
from kschedctl.questions.pod_selection import PodRequest
from tests.builders import make_cluster, make_node, make_pod, write_snapshot
from tests.cli.transcript import SHOP

DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
PODS = [
    make_pod("web-1", namespace="shop", labels={"app": "web"}, node="a"),
    make_pod("web-2", namespace="shop", labels={"app": "web"}, volumes=[DATA]),
    make_pod("job-1", namespace="shop", labels={"app": "job"}, schedulerName="volcano"),
    make_pod("api-1", labels={"app": "api"}),
    make_pod("api-2", labels={"app": "api"}, node="a"),
    make_pod("web-3", labels={"app": "web"}),
]
SELECTIONS = [
    ([], ["shop/web-2", "default/api-1", "default/web-3"]),
    (["-n", "default"], ["default/api-1", "default/web-3"]),
    (["-n", "shop"], ["shop/web-2"]),
    (["-A"], ["shop/web-2", "default/api-1", "default/web-3"]),
    (["-n", "shop", "-A"], ["shop/web-2", "default/api-1", "default/web-3"]),
    (["-l", "app=web"], ["shop/web-1", "shop/web-2", "default/web-3"]),
    (["-l", "app=web", "-n", "shop"], ["shop/web-1", "shop/web-2"]),
    (["-l", "app=web", "-A"], ["shop/web-1", "shop/web-2", "default/web-3"]),
    (["shop/web-2"], ["shop/web-2"]),
    (["web-2", "-n", "shop"], ["shop/web-2"]),
    (["pod/web-2", "shop/web-1", "-n", "shop"], ["shop/web-2", "shop/web-1"]),
    (["web-2", "-A"], ["shop/web-2"]),
    # As -o name prints it, and the other forms of kubectl.
    (["pod/shop/web-2"], ["shop/web-2"]),
    (["po/web-2", "-n=shop"], ["shop/web-2"]),
    (["pods", "web-2", "web-1", "-n", "shop"], ["shop/web-2", "shop/web-1"]),
    (["pvc/shop/data"], ["shop/web-2"]),
    (["shop/web-2", "shop/job-1"], ["shop/web-2"]),
]
#: Whatever is asked on the second side of diff, every pod is asked about on both.
COMMANDS = {"explain": [], "preempt": [], "diff": ["--cordon", "a"]}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_snapshot(tmp_path_factory.mktemp("snapshot"), [make_node("a"), make_node("b")], PODS)


def ask(snapshot: Path, *words: str) -> Any:
    done = CliRunner().invoke(app, [*words, "--snapshot", str(snapshot), "-o", "json"])
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout)


def pods(answer: Any) -> list[str]:
    answers = answer.get("items", [answer])
    return [f"{one['pod']['namespace']}/{one['pod']['name']}" for one in answers]


@pytest.mark.parametrize(("options", "expected"), SELECTIONS, ids=lambda value: " ".join(value) or "nothing")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_selection_means_the_same_pods(
    command: str, options: list[str], expected: list[str], snapshot: Path
) -> None:
    answer = ask(snapshot, command, *options, *COMMANDS[command])
    if command == "diff":
        assert answer["pods"] == len(expected)
        assert {f"{pod['namespace']}/{pod['name']}" for pod in answer["changed"]} <= set(expected)
    else:
        assert sorted(pods(answer)) == sorted(expected)


@pytest.mark.parametrize("command", COMMANDS)
def test_pods_of_another_scheduler_are_said_and_passed_over(command: str, snapshot: Path) -> None:
    done = CliRunner().invoke(app, [command, "-A", "--snapshot", str(snapshot), *COMMANDS[command]])
    assert "note: skipped, as another scheduler is responsible: shop/job-1 (volcano)" in done.stderr
    assert done.exit_code in (0, 1)


@pytest.mark.parametrize("command", COMMANDS)
def test_where_only_another_scheduler_is_responsible_that_is_the_answer(command: str, snapshot: Path) -> None:
    options = ["-l", "app=job", "-A", *COMMANDS[command]]
    done = CliRunner().invoke(app, [command, *options, "--snapshot", str(snapshot)])
    assert "shop/job-1 (volcano)" in str(done.exception)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["shop/web-2", "-l", "app=web"], "names of pods and a selector are given"),
        (["shop/web-2", "-n", "default"], '"shop/web-2" has another namespace than -n default'),
        (["-l", "app=none", "-A"], "no pod in any namespace has the labels app=none"),
        (["web-2"], "the snapshot has no pod default/web-2"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_means_no_pod_is_refused_alike(command: str, options: list[str], problem: str, snapshot: Path) -> None:
    done = CliRunner().invoke(app, [command, *options, *COMMANDS[command], "--snapshot", str(snapshot)])
    assert problem in str(done.exception)


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_pending_is_an_answer(command: str, snapshot: Path) -> None:
    empty = snapshot.parent / "empty.json"
    empty.write_text(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "empty"}}))
    both = ["--snapshot", str(snapshot), "--snapshot", str(empty)]
    done = CliRunner().invoke(app, [command, "-n", "empty", *COMMANDS[command], *both])
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] in ("No pod is pending.", "Nothing changes for 0 pods.")
    assert "pods are pending in default (2) and shop (2): give -n or -A" in done.stderr
    wrong = CliRunner().invoke(app, [command, "-n", "shup", *COMMANDS[command], *both])
    assert str(wrong.exception) == "--namespace: the snapshot has no namespace shup\n  did you mean shop?"


def test_pods_that_fit_nowhere_come_first(tmp_path: Path) -> None:
    many = [
        make_pod("fits"),
        make_pod("gated", schedulingGates=[{"name": "wait"}]),
        make_pod("large", requests={"cpu": "99"}),
    ]
    answer = ask(write_snapshot(tmp_path, [make_node("a")], many), "explain", "-A")
    assert pods(answer) == ["default/large", "default/gated", "default/fits"]
    assert answer["summary"] == "3 pods: 1 fits nowhere, 1 is not tried, 1 fits."


def test_a_folder_is_manifests_and_a_kind_in_front_is_not(
    snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = {"containers": [{"name": "main", "image": "web:1"}]}
    new = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}, "spec": spec}
    for folder in ("web", "pod/shop/web-2"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "pod.yaml").write_text(json.dumps(new))
    assert pods(ask(snapshot, "explain", "web")) == ["default/new"]
    assert pods(ask(snapshot, "explain", "pod/shop/web-2")) == ["shop/web-2"]


@pytest.mark.parametrize(
    ("selector", "summary"),
    [
        ("app=none", "No pod matches app=none."),
        ("app=web,x!=y", "2 pods are pending in 2 groups."),
        ("app=api,app notin (web)", "1 pod is pending in 1 group."),
    ],
)
def test_pending_says_what_a_selector_matches(selector: str, summary: str, snapshot: Path) -> None:
    assert ask(snapshot, "pending", "-l", selector)["summary"].startswith(summary.rstrip("."))


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        ("shop", ["shop/web-2", "shop/job-1"]),
        ("empty", "name a pod (NAMESPACE/NAME) or a manifest; there are such pods in default (2) and shop (2): give"),
    ],
)
def test_of_a_running_cluster_the_current_namespace_is_meant(
    namespace: str, expected: list[str] | str, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        json.dumps(
            {
                "current-context": "prod",
                "contexts": [{"name": "prod", "context": {"cluster": "prod", "namespace": namespace}}],
                "clusters": [{"name": "prod", "cluster": {"server": "https://prod.example.com"}}],
            }
        )
    )
    request = PodRequest(cluster=ClusterRequest(source=ClusterSource(kubeconfig=str(kubeconfig))))
    running = make_cluster([make_node("a")], PODS).pods
    found = [one.pod.key for one in request.selected(running)]
    if isinstance(expected, list):
        assert found == expected
    else:
        assert found == []
        assert expected in str(request.nothing_found(running))


#: Commands about pods or objects of all namespaces, with arguments; without -n they use all namespaces in any case.
EVERYWHERE = {
    "pending": [],
    "simulate": [],
    "optimum": ["--time-limit", "600"],
    "drain": ["b"],
    "verify": [],
    "devices": [],
    "leader": [],
}


@pytest.mark.parametrize("command", EVERYWHERE)
def test_all_namespaces_is_accepted_as_in_kubectl(command: str, snapshot: Path) -> None:
    words = [command, *EVERYWHERE[command]]
    assert ask(snapshot, *words, "-A") == ask(snapshot, *words)


def test_all_namespaces_overrides_a_namespace(snapshot: Path) -> None:
    assert ask(snapshot, "pending", "-n", "shop", "-A") == ask(snapshot, "pending")
    assert ask(snapshot, "pending", "-n", "shop") != ask(snapshot, "pending")


def test_lint_accepts_all_namespaces(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}))
    texts = [CliRunner().invoke(app, ["lint", str(tmp_path), *options]).stdout for options in ([], ["-A"])]
    assert texts[0] == texts[1] != ""


CHANGED: dict[str, tuple[list[str], Callable[[Any], Any]]] = {
    "nodes": ([], lambda answer: answer["snapshot"]),
    "explain": (["shop/web-7"], lambda answer: answer["snapshot"]),
    "preempt": (["shop/web-7"], lambda answer: answer["snapshot"]),
    "diff": (["shop/web-7"], lambda answer: answer["after"]["snapshot"]),
    "verify": ([], lambda answer: answer["snapshot"]),
    "volumes": (["data/data-postgres-0"], lambda answer: answer["snapshot"]),
    "devices": ([], lambda answer: answer["snapshot"]),
}


@pytest.mark.parametrize("command", CHANGED)
def test_the_same_what_ifs_make_the_same_cluster(command: str) -> None:
    words, snapshot_of = CHANGED[command]
    answer = ask(SHOP, command, *words, "--cordon", "node-8", "--fail-zone", "eu-central-1a")
    found = snapshot_of(answer)
    assert (found["nodes"], found["pods"]) == (10, 65)
    assert [change.partition(" with ")[0] for change in found["changes"]] == [
        "node node-8 is cordoned",
        "zone eu-central-1a fails",
    ]


def test_a_snapshot_is_written_as_what_ifs_leave_the_cluster(tmp_path: Path) -> None:
    target = tmp_path / "after.tar.gz"
    edits = ["--cordon", "node-8", "--fail-zone", "eu-central-1a"]
    done = CliRunner().invoke(app, ["snapshot", "--snapshot", str(SHOP), *edits, "-o", str(target)])
    assert done.exit_code == 0, done.output
    captured = ask(target, "explain", "shop/web-7")
    changed = ask(SHOP, "explain", "shop/web-7", *edits)
    assert {node["name"]: node for node in captured["nodes"]} == {node["name"]: node for node in changed["nodes"]}
    assert captured["verdict"] == changed["verdict"]
