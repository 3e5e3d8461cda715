"""``explain`` of workloads and of many pods: how many replicas fit, a DaemonSet in one, causes in groups."""

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
    ("kind", "nodes", "first", "names", "code"),
    [
        (
            "ReplicaSet",
            ["a", "", ""],
            "1 of 4 replicas run; 2 of the other 3 fit, scheduled one after another; one of them: default/web-1 fits",
            "web-1 web-2 web-xxxxx",
            1,
        ),
        ("ReplicaSet", ["a", "b", "c", ""], "3 of 4 replicas run; the other: default/web-3 fits on none", "web-3", 1),
        ("Job", ["a", "b", "c", ""], "3 of 4 pods run; the other: default/web-3 fits on none of 3 nodes", "web-3", 1),
        ("Job", ["a", "b", "c", "a"], "all 4 pods run; one more: default/web-xxxxx fits on none", "web-xxxxx", 0),
        ("StatefulSet", ["a", "", "b"], "2 of 4 replicas run; 1 of the other 2 fits, scheduled", "web-1 web-3", 1),
    ],
)
def test_a_workload_is_its_pending_pods_and_those_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, nodes: list[str], first: str, names: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    owner, of = ("batch/v1" if kind == "Job" else "apps/v1", kind, "web"), {"app": "web"}
    pods = [make_pod(f"web-{i}", requests={"cpu": "3"}, node=n, owner=owner, labels=of) for i, n in enumerate(nodes)]
    write_snapshot(tmp_path, [make_node(name, cpu="4") for name in "abc"], pods)
    written = WORKLOAD.format(kind=kind, replicas=4).replace('cpu: "1"', 'cpu: "3"')
    if kind == "Job":
        written = written.replace("apps/v1", "batch/v1").replace("replicas: 4", "parallelism: 4")
        written = "".join(line for line in written.splitlines(True) if "selector" not in line)
    (tmp_path / "web.yaml").write_text(written)
    asked = ["explain", f"{kind.lower()}/web", "--snapshot", "cluster.json", "--snapshot", "web.yaml"]
    done = CliRunner().invoke(app, [*asked, "-o", "json"], env={"COLUMNS": "0"})
    found = json.loads(done.stdout)
    answers = found.get("items", [found])
    assert answers[0]["verdict"]["summary"].startswith(f"{kind} default/web: {first}"), done.output
    assert [name for answer in answers for name in answer["workload"]["pods"]] == names.split()
    assert done.exit_code == code


def test_nominated_pods_of_a_workload_do_not_stand_in_the_way_of_an_invented_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    owner, of, wants = ("apps/v1", "ReplicaSet", "web"), {"app": "web"}, {"cpu": "3"}
    pods = [
        *(make_pod(f"low-{n}", requests=wants, node=n, terminating=True) for n in "ab"),
        *(
            make_pod(f"web-{n}", requests=wants, owner=owner, labels=of, priority=9, nominated=n, priorityClassName="x")
            for n in "ab"
        ),
    ]
    write_snapshot(tmp_path, [make_node(name, cpu="4") for name in "ab"], pods)
    (tmp_path / "web.yaml").write_text(WORKLOAD.format(kind="ReplicaSet", replicas=2).replace('cpu: "1"', 'cpu: "3"'))
    for command in ("explain", "preempt"):
        asked = [command, "rs/web", "--snapshot", "cluster.json", "--snapshot", "web.yaml", "-o", "json"]
        items = json.loads(CliRunner().invoke(app, asked, env={"COLUMNS": "0"}).stdout)["items"]
        alone = json.loads(CliRunner().invoke(app, [*asked[:1], "web-a", *asked[2:]], env={"COLUMNS": "0"}).stdout)
        assert [each["pod"]["name"] for each in items] == ["web-a", "web-b"]
        said = items[0]["verdict"]["summary"]
        assert said.endswith(alone["verdict"]["summary"]), said
        assert "already being deleted" in said
    asked = ["capacity", "rs/web", "--snapshot", "cluster.json", "--snapshot", "web.yaml"]
    done = CliRunner().invoke(app, asked, env={"COLUMNS": "0"})
    assert done.stdout.splitlines()[0] == "ReplicaSet default/web: no more pods fit; 2 of its pods are without a node"


def test_the_first_line_counts_the_pods_beside_those_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    owner, of = ("apps/v1", "StatefulSet", "web"), {"app": "web"}
    large, small = ({"cpu": cpu} for cpu in ("9", "5"))
    pods = [
        make_pod("web-0", node="a", owner=owner, labels=of),
        make_pod("web-1", requests=large, owner=owner, labels=of),
        make_pod("web-2", requests=small, owner=owner, labels=of),
    ]
    write_snapshot(tmp_path, [make_node("a")], pods)
    (tmp_path / "web.yaml").write_text(WORKLOAD.format(kind="StatefulSet", replicas=3))
    done = CliRunner().invoke(
        app, ["explain", "sts/web", "--snapshot", "cluster.json", "--snapshot", "web.yaml"], env={"COLUMNS": "0"}
    )
    first = "StatefulSet default/web: 1 of 3 replicas run; the other 2 pods: 2 fit nowhere; each decided independently"
    assert done.stdout.startswith(first), done.stdout


DEFAULT_CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop, uid: u1}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: postgres, resources: {requests: {cpu: "1"}}}]}
  volumeClaimTemplates:
    - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
apiVersion: v1
kind: Pod
metadata:
  {name: db-0, namespace: shop, uid: u2, labels: {app: db},
   ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u1, controller: true}]}
spec:
  nodeName: a
  containers: [{name: c, image: postgres, resources: {requests: {cpu: "1"}}}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data-db-0}}]
status: {phase: Running}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0, namespace: shop}
spec:
  {accessModes: [ReadWriteOnce], storageClassName: standard, volumeName: pv0, resources: {requests: {storage: 1Gi}}}
status: {phase: Bound}
"""
UNCLASSED = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: d, namespace: shop}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop}
spec: {containers: [{name: c, image: x}], volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]}
"""


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        (["explain", "sts/db"], "StatefulSet shop/db: its replica runs; one more: shop/db-1 fits on 1 of 1 node"),
        (["capacity", "sts/db"], "StatefulSet shop/db: 3 more pods fit, on 1 node"),
        (["preempt", "sts/db"], "StatefulSet shop/db: its replica runs; one more: shop/db-1 fits on 1 of 1 node"),
        (["pending", "--set-replicas", "sts/db=3"], "2 pods are pending in 1 group. 2 pods fit without a change."),
        (["explain", "p.yaml"], "shop/p fits on 1 of 1 node"),
        (["explain", "p", "--apply", "p.yaml"], "shop/p fits on 1 of 1 node"),
    ],
)
def test_claims_that_are_yet_to_be_created_get_the_default_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str], first: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_snapshot(tmp_path, [make_node("a", cpu="4")])
    (tmp_path / "shop.yaml").write_text(DEFAULT_CLASS)
    (tmp_path / "p.yaml").write_text(UNCLASSED)
    snapshot = ["--snapshot", "cluster.json", "--snapshot", "shop.yaml"]
    done = CliRunner().invoke(app, [*asked, "-n", "shop", *snapshot], env={"COLUMNS": "0"})
    assert done.stdout.startswith(first), done.output


QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {{name: few, namespace: default}}
spec:
  hard: {{pods: "{pods}"}}
  scopeSelector: {{matchExpressions: [{{scopeName: PriorityClass, operator: In, values: [high]}}]}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: high}}
value: 9
"""


@pytest.mark.parametrize(
    ("pods", "first", "code"),
    [
        (0, "2 pods: 1 is refused by a quota, 1 fits; each decided independently", 1),
        (1, "2 pods: 1 fits without all of its replicas, 1 fits; each decided independently", 1),
        (2, "2 pods: 2 fit; each decided independently", 0),
    ],
)
def test_a_quota_that_refuses_one_manifest_of_a_folder(room: Path, pods: int, first: str, code: int) -> None:
    folder = room / "deploy"
    folder.mkdir()
    fine = WORKLOAD.format(kind="Deployment", replicas=2)
    high = fine.replace("name: web}", "name: high}").replace(
        "spec: {containers", "spec: {priorityClassName: high, containers"
    )
    for name, text in (("fine", fine), ("high", high), ("quota", QUOTA.format(pods=pods))):
        (folder / f"{name}.yaml").write_text(text)
    done = run("explain", "deploy/")
    assert done.stdout.startswith(first), done.output
    assert done.exit_code == code
    if pods == 1:
        refused = "1 of them fits, and the API server refuses the next one (exceeded quota: few, requested: pods=1, "
        assert (
            f"Deployment default/high, 2 replicas: {refused}used: pods=1, limited: pods=1); one of them" in done.stdout
        )


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
