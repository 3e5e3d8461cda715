"""The effect of every edit on a cluster, its text, and its rejections."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.objects.core import Taint
from kschedctl.objects.device import ResourceSlice
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.volume import CSINode, PersistentVolumeClaim
from kschedctl.objects.workload import Deployment, PodDisruptionBudget, StatefulSet
from kschedctl.trials.whatif.edits import (
    Apply,
    Cordon,
    Delete,
    Drain,
    Edit,
    EditedCluster,
    FailZone,
    LabelNode,
    SetReplicas,
    TaintNode,
    apply_edits,
)
from tests.builders import HOSTNAME, decide, make_cluster, make_namespace, make_node, make_object, make_pod
from tests.objects.validation.groups import release_with
from tests.scheduler.devices.builders import make_claim, make_slice
from tests.strategies import World, worlds

#: A pod that no API server has seen.
NEW = msgspec.convert({"metadata": {"name": "new"}, "spec": {"priorityClassName": "hihg"}}, Pod)
GPU = Taint(key="gpu", value="true", effect="NoSchedule")


def owned(name: str, kind: str = "ReplicaSet", owner: str = "web-abc", **fields: Any) -> Any:
    return make_pod(name, owner=("apps/v1", kind, owner), **fields)


def shop() -> Cluster:
    """Return a cluster of two zones with a Deployment (one pod is pending), a StatefulSet, and pods bound to nodes."""
    nodes = [
        make_node("a1", zone="a"),
        make_node("a2", zone="a", taints=["gpu=true:NoSchedule"], labels={"disk": "ssd"}),
        make_node("b1", zone="b"),
    ]
    web: dict[str, Any] = {"labels": {"app": "web", "pod-template-hash": "abc"}}
    pods = [
        owned("web-1", node="a1", status={"phase": "Running"}, **web),
        owned("web-2", node="b1", status={"phase": "Running"}, **web),
        owned("web-3", status={"phase": "Pending"}, **web),
        owned("db-0", "StatefulSet", "db", node="a1", volumes=[_claim_volume("data", "data-db-0")]),
        owned("db-1", "StatefulSet", "db", node="b1", volumes=[_claim_volume("data", "data-db-1")]),
        owned("daemon-a1", "DaemonSet", "daemon", node="a1"),
        make_pod("static-a1", node="a1", owner=("v1", "Node", "a1")),
        make_pod("bare", node="a1"),
        make_pod("other", namespace="batch", node="b1"),
    ]
    claims = [
        make_object(PersistentVolumeClaim, f"data-db-{i}", namespace="default", spec={"volumeName": f"pv-{i}"})
        for i in range(2)
    ]
    return make_cluster(
        nodes,
        pods,
        make_object(CSINode, "a1", spec={"drivers": [{"name": "csi.example", "nodeID": "a1"}]}),
        make_object(PodDisruptionBudget, "web", namespace="default"),
        make_object(StatefulSet, "db", namespace="default", spec={"replicas": 2}),
        make_namespace("batch"),
        *claims,
    )


def _claim_volume(name: str, claim: str) -> dict[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}


def edit(cluster: Cluster, *edits: Edit) -> EditedCluster:
    return apply_edits(cluster, edits, release=LATEST)


def places(cluster: Cluster) -> dict[str, str]:
    return {cluster.pods.key(i).removeprefix("default/"): r.node_name for i, r in enumerate(cluster.pods.records)}


def differing(before: Cluster, after: Cluster) -> dict[str, str | None]:
    """Return the pods whose place differs, with the new place; ``None`` for a deleted pod."""
    old, new = places(before), places(after)
    return {name: new.get(name) for name in (*old, *new) if old.get(name, "new") != new.get(name)}


def of(*objects: Any) -> tuple[tuple[Any, str], ...]:
    return tuple((obj, f"file, document {i}") for i, obj in enumerate(objects, 1))


PLACES: dict[str, tuple[Edit, dict[str, str | None], str]] = {
    "a cordon moves no pod": (Cordon("a1"), {}, "node a1 is cordoned"),
    "a cordon of several counts and names them": (Cordon("a*"), {}, "2 nodes (a1 and a2) are cordoned"),
    "a glob that one node matches": (Cordon("b?"), {}, "node b1 is cordoned"),
    "a drain leaves daemons and static pods, and bare pods are gone": (
        Drain("a1"),
        {"web-1": "", "db-0": "", "bare": None},
        "node a1 is drained: 2 pods are pending again, 1 pod is removed, 2 pods stay",
    ),
    "a drain of an empty node": (Drain("a2"), {}, "node a2 is drained: no pod is on it"),
    "a zone takes its daemons along": (
        FailZone("a"),
        {"web-1": "", "db-0": "", "bare": None, "daemon-a1": None, "static-a1": None},
        "zone a fails with 2 nodes: 2 pods are pending again, 3 pods are removed",
    ),
    "a node that is deleted": (
        Delete("no", "b1"),
        {"web-2": "", "db-1": "", "batch/other": None},
        "Node b1 is deleted: 2 pods are pending again, 1 pod is removed",
    ),
    "a pod that is deleted is not made anew": (Delete("pod", "web-1"), {"web-1": None}, "Pod default/web-1 is deleted"),
    "a Deployment that the cluster has only pods of": (
        Delete("deploy", "web"),
        {"web-1": None, "web-2": None, "web-3": None},
        "Deployment default/web is deleted with 3 pods",
    ),
    "a StatefulSet": (
        Delete("sts", "db", "default"),
        {"db-0": None, "db-1": None},
        "StatefulSet default/db is deleted with 2 pods",
    ),
    "a namespace": (Delete("ns", "batch"), {"batch/other": None}, "Namespace batch is deleted with 1 pod"),
    "a budget moves no pod": (Delete("pdb", "web"), {}, "PodDisruptionBudget default/web is deleted"),
    "a taint NoExecute evicts who does not tolerate it": (
        TaintNode("b1", Taint(key="gone", effect="NoExecute")),
        {"web-2": "", "db-1": "", "batch/other": None},
        "node b1 has the taint gone:NoExecute: 2 pods are pending again, 1 pod is removed",
    ),
    "a taint NoSchedule evicts nobody": (TaintNode("b1", GPU), {}, "node b1 has the taint gpu=true:NoSchedule"),
    "fewer replicas: the waiting one first": (
        SetReplicas("deploy", "web", 2),
        {"web-3": None},
        "Deployment default/web has 2 instead of 3 replicas: 1 pod is removed (pending pods first, then pods that "
        "share a node, then the youngest)",
    ),
    "more replicas wait": (
        SetReplicas("rs", "web-abc", 5),
        {"web-abc-xxxxx": "", "web-abc-xxxxz": ""},
        "ReplicaSet default/web-abc has 5 instead of 3 replicas: 2 new pods are pending, like the newest",
    ),
    "ordinals go from the highest": (
        SetReplicas("sts", "db", 1),
        {"db-1": None},
        "StatefulSet default/db has 1 instead of 2 replicas: 1 pod is removed (the highest ordinals)",
    ),
    "ordinals come in order": (
        SetReplicas("sts", "db", 4),
        {"db-2": "", "db-3": ""},
        "StatefulSet default/db has 4 instead of 2 replicas: 2 new pods are pending, like the newest",
    ),
    "the same number": (SetReplicas("deploy", "web", 3), {}, "Deployment default/web has 3 instead of 3 replicas"),
    "a pod that is replaced waits again": (Apply(of(make_pod("web-1"))), {"web-1": ""}, "Pod default/web-1 replaced"),
    "a pod that has finished takes its place away": (
        Apply(of(make_pod("web-1", status={"phase": "Succeeded"}))),
        {"web-1": None},
        "Pod default/web-1 replaced",
    ),
    "copies of a pod wait, under fresh names": (
        Apply(of(make_pod("web", node="a1")), copies=2),
        {"web-4": "", "web-5": ""},
        "Pod web-4 and web-5 added, like web",
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_where_pods_are_after_a_change(case: str) -> None:
    change, expected, told = PLACES[case]
    before = shop()
    untouched = places(before)
    found = edit(before, change)
    assert differing(before, found.cluster) == expected
    assert found.changes == (told,)
    assert places(before) == untouched


NODES: dict[str, tuple[Edit, str, tuple[bool, list[str], str | None]]] = {
    "cordon": (Cordon("a1"), "a1", (True, ["node.kubernetes.io/unschedulable:NoSchedule"], None)),
    "drain": (Drain("a1"), "a1", (True, ["node.kubernetes.io/unschedulable:NoSchedule"], None)),
    "label set": (LabelNode("a1", "disk", "hdd"), "a1", (False, [], "hdd")),
    "label changed": (LabelNode("a2", "disk", "hdd"), "a2", (False, ["gpu=true:NoSchedule"], "hdd")),
    "label taken away": (LabelNode("a2", "disk", None), "a2", (False, ["gpu=true:NoSchedule"], None)),
    "taint put": (TaintNode("a1", GPU), "a1", (False, ["gpu=true:NoSchedule"], None)),
    "taint of the same key and effect replaced": (
        TaintNode("a2", Taint(key="gpu", value="old", effect="NoSchedule")),
        "a2",
        (False, ["gpu=old:NoSchedule"], "ssd"),
    ),
    "taint of another effect added": (
        TaintNode("a2", Taint(key="gpu", effect="PreferNoSchedule")),
        "a2",
        (False, ["gpu=true:NoSchedule", "gpu:PreferNoSchedule"], "ssd"),
    ),
    "taint taken away by key": (TaintNode("a2", Taint(key="gpu"), remove=True), "a2", (False, [], "ssd")),
    "taint taken away by key and effect": (
        TaintNode("a2", Taint(key="gpu", effect="NoSchedule"), remove=True),
        "a2",
        (False, [], "ssd"),
    ),
}


@pytest.mark.parametrize("case", NODES)
def test_what_a_node_is_after_a_change(case: str) -> None:
    change, name, expected = NODES[case]
    cluster = edit(shop(), change).cluster
    node = cluster.nodes.objects[cluster.nodes.row[name]]
    assert (node.spec.unschedulable, [*map(str, node.spec.taints)], node.metadata.labels.get("disk")) == expected
    assert cluster.nodes.names == ("a1", "a2", "b1")


REFUSED: dict[str, tuple[Iterable[Edit], str]] = {
    "glob that no node matches": (
        [Cordon("aa-*")],
        "cordon aa-*: the cluster has no node that matches aa-*\n  the nodes are a1, a2 and b1",
    ),
    "glob near to some": ([Drain("a[89]")], "has no node that matches a[89]\n  did you mean a1 or a2?"),
    "glob and one that it matches": (
        [LabelNode("a*", "disk", "hdd"), LabelNode("a2", "disk", "ssd")],
        "label a2:disk=ssd: conflicts with: label a*:disk=hdd",
    ),
    "label that none of several has": (
        [LabelNode("a*", "dsk", None)],
        "label a*:dsk-: 2 nodes (a1 and a2) have no label dsk\n  their labels are",
    ),
    "taint that none of several has": (
        [TaintNode("*", Taint(key="cpu"), remove=True)],
        "3 nodes (a1, a2 and b1) have no such taint\n  their taints are gpu=true:NoSchedule",
    ),
    "unknown node": ([Cordon("a11")], "cordon a11: the cluster has no node a11\n  did you mean a1"),
    "unknown zone": ([FailZone("c")], 'fail zone c: the cluster has no node in zone "c"\n  the zones are a and b'),
    "unknown kind": (
        [Delete("pdbs", "web")],
        '"pdbs" is not a kind that kschedctl reads\n  did you mean poddisruptionbudget?',
    ),
    "unknown object": ([Delete("pdb", "wep")], "no PodDisruptionBudget default/wep\n  did you mean default/web?"),
    "object of another namespace": ([Delete("po", "other")], "no Pod default/other\n  did you mean batch/other?"),
    "unknown workload": ([SetReplicas("deploy", "wed", 2)], "no Deployment default/wed\n  did you mean default/web?"),
    "kind without replicas": ([SetReplicas("ds", "daemon", 2)], "a DaemonSet has no replicas"),
    "label that is not there": ([LabelNode("a1", "disk", None)], "label a1:disk-: node a1 has no label disk"),
    "taint that is not there": ([TaintNode("a2", Taint(key="cpu"), remove=True)], "its taints are gpu=true:NoSchedule"),
    "node that is gone": ([Delete("node", "a1"), Drain("a1")], "drain a1: the cluster has no node a1"),
    "the same twice": ([Cordon("a1"), Cordon("a1")], "cordon a1: is given twice"),
    "two sizes": (
        [SetReplicas("deploy", "web", 2), SetReplicas("deployment", "web", 3)],
        "conflicts with: set replicas",
    ),
    "applied and deleted": (
        [Apply(of(make_node("a1"))), Delete("node", "a1")],
        "delete node/a1: conflicts with: apply",
    ),
    "applied twice": ([Apply(of(make_node("n"), make_node("n")))], "contains Node n twice"),
    "taint put and taken away": ([TaintNode("a1", GPU), TaintNode("a1", GPU, remove=True)], "conflicts with: taint a1"),
    "taint put and its key taken away": (
        [TaintNode("a1", GPU), TaintNode("a1", Taint(key="gpu"), remove=True)],
        "conflicts with: taint a1:gpu=true:NoSchedule",
    ),
    "copies of what has none": ([Apply(of(make_namespace("x")), copies=2)], "Namespace x cannot be copied"),
    "bad quantity": ([Apply(of(make_node(cpu="x")))], "file, document 1 (Node node): status.allocatable"),
    "unknown priority class": (
        [Apply(of(make_object(PriorityClass, "high", value=5))), Apply(of(NEW))],
        "no PriorityClass with name hihg was found",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_refused(case: str) -> None:
    edits, message = REFUSED[case]
    with pytest.raises(InputError) as caught:
        edit(shop(), *edits)
    assert message in str(caught.value)


#: An edit with a glob, the equivalent edits node by node, and the text of the edit.
GLOBS: dict[str, tuple[Edit, list[Edit], str]] = {
    "cordon": (Cordon("*1"), [Cordon("a1"), Cordon("b1")], "2 nodes (a1 and b1) are cordoned"),
    "drain": (
        Drain("[ab]1"),
        [Drain("a1"), Drain("b1")],
        "2 nodes (a1 and b1) are drained: 4 pods are pending again, 2 pods are removed, 2 pods stay",
    ),
    "label set": (
        LabelNode("*", "disk", "hdd"),
        [LabelNode("a1", "disk", "hdd"), LabelNode("a2", "disk", "hdd"), LabelNode("b1", "disk", "hdd")],
        "3 nodes (a1, a2 and b1) have the label disk=hdd instead of ssd",
    ),
    "label taken away where it is": (
        LabelNode("*", "disk", None),
        [LabelNode("a2", "disk", None)],
        "node a2 no longer has the label disk=ssd",
    ),
    "taint that evicts": (
        TaintNode("?1", Taint(key="gone", effect="NoExecute")),
        [
            TaintNode("a1", Taint(key="gone", effect="NoExecute")),
            TaintNode("b1", Taint(key="gone", effect="NoExecute")),
        ],
        "2 nodes (a1 and b1) have the taint gone:NoExecute: 4 pods are pending again, 4 pods are removed",
    ),
    "taint taken away where it is": (
        TaintNode("*", Taint(key="gpu"), remove=True),
        [TaintNode("a2", Taint(key="gpu"), remove=True)],
        "node a2 no longer has the taint gpu=true:NoSchedule",
    ),
}


@pytest.mark.parametrize("case", GLOBS)
def test_a_glob_is_all_of_its_nodes(case: str) -> None:
    together, one_by_one, told = GLOBS[case]
    found, expected = edit(shop(), together), edit(shop(), *one_by_one)
    assert found.changes == (told,)
    assert found.cluster.nodes.objects == expected.cluster.nodes.objects
    assert places(found.cluster) == places(expected.cluster)


def test_nodes_that_were_cordoned_before_are_counted() -> None:
    cluster = edit(shop(), Cordon("a1")).cluster
    assert edit(cluster, Cordon("a1")).changes == ("node a1 is cordoned (already cordoned)",)
    assert edit(cluster, Cordon("*")).changes == ("3 nodes (a1, a2 and b1) are cordoned (1 already cordoned)",)


def test_a_drain_of_empty_nodes() -> None:
    cluster = make_cluster([make_node("a"), make_node("b")])
    assert edit(cluster, Drain("*")).changes == ("2 nodes (a and b) are drained: no pod is on them",)


def test_copies_of_a_node_have_its_hostname_and_csi_node_under_their_names() -> None:
    cluster = edit(shop(), Apply(of(make_node("a1", zone="a")), copies=2)).cluster
    assert cluster.nodes.names[3:] == ("a1-1", "a1-2")
    assert [node.metadata.labels[HOSTNAME] for node in cluster.nodes.objects[3:]] == ["a1-1", "a1-2"]
    assert [csi.name for csi in cluster.list(CSINode)] == ["a1", "a1-1", "a1-2"]
    assert cluster.get(CSINode, "a1-2") is not None


def test_copies_of_a_node_have_its_devices_in_pools_of_their_own() -> None:
    slices = [
        make_slice("a1-gpu", node="a1"),
        make_slice("nics", node="a1", pool="nics"),
        make_slice("shared-1", node="a1", pool="shared", slices=2),
        make_slice("shared-2", node="a2", pool="shared", slices=2),
        make_slice("network", pool="network", allNodes=True),
    ]
    found = edit(shop().with_added(slices), Apply(of(make_node("a1", zone="a")), copies=2))
    assert found.changes == ("Node a1-1 and a1-2 added, like a1, each with 3 ResourceSlices",)
    copied = {one.name: one.spec for one in found.cluster.list(ResourceSlice) if one.spec.node_name == "a1-2"}
    assert {name: (spec.pool.name, spec.pool.resource_slice_count) for name, spec in copied.items()} == {
        "a1-2-gpu": ("a1-2", 1),
        "nics-a1-2": ("nics-a1-2", 1),
        "shared-1-a1-2": ("shared-a1-2", 1),
    }
    assert len(list(found.cluster.list(ResourceSlice))) == 5 + 2 * 3


def test_a_node_that_goes_takes_its_devices_along_and_its_pods_give_theirs_back() -> None:
    slices = [make_slice("a1-gpu", node="a1"), make_slice("network", pool="network", allNodes=True)]
    held = make_claim("c", holds=["network/gpu-0"], reserved=["bare"])
    cluster = shop().with_added([*slices, held])
    found = edit(cluster, Delete("node", "a1"))
    assert found.changes == (
        "Node a1 is deleted: 2 pods are pending again, 3 pods are removed, 1 ResourceSlice is removed",
        "ResourceClaim default/c releases its devices",
    )
    assert [one.name for one in found.cluster.list(ResourceSlice)] == ["network"]
    # A node that is drained keeps what its drivers publish.
    drained = edit(cluster, Drain("a1"))
    assert drained.changes[1:] == ("ResourceClaim default/c releases its devices",)
    assert len(list(drained.cluster.list(ResourceSlice))) == 2


def test_a_zone_takes_the_csi_nodes_along() -> None:
    assert not list(edit(shop(), FailZone("a")).cluster.list(CSINode))


def test_new_ordinals_have_claims_that_are_not_bound() -> None:
    cluster = edit(shop(), SetReplicas("sts", "db", 3)).cluster
    claim = cluster.get(PersistentVolumeClaim, "data-db-2", "default")
    assert claim is not None
    assert (claim.spec.volume_name, claim.status.phase) == ("", "Pending")
    pod = cluster.pods.pod(cluster.pods.index["default", "db-2"])
    assert [v.persistent_volume_claim.claim_name for v in pod.spec.volumes if v.persistent_volume_claim] == [
        "data-db-2"
    ]
    stored = cluster.get(StatefulSet, "db", "default")
    assert stored is not None
    assert stored.spec.replicas == 3


def test_a_pod_that_ends_has_been_replaced_by_a_replica_set_and_not_by_a_stateful_set() -> None:
    pods = [owned("web-1", node="a", terminating=True), owned("db-0", "StatefulSet", "db", node="a", terminating=True)]
    cluster = make_cluster([make_node("a")], pods)
    assert places(edit(cluster, Drain("a")).cluster) == {"db-0": ""}


def _deployment(name: str, replicas: int) -> Deployment:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c"}]}}
    selector = {"matchLabels": {"app": name}}
    spec = {"replicas": replicas, "selector": selector, "template": template}
    return make_object(Deployment, name, namespace="default", spec=spec)


def test_a_new_deployment_makes_its_pods() -> None:
    found = edit(shop(), Apply(of(_deployment("api", 3))))
    assert found.changes == ("Deployment default/api added", "Deployment default/api: 3 pods are pending")
    assert len(found.cluster.pods) == len(shop().pods) + 3
    new = found.cluster.pods.pod(len(shop().pods))
    assert new.metadata.labels["app"] == "api"
    assert new.spec.priority == 0


def test_a_known_deployment_keeps_its_pods_and_makes_what_it_lacks() -> None:
    found = edit(shop(), Apply(of(_deployment("web", 9))))
    said = "Deployment default/web: 3 pods are unchanged, 6 pods are pending"
    assert found.changes == ("Deployment default/web added", said)
    assert len(found.cluster.pods) == len(shop().pods) + 6
    assert places(shop()).items() <= places(found.cluster).items()


def test_a_known_deployment_with_all_its_pods_makes_none() -> None:
    found = edit(shop(), Apply(of(_deployment("web", 3))))
    assert found.changes == ("Deployment default/web added", "Deployment default/web: 3 pods are unchanged")
    assert places(found.cluster) == places(shop())


def test_replicas_of_a_deployment_without_pods_are_made_of_its_template() -> None:
    empty = edit(shop(), Apply(of(_deployment("api", 0)))).cluster
    found = edit(empty, SetReplicas("deploy", "api", 2))
    assert len(found.cluster.pods) == len(empty.pods) + 2


@given(world=worlds("labels", of_nodes=("labels", "taints"), pending=1))
def test_applying_nothing_changes_nothing(world: World) -> None:
    cluster = make_cluster(world.nodes, world.pods)
    same = edit(cluster)
    assert same.cluster is cluster
    assert same.changes == ()
    applied = edit(cluster, Apply(of(*world.nodes, *world.pods))).cluster
    assert applied.nodes.objects == cluster.nodes.objects
    assert places(applied) == places(cluster)
    pod = world.pods[-1]
    before, after = decide(pod, cluster), decide(pod, applied)
    assert (before.best, before.message) == (after.best, after.message)
    assert [before.verdict(row) for row in cluster.nodes.rows] == [after.verdict(row) for row in cluster.nodes.rows]


def test_a_clone_of_an_empty_node_gets_the_verdict_of_its_original() -> None:
    node = make_node("a", cpu="2", zone="z", taints=["gpu=true:NoSchedule"], labels={"disk": "ssd"})
    cluster = edit(make_cluster([node]), Apply(of(node), copies=1)).cluster
    for pod in (
        make_pod(requests={"cpu": "1"}),
        make_pod(requests={"cpu": "3"}),
        make_pod(tolerations=[{"operator": "Exists"}]),
        make_pod(nodeSelector={"disk": "ssd"}, tolerations=[{"operator": "Exists"}]),
        make_pod(nodeSelector={"disk": "hdd"}),
    ):
        decision = decide(pod, cluster)
        original, clone = decision.node("a"), decision.node("a-1")
        assert (original.status, original.reasons) == (clone.status, clone.reasons)


@given(world=worlds("labels", "resources", of_nodes=("labels", "taints"), pending=1))
def test_a_node_that_is_gone_was_never_there(world: World) -> None:
    gone, *others = world.nodes
    pod = world.pods[-1]
    changed = edit(make_cluster(world.nodes, world.pods), Delete("node", gone.name)).cluster
    built = make_cluster(others, [own for own in world.pods if own not in world.on(gone)])
    one, other = decide(pod, changed), decide(pod, built)
    assert (one.best, one.message, one.error) == (other.best, other.message, other.error)
    assert [one.verdict(row) for row in changed.nodes.rows] == [other.verdict(row) for row in built.nodes.rows]


@pytest.mark.parametrize(("kind", "version"), [(PodGroup, "1.37"), (PodGroup, "1.38"), (CompositePodGroup, "1.38")])
def test_new_groups_get_the_priority_of_a_class_that_is_applied_with_them(
    kind: type[PodGroup | CompositePodGroup], version: str
) -> None:
    group = make_object(kind, "gang", spec={"schedulingPolicy": {"basic": {}}, "priorityClassName": "high"})
    objects = ((group, "gang.yaml"), (make_object(PriorityClass, "high", value=7), "gang.yaml"))
    release = release_with(version)
    applied = apply_edits(shop(), [Apply(objects, source="gang.yaml")], release=release).cluster
    [stored] = applied.list(kind)
    assert (stored.namespace, stored.spec.priority) == ("default", 7)
    with pytest.raises(InputError, match="no PriorityClass with name high was found") as error:
        apply_edits(shop(), [Apply(objects[:1], source="gang.yaml")], release=release)
    assert str(error.value.findings[0].place) == "gang.yaml"
