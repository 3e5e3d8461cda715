"""``diff``: who loses, pods that compete for the same room, and what the exit code tells of."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kschedctl.cli.main import app
from tests.builders import make_node, make_pod, write_snapshot

OWNER = ("apps/v1", "ReplicaSet", "web")


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nodes = [make_node("a", cpu="4"), make_node("b", cpu="4")]
    pods = [
        *(make_pod(f"web-{i}", requests={"cpu": "1"}, node="a", owner=OWNER, priority=i) for i in range(4)),
        *(make_pod(f"old-{i}", requests={"cpu": "1"}, node="b") for i in range(2)),
        make_pod("waits", requests={"cpu": "1"}),
    ]
    return write_snapshot(tmp_path_factory.mktemp("snapshot"), nodes, pods)


def diff(snapshot: Path, *options: str) -> tuple[Any, int]:
    done = CliRunner().invoke(app, ["diff", "--snapshot", str(snapshot), "-o", "json", *options])
    return json.loads(done.stdout), done.exit_code


def test_pods_that_lose_their_node_compete_for_what_is_left(snapshot: Path) -> None:
    answer, code = diff(snapshot, "--drain", "a", "--all-pods")
    lost = {pod["name"]: pod["after"]["nodes"] for pod in answer["changed"] if pod["parts"][0] == "place"}
    # Two fit on b beside those that run there, the more important ones.
    assert lost == {"web-3": ["b"], "web-2": ["b"], "web-1": [], "web-0": []}
    assert answer["summary"].startswith("2 of 7 pods would fit on no node, ")
    assert [pod["name"] for pod in answer["changed"] if pod["worse"]] == ["web-0", "web-1"]
    assert code == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--cordon", "b"], 1),
        (["--cordon", "b", "--exit-on", "worse"], 1),
        (["--label", "b:disk=ssd"], 0),
        (["--label", "b:disk=ssd", "--exit-on", "worse"], 0),
        (["--apply", "more.yaml"], 1),
        (["--apply", "more.yaml", "--exit-on", "worse"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_exit_code(options: list[str], code: int, snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(snapshot.parent)
    offers = "{cpu: '64', memory: 64Gi, pods: 9}"
    node = f"{{apiVersion: v1, kind: Node, metadata: {{name: more}}, status: {{allocatable: {offers}}}}}"
    Path("more.yaml").write_text(node)
    assert diff(snapshot, *options)[1] == code


def test_a_score_that_moves_is_no_change_for_the_exit_code(snapshot: Path) -> None:
    answer, code = diff(snapshot, "--kubernetes-version", "1.34", "--against-version", "1.36")
    assert [pod["parts"] for pod in answer["changed"]] == [["scores"]]
    assert code == 0


RULES = ("--kubernetes-version", "1.34", "--against-version", "1.36")


def test_a_range_gives_the_releases_of_both_sides(snapshot: Path) -> None:
    answer, code = diff(snapshot, "--kubernetes-version", "1.34..1.36")
    assert [answer[side]["rules"]["kubernetesVersion"] for side in ("before", "after")] == ["1.34", "1.36"]
    assert (answer["changed"], code) == (diff(snapshot, *RULES)[0]["changed"], 0)
    assert [pod["rules"] for pod in answer["changed"]] == [["balance-change"]]
    (rule,) = answer["rules"]
    assert (rule["field"], rule["since"], rule["pods"]) == ("balanced_allocation_compares", "1.36", 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--kubernetes-version 1.36..", "1.36.. is no range of releases: write FROM..TO, such as "),
        ("--kubernetes-version ..1.36", "..1.36 is no range of releases: write FROM..TO, such as "),
        ("--kubernetes-version 1.34...1.36", "1.34...1.36 is no range of releases: write FROM..TO, such as "),
        ("--kubernetes-version 1.34..1.35..1.36", "1.34..1.35..1.36 is no range of releases: write FROM..TO, such as "),
        ("--kubernetes-version 1.36..v1.36", "both sides have the rules of 1.36: name two releases"),
        ("--kubernetes-version 1.34..1.35 --against-version 1.36", "--against-version is given, too: give FROM..TO"),
        ("--against-version 1.34..1.35", "1.34..1.35 is a range of releases: give it as --kubernetes-version"),
        ("--kubernetes-version 1.36", "nothing to compare with: give another snapshot, --kubernetes-version FROM..TO"),
    ],
)
def test_a_range_that_is_refused(snapshot: Path, options: str, said: str) -> None:
    done = CliRunner().invoke(app, ["diff", "--snapshot", str(snapshot), *options.split()], env={"COLUMNS": "0"})
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("diff --kubernetes-version 1.36..1.99", "Kubernetes 1.99 is not modelled"),
        ("pending --kubernetes-version 1.36..1.37", "Kubernetes 1.36..1.37 is a range of releases"),
    ],
)
def test_a_release_that_is_not_known(snapshot: Path, command: str, said: str) -> None:
    done = CliRunner().invoke(app, [*command.split(), "--snapshot", str(snapshot)])
    assert done.exit_code != 0
    assert str(done.exception).startswith(said)


@pytest.mark.parametrize(
    ("options", "code", "first", "rows"),
    [
        ([], 0, "No pod changes its node; 2 of 2 pods change only in details.", 0),
        (["--exit-on", "any"], 1, "No pod changes its node; 2 of 2 pods change only in details.", 1),
        (["-o", "wide"], 0, "No pod changes its node; 2 of 2 pods change only in details.", 1),
        (["--exit-on", "worse"], 0, "No pod changes its node; 2 of 2 pods change only in details.", 0),
        (["shop/big-0"], 0, "shop/big-0 does not change its node, only details: ", 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_another_reason_is_no_change_unless_asked(
    options: list[str], code: int, first: str, rows: int, tmp_path: Path
) -> None:
    pods = [make_pod(f"big-{i}", namespace="shop", requests={"cpu": "99"}) for i in range(2)]
    snapshot = write_snapshot(tmp_path, [make_node("a"), make_node("b")], pods)
    which = [] if "shop/big-0" in options else ["-n", "shop"]
    done = CliRunner().invoke(
        app, ["diff", "--snapshot", str(snapshot), "--cordon", "b", *which, *options], env={"COLUMNS": "0"}
    )
    assert " ".join(done.stdout.split()).startswith(first)
    assert (
        done.stdout.count("1 node reports NodeUnschedulable instead of NodeResourcesFit") - first.endswith(": ") == rows
    )
    assert done.exit_code == code
    named = CliRunner().invoke(app, ["diff", "--snapshot", str(snapshot), "--cordon", "b", "-n", "shop", "-o", "name"])
    assert named.stdout == ""


def test_of_many_pods_the_nodes_of_the_first_of_each_kind_are_told(tmp_path: Path) -> None:
    nodes = [make_node("a"), make_node("b")]
    pods = [make_pod(f"p{i}", requests={"cpu": f"{i}m"}, labels={"app": str(i)}) for i in range(60)]
    answer, _ = diff(write_snapshot(tmp_path, nodes, pods), "--cordon", "a")
    told = [pod["nodes"] is not None for pod in answer["changed"]]
    assert told == [True] + [False] * 59


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-n", "none", "--all-pods"], "there is no pod in namespace none\n  name a pod; there are such pods in "),
        (["-A", "-l", "app=none"], "no pod in any namespace has the labels app=none\n  name a pod"),
    ],
    ids=" ".join,
)
def test_a_hint_names_no_option_that_is_given(snapshot: Path, options: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["diff", "--snapshot", str(snapshot), "--cordon", "a", *options])
    assert str(done.exception).startswith(said)
    assert ("--all-pods" in str(done.exception)) == ("--all-pods" in said)
