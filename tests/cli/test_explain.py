"""``explain`` of workloads and of many pods: how many replicas fit, a DaemonSet in one, causes in groups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kschedctl.cli.main import app
from tests.builders import make_node, make_pod, write_snapshot

WORKLOAD = """
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: c, image: x, resources: {{requests: {{cpu: "1"}}}}}}]}}
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pods = [make_pod("runs", requests={"cpu": "3"}, node="b")]
    write_snapshot(tmp_path, [make_node(name, cpu="4") for name in "abc"], pods)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--snapshot", "cluster.json"], env={"COLUMNS": "0"})


@pytest.mark.parametrize(("replicas", "placed", "code"), [(9, 9, 0), (10, 9, 1), (40, 9, 1), (1, None, 0)])
def test_replicas_are_placed_one_after_another(room: Path, replicas: int, placed: int | None, code: int) -> None:
    (room / "web.yaml").write_text(WORKLOAD.format(kind="Deployment", replicas=replicas))
    done = run("explain", "web.yaml", "-o", "json")
    assert json.loads(done.stdout)["workload"]["placed"] == placed
    assert done.exit_code == code
    first = run("explain", "web.yaml").stdout.splitlines()[0]
    assert first.startswith(f"Deployment default/web, {replicas} replica")
    assert ("9 of them fit, scheduled one after another" in first) == (code == 1)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_two_thousand_million_replicas_end_soon(room: Path, kind: str) -> None:
    (room / "web.yaml").write_text(WORKLOAD.format(kind=kind, replicas=2**31 - 1))
    done = run("explain", "web.yaml")
    assert "2147483647 replicas: 9 of them fit" in done.stdout
    assert done.exit_code == 1
    beside = run("explain", "default/runs", "--apply", "web.yaml", "-o", "name")
    assert "2,147,483,647 pods would be created one by one" in str(beside.exception)


@pytest.mark.parametrize(
    ("kind", "running", "replicas", "first", "code"),
    [
        # Three nodes with room for one replica of 3 cpu each.
        ("ReplicaSet", 2, 2, "all 2 replicas run; one more: default/web-xxxxx fits on 1 of 3 nodes", 0),
        ("ReplicaSet", 3, 3, "all 3 replicas run; one more: default/web-xxxxx fits on none of 3 nodes", 0),
        ("ReplicaSet", 2, 3, "2 of 3 replicas run; the other: default/web-xxxxx fits on 1 of 3 nodes", 0),
        ("ReplicaSet", 1, 3, "1 of 3 replicas run; one of the other 2: default/web-xxxxx fits on 2 of 3", 0),
        ("ReplicaSet", 2, 4, "2 of 4 replicas run; 1 of the other 2 fits, scheduled one after another; one of them", 1),
        ("ReplicaSet", 3, 4, "3 of 4 replicas run; the other: default/web-xxxxx fits on none of 3 nodes", 1),
        ("StatefulSet", 1, 1, "its replica runs; one more: default/web-1 fits on 2 of 3 nodes", 0),
        ("StatefulSet", 1, 2, "1 of 2 replicas run; the other: default/web-1 fits on 2 of 3 nodes", 0),
    ],
)
def test_a_workload_of_the_cluster_keeps_the_replicas_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, running: int, replicas: int, first: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    owned = [(f"web-{i}", node) for i, node in zip(range(running), "abc", strict=False)]
    owner, of = ("apps/v1", kind, "web"), {"app": "web"}
    pods = [make_pod(name, requests={"cpu": "3"}, node=node, owner=owner, labels=of) for name, node in owned]
    leaving = make_pod("web-9", requests={"cpu": "1"}, node="c", owner=owner, labels=of, terminating=True)
    write_snapshot(tmp_path, [make_node(name, cpu="4") for name in "abc"], [*pods, leaving])
    (tmp_path / "web.yaml").write_text(WORKLOAD.format(kind=kind, replicas=replicas).replace('cpu: "1"', 'cpu: "3"'))
    asked = ["explain", f"{kind.lower()}/web", "--snapshot", "cluster.json", "--snapshot", "web.yaml"]
    done = CliRunner().invoke(app, asked, env={"COLUMNS": "0"})
    assert done.stdout.splitlines()[0].startswith(f"{kind} default/web: {first}"), done.output
    assert done.exit_code == code


@pytest.mark.parametrize(
    ("kind", "options"),
    [("Deployment", ["web.yaml"]), ("StatefulSet", ["web.yaml"]), ("Deployment", ["--apply", "web.yaml"])],
)
def test_less_than_no_replicas_are_refused(room: Path, kind: str, options: list[str]) -> None:
    (room / "web.yaml").write_text(WORKLOAD.format(kind=kind, replicas=-1))
    done = run("explain", *options)
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in str(done.exception)


def test_many_pods_are_counted_by_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pods = [
        *(make_pod(f"big-{i}", requests={"cpu": "9"}) for i in range(6)),
        *(make_pod(f"fine-{i}") for i in range(5)),
        make_pod("gated", schedulingGates=[{"name": "wait"}]),
    ]
    write_snapshot(tmp_path, [make_node("a")], pods)
    done = run("explain")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == "12 pods: 6 fit nowhere, 1 is not tried, 5 fit."
    assert "6 default/big-0, default/big-1, default/big-2 and 3 more fits nowhere 1 Insufficient cpu" in lines
    assert done.exit_code == 1
    assert len(json.loads(run("explain", "-o", "json").stdout)["items"]) == 12


def test_victims_are_named_with_the_pod_that_they_make_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pods = [
        make_pod("low", requests={"cpu": "4"}, node="a"),
        *(make_pod(f"high-{i}", requests={"cpu": "4"}, priority=9) for i in range(2)),
    ]
    write_snapshot(tmp_path, [make_node("a", cpu="4")], pods)
    assert run("preempt", "-o", "name").stdout.splitlines() == [
        "pod/default/high-0 pod/default/low",
        "pod/default/high-1 pod/default/low",
    ]
    assert run("preempt", "high-0", "-o", "name").stdout == "pod/default/low\n"


def test_next_commands_keep_an_applied_suggestion(room: Path) -> None:
    (room / "big.yaml").write_text(WORKLOAD.format(kind="Deployment", replicas=1).replace('cpu: "1"', 'cpu: "5"'))
    done = run("explain", "big.yaml", "--apply-suggestion", "1")
    commands = [line for line in done.stdout.splitlines() if "kschedctl" in line]
    assert commands, done.output
    assert all("explain" in line and "--apply-suggestion 1" in line for line in commands), commands
