"""Data missing in a snapshot is reported if the answer depends on it, and otherwise not."""

import json
import re
from collections.abc import Collection, Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from msgspec.structs import replace

from kschedctl.cli.commands import COMMANDS
from kschedctl.common.findings import ObjectRef, Severity
from kschedctl.objects.kinds import KINDS, plural
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.policies import PriorityClass, RuntimeClass
from kschedctl.objects.volume import StorageClass
from kschedctl.objects.workload import ReplicaSet
from kschedctl.trials.completeness import TABLE, find_missing, missing_for_any
from tests.builders import make_claim, make_cluster, make_namespace, make_node, make_object, make_pod, mount
from tests.cli.in_process import Printed, run
from tests.scheduler.devices.builders import claiming_pod, make_class, make_slice
from tests.scheduler.devices.builders import make_claim as make_device_claim

SELECTS_NAMESPACES = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "a"}}}
        ]
    }
}
GANG = {"podGroupName": "gang"}
OWNER = ("apps/v1", "ReplicaSet", "web")


def unadmitted(**spec: Any) -> Pod:
    pod = make_pod(**spec)
    return replace(pod, spec=replace(pod.spec, priority=None))


@pytest.mark.parametrize(
    ("pod", "objects", "kinds"),
    [
        (make_pod(), [], []),
        (unadmitted(priorityClassName="high"), [], ["PriorityClass"]),
        (unadmitted(priorityClassName="system-node-critical"), [], []),
        (unadmitted(priorityClassName="high"), [make_object(PriorityClass, "high", value=1)], []),
        (make_pod(priorityClassName="high", priority=5), [], []),
        (make_pod(runtimeClassName="gvisor"), [], ["RuntimeClass"]),
        (make_pod(runtimeClassName="gvisor"), [make_object(RuntimeClass, "gvisor")], []),
        (make_pod(runtimeClassName="gvisor", overhead={"cpu": "1"}), [], []),
        (make_pod(volumes=mount("data")), [], ["PersistentVolumeClaim"]),
        (make_pod(volumes=mount("data")), [make_claim("other")], []),
        (claiming_pod("gpu"), [], ["ResourceClaim"]),
        (claiming_pod("gpu"), [make_device_claim("other")], []),
        (claiming_pod("gpu"), [make_device_claim("gpu")], ["ResourceSlice", "DeviceClass"]),
        (claiming_pod("gpu"), [make_device_claim("gpu"), make_class(), make_slice()], []),
        (claiming_pod("gpu"), [make_device_claim("gpu", holds=["a/gpu-0"])], []),
        (make_pod(schedulingGroup=GANG), [], ["PodGroup"]),
        (make_pod(schedulingGroup=GANG), [make_object(PodGroup, "other")], []),
        (make_pod(affinity=SELECTS_NAMESPACES), [], ["Namespace"]),
        (make_pod(affinity=SELECTS_NAMESPACES), [make_namespace("default")], []),
        (make_pod(owner=OWNER), [], ["ReplicaSet"]),
        (make_pod(owner=OWNER), [make_object(ReplicaSet, "other")], []),
        (make_pod(owner=("batch/v1", "Job", "once")), [], []),
    ],
)
def test_finds(pod: Pod, objects: list[ApiObject], kinds: list[str]) -> None:
    cluster = make_cluster([make_node("a")], [make_pod("other", node="a")], *objects)
    assert [missing.kind for missing in find_missing(cluster, pod)] == kinds
    # A kind that was listed is known, even if it is empty.
    cluster.listed = {kind: "" for _, kind in KINDS}
    assert find_missing(cluster, pod) == ()


def test_groups_are_needed_only_where_their_gate_is_on() -> None:
    cluster = make_cluster([make_node("a")], [make_pod("other", node="a")])
    assert find_missing(cluster, make_pod(schedulingGroup=GANG), groups=False) == ()


def test_groups_that_could_not_be_listed_matter_where_a_pod_has_one() -> None:
    for group, expected in ((GANG, ["PodGroup"]), (None, [])):
        pods = [make_pod("a", schedulingGroup=group) if group else make_pod("a")]
        cluster = make_cluster([make_node("a")], pods)
        cluster.not_listed = frozenset({"PodGroup"})
        assert [missing.kind for missing in missing_for_any(cluster, preempts=True)] == expected


def test_waiting_claim_needs_a_storage_class() -> None:
    pod, claim = make_pod(volumes=mount("data")), make_claim("data")
    others = [make_pod("other", node="a")]
    found = find_missing(make_cluster([make_node("a")], others, claim), pod)
    assert [missing.kind for missing in found] == ["StorageClass"]
    assert not find_missing(make_cluster([make_node("a")], others, claim, make_object(StorageClass, "s")), pod)


def test_terms_of_other_pods_need_namespaces_too() -> None:
    cluster = make_cluster([make_node("a")], [make_pod("other", node="a", affinity=SELECTS_NAMESPACES)])
    (missing,) = find_missing(cluster, make_pod())
    assert str(missing) == (
        "pods select namespaces by label in their affinity and the snapshot has no namespaces: "
        "it is unknown if they select this pod"
    )


def test_cluster_without_nodes_or_pods() -> None:
    assert [missing.kind for missing in find_missing(make_cluster(), make_pod())] == ["Node"]
    assert [missing.kind for missing in find_missing(make_cluster([make_node("a")]), make_pod())] == ["Pod"]


def test_what_is_missing_is_a_finding_that_warns() -> None:
    (missing,) = find_missing(make_cluster(), make_pod())
    assert (missing.object, missing.severity) == (ObjectRef("Node"), Severity.WARNING)
    assert (missing.kind, missing.needed_for, missing.effect) == (
        "Node",
        "the snapshot has no nodes",
        "no pod fits on any node",
    )
    assert missing.problem == missing.needed_for


Tree = dict[str, Any]

#: Commands that decide nothing about a cluster that is read, or that ``tests/live`` and other tests below are about.
OTHERS: Final = {
    "batch",
    "lint",
    "snapshot",
    "watch",
    "serve",
    "mcp",
    "completion",
    "version",
    "rule",
    "sweep",
    "provision",
    "consolidate",
}
#: Statements that must not be made about objects of a kind that could not be listed.
DENIALS: Final = re.compile(
    r"not found|does not exist|could not find|has no \w*claims|no ResourceSlice is|no disruption budget"
)


def named(kind: str, name: str, **fields: Any) -> Tree:
    group = next(group for group, known in KINDS if known == kind)
    version = {"PodGroup": "v1beta1", "CompositePodGroup": "v1alpha3", "Workload": "v1beta1"}.get(kind, "v1")
    place = {} if kind in CLUSTER_WIDE else {"namespace": "shop"}
    return {
        "apiVersion": f"{group}/{version}" if group else version,
        "kind": kind,
        "metadata": {"name": name, "uid": f"{kind}-{name}", **place, **fields.pop("metadata", {})},
        **fields,
    }


CLUSTER_WIDE: Final = {
    *("Node", "Namespace", "PersistentVolume", "PriorityClass", "RuntimeClass", "StorageClass", "CSINode", "CSIDriver"),
    *("VolumeAttachment", "VolumeAttributesClass", "ResourceSlice", "DeviceClass", "DeviceTaintRule"),
}


def container(**requests: str) -> Tree:
    return {"name": "c", "image": "i", "resources": {"requests": requests}}


def pod(name: str, *, cpu: str = "1", labels: Tree | None = None, owner: str = "", **spec: Any) -> Tree:
    metadata: Tree = {"labels": labels or {}, "creationTimestamp": "2026-05-04T10:00:00Z"}
    if owner:
        kind, _, of = owner.partition("/")
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": of, "uid": f"{kind}-{of}", "controller": True}
        metadata["ownerReferences"] = [reference]
    stored = {"priority": 0, "schedulerName": "default-scheduler", "containers": [container(cpu=cpu)]}
    said = {"type": "PodScheduled", "status": "False", "message": "0/9 nodes are available: 9 Insufficient cpu."}
    status = {"phase": "Pending", "conditions": [] if spec.get("nodeName") else [said]}
    return named("Pod", name, metadata=metadata, spec={**stored, **spec}, status=status)


def required_kinds_mount(claim: str) -> list[Tree]:
    return [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]


SELECTING: Final = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "a"}}}
PODS: Final = {
    each["metadata"]["name"]: each
    for each in (
        pod("waits"),
        pod("web", labels={"app": "web"}, owner="ReplicaSet/web-1"),
        pod("old", labels={"app": "old"}, owner="ReplicationController/old"),
        pod("db", labels={"app": "db"}, owner="StatefulSet/db"),
        pod("runs", nodeName="n1", labels={"app": "web"}, owner="ReplicaSet/web-1"),
        pod("stores", nodeName="n1", owner="StatefulSet/db", volumes=required_kinds_mount("data")),
        pod("bound", volumes=required_kinds_mount("data")),
        pod("unbound", volumes=required_kinds_mount("new")),
        pod("devices", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}]),
        pod("extended", containers=[container(**{"example.com/gpu": "1"})]),
        pod("near", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [SELECTING]}}),
        pod("large", cpu="64"),
        pod("urgent", cpu="3", priority=1000),
        pod("first", cpu="3", nodeName="n1"),
        pod("second", cpu="3", nodeName="n2"),
        pod("grouped", schedulingGroup={"podGroupName": "gang"}),
    )
}
TEMPLATE: Final = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container(cpu="1")]}}
WORKLOAD: Final = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
BOUND: Final = {"pv.kubernetes.io/bind-completed": "yes"}
OBJECTS: Final[list[Tree]] = [
    *(
        named(
            "Node",
            name,
            metadata={"labels": {"kubernetes.io/hostname": name}},
            status={
                "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.36.3"},
            },
        )
        for name in ("n1", "n2")
    ),
    named("Namespace", "shop"),
    named("Deployment", "web", spec=WORKLOAD),
    named(
        "ReplicaSet",
        "web-1",
        spec=WORKLOAD,
        metadata={
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "name": "web",
                    "uid": "Deployment-web",
                    "controller": True,
                }
            ]
        },
    ),
    named(
        "PersistentVolumeClaim",
        "data",
        spec={"volumeName": "pv"},
        status={"phase": "Bound"},
        metadata={"annotations": BOUND},
    ),
    named("PersistentVolumeClaim", "new", spec={"storageClassName": "late"}),
    named(
        "PersistentVolume",
        "pv",
        spec={"claimRef": {"namespace": "shop", "name": "data", "uid": "PersistentVolumeClaim-data"}},
    ),
    named("StorageClass", "late", provisioner="csi.example.com", volumeBindingMode="WaitForFirstConsumer"),
    named("CSIDriver", "csi.example.com", spec={"storageCapacity": True}),
    named("CSIStorageCapacity", "all", storageClassName="late", capacity="100Gi", nodeTopology={}),
    named(
        "ResourceClaim", "gpu", spec={"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    ),
    named("DeviceClass", "gpu", spec={"extendedResourceName": "example.com/gpu"}),
    named(
        "ResourceSlice",
        "n1",
        spec={
            "driver": "gpu.example.com",
            "nodeName": "n1",
            "pool": {"name": "n1", "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}],
        },
    ),
    named("PodGroup", "gang", spec={"schedulingPolicy": {"gang": {"minCount": 1}}}),
    named("PriorityClass", "high", value=10),
    named("RuntimeClass", "kata", handler="kata"),
    named("ResourceClaimTemplate", "gpu", spec={"spec": {"devices": {"requests": []}}}),
    named(
        "Lease",
        "kube-scheduler",
        metadata={"namespace": "kube-system"},
        spec={"holderIdentity": "elsewhere_1", "leaseDurationSeconds": 15, "renewTime": "2026-05-04T12:00:00.000000Z"},
    ),
]
NEW: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "new", "namespace": "shop"},
    "spec": {"containers": [container(cpu="1")], "runtimeClassName": "kata"},
}


def snapshot(
    folder: Path, pods: Collection[str], not_listed: Collection[str] = (), listed_in: Tree | None = None
) -> None:
    """Write a captured snapshot of a user who is not allowed to list some kinds."""
    listed_in = listed_in or {}
    objects: dict[str, list[Tree]] = {kind: [] for _, kind in KINDS if kind not in not_listed or kind in listed_in}
    for each in chain(OBJECTS, (PODS[name] for name in pods)):
        if each["kind"] in objects:
            objects[each["kind"]].append(each)
    header = {
        "kschedctlVersion": "1",
        "capturedAt": "2026-05-04T12:00:00Z",
        "serverVersion": {"gitVersion": "v1.36.3"},
        "kinds": {kind: len(items) for kind, items in objects.items()},
        "notListed": dict.fromkeys(not_listed, "it cannot be listed"),
        "listedIn": listed_in,
    }
    folder.mkdir(parents=True)
    (folder / "snapshot.json").write_text(json.dumps(header))
    for kind, items in objects.items():
        version = next((item["apiVersion"] for item in items), "v1")
        (folder / f"{kind}.json").write_text(json.dumps({"apiVersion": version, "kind": f"{kind}List", "items": items}))
    (folder.parent / "new.yaml").write_text(json.dumps(NEW))


class Row(NamedTuple):
    """A command, the pods of the cluster, and the kinds on which its answer depends.

    Attributes
    ----------
    decides : str
        The kinds without which the answer is not known.
    adds : str
        The kinds that add to the answer.
    required : str
        The kinds without which there is no answer.
    """

    command: str
    pods: str
    decides: str = ""
    adds: str = ""
    required: str = "Node Pod"


CLAIM: Final = "PersistentVolumeClaim"
VOLUMES: Final = f"{CLAIM} PersistentVolume"
UNBOUND: Final = f"{VOLUMES} StorageClass CSIDriver CSIStorageCapacity"
ATTACHED: Final = "CSINode VolumeAttachment"
DEVICES: Final = "ResourceClaim ResourceSlice DeviceClass DeviceTaintRule"
PROBLEMS: Final = "ReplicationController ReplicaSet StatefulSet DaemonSet Job Lease"
ROWS: Final = [
    Row("explain shop/waits", "waits"),
    Row("explain shop/web", "web", adds="Service ReplicaSet"),
    Row("explain shop/old", "old", adds="Service ReplicationController"),
    Row("explain shop/db", "db", adds="Service StatefulSet"),
    Row("explain shop/bound", "bound", f"{VOLUMES} {ATTACHED}"),
    Row("explain shop/unbound", "unbound", f"{UNBOUND} {ATTACHED}"),
    Row("explain shop/devices", "devices", DEVICES),
    Row("explain shop/extended", "extended", DEVICES),
    Row("explain shop/near", "near", "Namespace"),
    Row("explain shop/large", "large runs"),
    Row("explain shop/urgent", "urgent first second", "PodDisruptionBudget"),
    Row("explain shop/grouped", "grouped", "PodGroup CompositePodGroup"),
    Row("explain -f new.yaml", "waits", "Pod LimitRange ResourceQuota PriorityClass RuntimeClass", required="Node"),
    Row("explain -A", "bound waits", f"{VOLUMES} {ATTACHED}"),
    Row("preempt shop/large", "large runs"),
    Row("preempt shop/urgent", "urgent first second", "PodDisruptionBudget"),
    Row("preempt --victim shop/runs", "runs", "PodDisruptionBudget", "Service ReplicaSet"),
    Row("capacity shop/unbound", "unbound", f"{UNBOUND} {ATTACHED}"),
    Row("pending", "unbound", f"Node {UNBOUND} {ATTACHED}", PROBLEMS, required="Pod"),
    Row("drain n1 --force", "runs", "PodDisruptionBudget", "Service ReplicaSet"),
    Row("drain n1 --force", "stores", f"PodDisruptionBudget {VOLUMES} {ATTACHED}", "StatefulSet"),
    Row("simulate", "unbound", f"{UNBOUND} {ATTACHED}"),
    Row("simulate", "large runs"),
    Row("simulate", "urgent first second", "PodDisruptionBudget"),
    Row("pending", "urgent first second", "Node PodDisruptionBudget", PROBLEMS, required="Pod"),
    Row(
        "rollout deploy/web -n shop",
        "runs",
        "ReplicaSet LimitRange ResourceQuota PriorityClass",
        "Service",
        required="Node Pod Deployment",
    ),
    Row("diff -A --against-version 1.35", "devices", DEVICES),
    Row("verify", "bound runs", f"{VOLUMES} {ATTACHED}", "Service ReplicaSet"),
    Row("volumes -A", "waits", f"Node {UNBOUND}".replace(CLAIM, ""), "Pod", required=CLAIM),
    Row("volumes shop/data", "bound", "Node PersistentVolume", "Pod", required=CLAIM),
    Row("volumes shop/new", "waits", f"Node {UNBOUND}".replace(CLAIM, ""), "Pod", required=CLAIM),
    Row("volumes pod/bound -n shop", "bound", f"Node {VOLUMES}", required="Pod"),
    Row("devices", "waits", "ResourceClaim DeviceClass DeviceTaintRule", required="Node ResourceSlice"),
    Row("devices class/gpu", "waits", "ResourceSlice ResourceClaim DeviceTaintRule", required="Node DeviceClass"),
    Row("nodes", "waits"),
    Row("leader", "waits", adds="LeaseCandidate", required="Lease"),
    Row("optimum", "unbound", f"PodDisruptionBudget {UNBOUND} {ATTACHED}"),
]


def ask(folder: Path, row: Row, not_listed: Iterable[str], listed_in: Tree | None = None) -> Printed:
    where = folder / str(len(list(folder.iterdir()))) / "snapshot"
    snapshot(where, row.pods.split(), tuple(not_listed), listed_in)
    command = [str(where.parent / word) if word == "new.yaml" else word for word in row.command.split()]
    return run(*command, "--snapshot", str(where), "--strict", columns=1000)


def first_line(done: Printed) -> str:
    """Return the first line, without the scores of nodes."""
    return re.sub(r"score \d+", "score", done.out.partition("\n")[0])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.command} of {row.pods}")
def test_every_kind(row: Row, tmp_path: Path) -> None:
    everything = ask(tmp_path, row, ())
    assert everything.code in (0, 1), everything
    decides, adds, required = (text.split() for text in (row.decides, row.adds, row.required))
    for kind in required:
        done = ask(tmp_path, row, (kind,))
        assert (done.code, done.out) == (3, ""), kind
        assert done.err.startswith(f"error: {plural(kind.lower())} cannot be listed by this user, "), kind
        assert f"kubectl auth can-i list {plural(kind.lower())}" in done.err
    for kind in decides:
        done = ask(tmp_path, row, (kind,))
        assert done.code == 3, (kind, done)
        assert first_line(done).startswith(f"Not known: {plural(kind.lower())} cannot be listed by this user. "), (
            kind,
            done,
        )
        assert f"not known: {plural(kind.lower())} cannot be listed by this user: " in done.out, kind
        assert f"kubectl auth can-i list {plural(kind.lower())}" in done.out, kind
        assert not DENIALS.search(done.out), (kind, done.out)
    for kind in adds:
        done = ask(tmp_path, row, (kind,))
        assert done.code == 3, kind
        assert first_line(done) == first_line(everything), kind
        assert f"incomplete: {plural(kind.lower())} cannot be listed by this user: " in done.out, kind
    others = [kind for _, kind in KINDS if kind not in (*decides, *adds, *required)]
    done = ask(tmp_path, row, others)
    assert (done.code, first_line(done)) == (everything.code, first_line(everything)), done.out
    assert "cannot be listed by this user, but the answer does not depend on them" in done.out


OF_NAMESPACES: Final = [kind for _, kind in KINDS if kind not in CLUSTER_WIDE]
#: Pods of other namespaces cannot be listed.
OUTSIDE: Final = "pods outside namespace shop"
CANNOT: Final = "cannot be listed by this user"
SO_FAR: Final = f"{OUTSIDE} {CANNOT}. As far as is known:"
SAID: Final = "0/9 nodes are available: 9 Insufficient cpu."


@pytest.mark.parametrize(
    ("command", "pods", "nodes", "code", "told"),
    [
        ("pending -n shop", "unbound", False, 3, f"Not known: nodes and {SO_FAR} 1 pod is pending.\n"),
        ("pending -n shop", "unbound", False, 3, f"kube-scheduler itself says: {SAID}"),
        ("pending -n shop", "runs", False, 3, f"Not known: nodes and {SO_FAR} No pod is pending.\n"),
        ("explain shop/unbound", "unbound", False, 3, f"error: nodes {CANNOT}, and the answer depends on them\n"),
        ("explain shop/unbound", "unbound", False, 3, f"kube-scheduler itself says of shop/unbound: {SAID}"),
        ("explain other/web", "waits", False, 3, f"error: {OUTSIDE} {CANNOT}, and the answer depends on them\n"),
        ("explain deploy/web -n other", "waits", True, 3, f"error: deployments outside namespace shop {CANNOT}"),
        ("explain shop/gone", "waits", True, 2, "error: the snapshot has no pod shop/gone\n"),
        ("explain shop/waits", "waits", True, 3, f"Not known: {SO_FAR} shop/waits fits on 2 of 2"),
        ("explain -f new.yaml", "waits", True, 3, f"Not known: {SO_FAR} shop/new fits on 2 of 2"),
        ("explain shop/web", "web", True, 3, f"Not known: {SO_FAR} shop/web fits on 2 of 2"),
        ("volumes shop/data", "bound", True, 3, "shop/data is bound to pv. A pod with it can run on 2 of 2 nodes.\n"),
        ("volumes other/data", "bound", True, 3, f"error: persistentvolumeclaims outside namespace shop {CANNOT}"),
        ("drain n1 --force", "runs", True, 3, f"Not known: {OUTSIDE} and poddisruptionbudgets outside namespace shop"),
        ("nodes", "runs", True, 3, f"Not known: {SO_FAR} 2 nodes, 2 ready"),
        ("nodes", "runs", False, 3, f"error: nodes {CANNOT}"),
    ],
)  # fmt: skip
def test_one_namespace(tmp_path: Path, command: str, pods: str, nodes: bool, code: int, told: str) -> None:
    """A user who may read one namespace gets what can be said about it; the classes of the cluster can be listed."""
    forbidden = [*OF_NAMESPACES, *(() if nodes else ("Node",))]
    done = ask(tmp_path, Row(command, pods), forbidden, dict.fromkeys(OF_NAMESPACES, "shop"))
    assert done.code == code, done
    assert told in done.out + done.err, done
    assert ("kubectl auth can-i list " in done.out + done.err) == (code == 3)


@pytest.mark.parametrize(
    ("kind", "rules"),
    [
        ("PersistentVolumeClaim", "KS501 KS502 KS503 KS504 KS505 KS507 KS508 KS512"),
        ("PersistentVolume", "KS501 KS502 KS503 KS504 KS505 KS508 KS512"),
        ("ResourceQuota", "KS501 KS502 KS503 KS504 KS505 KS508 KS512"),
        ("PriorityClass", "KS507"),
        ("Node", "KS501 KS502 KS503 KS504 KS505 KS508 KS512"),
        ("StorageClass", ""),
    ],
)
def test_lint_decides_no_rule_that_depends_on_it(tmp_path: Path, kind: str, rules: str) -> None:
    snapshot(tmp_path / "snapshot", ["waits"], [kind])
    pods = {"priorityClassName": "high", "containers": [container(cpu="1")], "volumes": required_kinds_mount("data")}
    template = {"metadata": {"labels": {"app": "new"}}, "spec": pods}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "new"}}, "template": template}
    manifest = named("Deployment", "new", spec=spec)
    del manifest["metadata"]["uid"]
    (tmp_path / "web.json").write_text(json.dumps(manifest))
    command = ("lint", str(tmp_path / "web.json"), "--snapshot", str(tmp_path / "snapshot"), "--strict", "-o", "json")
    done = run(*command)
    report = json.loads(done.out)
    assert report["findings"] == []
    undecided = {each["rule"]: each["why"] for each in report["summary"]["undecided"]}
    assert undecided == dict.fromkeys(rules.split(), f"{plural(kind.lower())} {CANNOT}")
    assert done.code == (3 if rules else 0)


def test_rows_of_a_sweep_are_in_doubt(tmp_path: Path) -> None:
    snapshot(tmp_path / "snapshot", ["runs"], ["PodDisruptionBudget"])
    plan = {"apiVersion": "kschedctl/v1", "kind": "Sweep", "base": {"snapshot": "snapshot"}, "ask": "drain"}
    (tmp_path / "plan.yaml").write_text(json.dumps({**plan, "axes": {"of": ["n1", "n2"]}}))
    done = run("sweep", str(tmp_path / "plan.yaml"), "--strict", "--jobs", "1", columns=1000)
    assert done.code == 3, done
    assert "poddisruptionbudgets cannot be listed by this user: no eviction is refused" in done.out


def test_rows_are_about_every_command_and_every_kind() -> None:
    asked = {row.command.split()[0] for row in ROWS}
    assert asked | OTHERS >= COMMANDS.keys(), COMMANDS.keys() - asked - OTHERS
    kinds = {kind for row in ROWS for text in (row.decides, row.adds, row.required) for kind in text.split()}
    assert TABLE.keys() - kinds == {"ResourceClaimTemplate", "Workload"}
    assert TABLE.keys() <= {kind for _, kind in KINDS}
