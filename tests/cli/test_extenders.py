"""Commands tell what an answer does not include: extenders, groups that are not modelled, and ``--sampling``."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kschedctl.objects.meta import ApiObject
from tests.builders import make_node, make_pod, write_snapshot
from tests.cli.in_process import Printed, run
from tests.cli.transcript import run_installed
from tests.gangs import make_members
from tests.sampling_clusters import many_nodes, pod_of_turn
from tests.scheduler.extenders.server import Answer, ExtenderServer, leaving

SHOP = "fixtures/shop/cluster"
NAMES = {"urlPrefix": "", "filterVerb": "filter", "nodeCacheCapable": True}


def ask(
    folder: Path, *arguments: str, answers: dict[str, Answer], columns: int = 160, **extender: Any
) -> tuple[Printed, ExtenderServer]:
    """Run a command with an extender; return its output, with the server's address as ``URL``, and the server."""
    with ExtenderServer(answers) as server:
        own = {**NAMES, "urlPrefix": server.url, **extender}
        config = folder / "config.json"
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        config.write_text(json.dumps({**head, "extenders": [own]}))
        done = run(*arguments, "--snapshot", SHOP, "--config", str(config), columns=columns)
    out, err = (text.replace(server.url, "URL").replace(str(config), "CONFIG") for text in (done.out, done.err))
    return Printed(done.code, out, err), server


ONLY_NODE_7: dict[str, Answer] = {"filter": leaving("node-7", failed={"node-8": "no license left", "node-5": "hot"})}


def test_without_the_option_nobody_is_asked_and_the_answer_says_so(tmp_path: Path) -> None:
    done, server = ask(tmp_path, "explain", "shop/web-7", answers=ONLY_NODE_7)
    assert server.asked == []
    assert "is scheduled to node-8" in done.out
    assert "not modelled: the extender URL; the answer assumes that it rejects no node and gives no scores" in done.out


def test_what_an_extender_says_is_a_reason_with_its_address(tmp_path: Path) -> None:
    done, server = ask(tmp_path, "explain", "shop/web-7", "--call-extenders", answers=ONLY_NODE_7)
    assert server.verbs == ["filter"]
    assert "shop/web-7 fits on 1 of 15 nodes and is scheduled to node-7" in done.out
    rows = [" ".join(line.split()) for line in done.out.splitlines() if "URL" in line]
    assert rows == [
        "2 Extender the extender URL gives no reason",
        "1 Extender hot: reported by the extender URL",
        "1 Extender no license left: reported by the extender URL",
    ]
    assert "not modelled" not in done.out
    assert "--config CONFIG --call-extenders --why" in done.out


def test_scores_of_an_extender_have_a_column(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {"rate": [{"Host": "node-5", "Score": 10}]}
    config: dict[str, Any] = {"filterVerb": "", "prioritizeVerb": "rate", "weight": 2}
    done, _ = ask(tmp_path, "explain", "shop/web-7", "--call-extenders", answers=answers, **config)
    assert "is scheduled to node-5 (score 809, next best node-8 with 634)" in done.out
    assert "URL x2" in done.out


def test_an_error_is_the_answer(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {"filter": {"Error": "license server is down"}}
    done, _ = ask(tmp_path, "explain", "shop/web-7", "--call-extenders", answers=answers)
    assert done.code == 1
    assert "license server is down" in done.out


def test_an_error_that_may_be_ignored_puts_the_answer_in_doubt(tmp_path: Path) -> None:
    arguments = ("explain", "shop/web-7", "--call-extenders", "--strict")
    done, _ = ask(tmp_path, *arguments, answers={"filter": (500, b"")}, ignorable=True)
    assert done.code == 3
    failed = "failed filter with extender at URL URL/filter, code 500"
    assert f"the extender URL; it is ignorable and its filter call failed: {failed}" in " ".join(done.out.split())


def test_candidates_that_an_extender_declines_are_told(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {"preempt": {}}
    config: dict[str, Any] = {"filterVerb": "", "preemptVerb": "preempt"}
    done, _ = ask(tmp_path, "preempt", "shop/search-3", "--call-extenders", answers=answers, **config)
    assert done.code == 1
    assert "the extender URL rejects it" in done.out


def test_the_whole_object_is_sent(tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {note: seen}}\nspec:\n  dnsPolicy: Default\n"
        "  containers: [{name: c, image: x, env: [{name: A, value: b}]}]\n"
    )
    _, server = ask(tmp_path, "explain", str(pod), "--call-extenders", answers=ONLY_NODE_7)
    sent = server.asked[0].about["Pod"]
    assert sent["metadata"]["annotations"] == {"note": "seen"}
    assert (sent["spec"]["dnsPolicy"], sent["spec"]["containers"][0]["env"]) == (
        "Default",
        [{"name": "A", "value": "b"}],
    )
    assert sent["spec"]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize("command", ["explain", "preempt", "simulate", "verify", "diff", "capacity"])
def test_no_command_has_an_extender_bind(tmp_path: Path, command: str) -> None:
    answers: dict[str, Answer] = {"filter": lambda about: {"NodeNames": about["NodeNames"]}}
    about = {"explain": ["shop/web-7"], "preempt": ["shop/web-7"], "diff": ["-A", "--cordon", "node-8"]}
    about["capacity"] = ["shop/web-7", "--max", "2"]
    done, server = ask(tmp_path, command, *about.get(command, []), "--call-extenders", answers=answers, bindVerb="bind")
    assert done.code in (0, 1), done.err
    assert set(server.verbs) == {"filter"}


def test_a_certificate_that_cannot_be_read_is_told_with_its_place(tmp_path: Path) -> None:
    tls: dict[str, Any] = {"tlsConfig": {"caFile": "/nowhere/ca.crt"}}
    done, _ = ask(tmp_path, "explain", "shop/web-7", "--call-extenders", answers={}, **tls)
    assert done.code == 2
    assert (
        "CONFIG: extenders[0].tlsConfig.caFile: /nowhere/ca.crt cannot be read: No such file or directory" in done.err
    )
    done, _ = ask(tmp_path, "explain", "shop/web-7", answers={}, **tls)
    assert done.code == 0


CLAIMS = "not modelled: the device claims of PodGroup gang; the answer assumes that they reject no node"
COMPOSITE = "not modelled: CompositePodGroup tree; the answer assumes that the group is scheduled by itself"


def written(obj: ApiObject) -> object:
    return msgspec.to_builtins(obj) | {"apiVersion": "v1", "kind": type(obj).__name__}


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("explain", ["default/gang-0"]),
        ("pending", []),
        ("simulate", []),
        ("capacity", ["default/gang-0"]),
        ("optimum", []),
    ],
)
@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"resourceClaims": [{"name": "net", "resourceClaimTemplateName": "net"}]}, CLAIMS),
        ({"parentCompositePodGroupName": "tree"}, COMPOSITE),
        ({}, ""),
    ],
    ids=["claims", "composite", "neither"],
)
def test_note(tmp_path: Path, command: str, options: list[str], field: dict[str, object], expected: str) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, **field},
    }
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all([group, *map(written, [make_node("a"), *make_members(2)])]))
    done = run(command, *options, "--snapshot", str(path), environment={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.code in (0, 1), done.err
    assert [line for line in done.out.splitlines() if "not modelled" in line] == [expected] * bool(expected)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    nodes = [make_node("a", cpu="1"), *many_nodes(148), make_node("z", cpu="64", memory="256Gi")]
    bound = [pod_of_turn(i, node) for i, node in enumerate(("z", "n131", "a"))]
    write_snapshot(folder, nodes, [*bound, make_pod("web", requests={"cpu": "1", "memory": "1Gi"})])
    return folder


def printed(folder: Path, command: str) -> str:
    return " ".join(line.strip() for line in run_installed(f"kschedctl {command} --snapshot cluster.json", folder))


def test_explain(folder: Path) -> None:
    whole = printed(folder, "explain default/web --sampling")
    assert "is scheduled to one of" in whole
    assert "most likely z (101 of 150 starts): kube-scheduler stops at 100 feasible nodes." in whole
    by_default = printed(folder, "explain default/web")
    assert "is scheduled to z (score" in by_default
    assert "all nodes are scored; kube-scheduler stops at 100 feasible nodes" in by_default
    assert "kschedctl explain default/web --snapshot cluster.json --sampling" in by_default


def test_verify(folder: Path) -> None:
    whole = printed(folder, "verify --sampling")
    counts = (
        "1 on a best node of all, 1 on a best node of a sample, 1 on a node that only a later change would explain."
    )
    assert f"Of the 3 pods that were scheduled last: {counts}" in whole
    assert "default/p01 n131" in " ".join(whole.split())
    # Neither a sample nor a later change is a difference.
    assert "? 1" not in whole
