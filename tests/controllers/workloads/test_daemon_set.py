"""DaemonSets: their nodes, tolerations and affinity."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.controllers.workloads.pods import pods_of
from kschedctl.objects.core import Node
from kschedctl.objects.workload import DaemonSet
from tests.builders import make_cluster, make_container, make_node, make_object

APP = {"app": "agent"}
NODES = [
    make_node("plain", zone="a"),
    make_node("gpu", zone="b", taints=["gpu=yes:NoSchedule"]),
    make_node("soft", zone="a", taints=["busy:PreferNoSchedule"]),
    make_node("away", zone="b", taints=["away:NoExecute"]),
    make_node("cordoned", zone="b", unschedulable=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"]),
    make_node("starting", zone="a", taints=["node.kubernetes.io/network-unavailable:NoSchedule"]),
]


def daemon_set(**spec: Any) -> DaemonSet:
    template = {"metadata": {"labels": APP}, "spec": {"containers": [make_container()], **spec}}
    fields = {"selector": {"matchLabels": APP}, "template": template}
    return make_object(DaemonSet, "agent", namespace="kube-system", spec=fields)


def in_zone(zone: str) -> dict[str, Any]:
    expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        pytest.param({}, "plain soft cordoned", id="taints of its own make are tolerated"),
        pytest.param({"hostNetwork": True}, "plain soft cordoned starting", id="a node without network"),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]},
            "plain gpu soft away cordoned starting",
            id="tolerates everything",
        ),
        pytest.param(
            {"tolerations": [{"key": "gpu", "value": "yes"}]}, "plain gpu soft cordoned", id="tolerates one more taint"
        ),
        pytest.param({"nodeSelector": {"topology.kubernetes.io/zone": "a"}}, "plain soft", id="node selector"),
        pytest.param({"affinity": in_zone("b")}, "cordoned", id="node affinity"),
        pytest.param({"nodeName": "soft"}, "soft", id="a node's name"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, "", id="no node at all"),
    ],
)
def test_nodes(spec: dict[str, Any], nodes: str) -> None:
    made = pods_of(daemon_set(**spec), make_cluster(NODES))
    assert " ".join(one.node for one in made) == nodes
    assert all(one.replicas == 1 for one in made)
    assert len({one.pod.name for one in made}) == len(made)


def test_the_pod_is_for_its_node_alone() -> None:
    preferred = [{"weight": 1, "preference": {"matchFields": []}}]
    affinity = in_zone("a")
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    affinity["podAntiAffinity"] = {}
    given = daemon_set(affinity=affinity)
    first, _ = pods_of(given, make_cluster(NODES))
    assert given.spec.template is not None
    assert given.spec.template.spec.affinity is not None
    own = first.pod.spec.affinity
    assert own is not None
    assert own.node_affinity is not None
    required = own.node_affinity.required_during_scheduling_ignored_during_execution
    assert required is not None
    (term,) = required.node_selector_terms
    (field,) = term.match_fields
    assert (term.match_expressions, field.key, field.operator, field.values) == ((), "metadata.name", "In", ("plain",))
    # Nothing else of the affinity is touched.
    before = given.spec.template.spec.affinity
    assert before.node_affinity is not None
    node_affinity = replace(before.node_affinity, required_during_scheduling_ignored_during_execution=required)
    assert own == replace(before, node_affinity=node_affinity)


DAEMON = [
    "not-ready:NoExecute",
    "unreachable:NoExecute",
    "disk-pressure:NoSchedule",
    "memory-pressure:NoSchedule",
    "pid-pressure:NoSchedule",
    "unschedulable:NoSchedule",
]


def own_toleration(seconds: int | None) -> dict[str, Any]:
    own = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    return own if seconds is None else {**own, "tolerationSeconds": seconds}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, DAEMON, id="in the controller's order"),
        pytest.param({"hostNetwork": True}, [*DAEMON, "network-unavailable:NoSchedule"], id="on the host's network"),
        pytest.param(
            {"tolerations": [own_toleration(30)]},
            ["unreachable:NoExecute", "not-ready:NoExecute", *DAEMON[2:]],
            id="one that has an end is for ever, in its place",
        ),
        pytest.param(
            {"tolerations": [own_toleration(None)]},
            ["unreachable:NoExecute", "not-ready:NoExecute", *DAEMON[2:]],
            id="one that it has already",
        ),
    ],
)
def test_tolerations(spec: dict[str, Any], expected: list[str]) -> None:
    node: Node = make_node()
    (made,) = pods_of(daemon_set(**spec), make_cluster([node]))
    tolerations = made.pod.spec.tolerations
    assert [f"{t.key.removeprefix('node.kubernetes.io/')}:{t.effect}" for t in tolerations] == expected
    assert all(t.operator == "Exists" and t.toleration_seconds is None for t in tolerations)


def with_generation(given: DaemonSet, generation: str) -> DaemonSet:
    annotations = {"deprecated.daemonset.template.generation": generation}
    return replace(given, metadata=replace(given.metadata, annotations=annotations))


@pytest.mark.parametrize(
    ("given", "stored", "generation"),
    [
        pytest.param(daemon_set(), [], "1", id="a new one"),
        pytest.param(daemon_set(), [with_generation(daemon_set(), "4")], "4", id="one that the cluster has"),
        pytest.param(with_generation(daemon_set(), "5"), [], "5", id="one that is from a cluster"),
    ],
)
def test_labels_and_owner(given: DaemonSet, stored: list[DaemonSet], generation: str) -> None:
    (made,) = pods_of(given, make_cluster([make_node()], [], *stored))
    labels = dict(made.pod.metadata.labels)
    assert labels.pop("controller-revision-hash")
    assert labels == {**APP, "pod-template-generation": generation}
    (reference,) = made.pod.metadata.owner_references
    assert (reference.api_version, reference.kind, reference.name) == ("apps/v1", "DaemonSet", "agent")
