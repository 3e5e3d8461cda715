"""Spread constraints: domains that count and can take no pod, and topology keys that no node has."""

from typing import Any

import msgspec
import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import ReplicaSet, StatefulSet
from kschedctl.scheduler.cycle.decision import Decision
from tests.builders import HOSTNAME, ZONE, decide, make_cluster, make_node, make_object, make_pod
from tests.diagnosis.rules.cures import cures

CONTROL_PLANE = "node-role.kubernetes.io/control-plane:NoSchedule"
WEB = {"app": "web"}


def spread(key: str = HOSTNAME, **fields: Any) -> list[dict[str, Any]]:
    own = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return [{**own, "labelSelector": {"matchLabels": WEB}, **fields}]


@pytest.mark.parametrize(
    ("blocked", "spec", "cause", "cure"),
    [
        pytest.param(
            make_node("cp", taints=[CONTROL_PLANE]),
            {"topologySpreadConstraints": spread()},
            f"the spread over {HOSTNAME} counts cp (0 matching pods, the fewest), where no pod can go: cp is tainted "
            f"{CONTROL_PLANE}; 2 other nodes could hold the pod, but may be at most 1 ahead: 1 per domain (maxSkew 1)",
            f"nodeTaintsPolicy: Honor in the spread constraint over {HOSTNAME}",
            id="control plane",
        ),
        pytest.param(
            make_node("cp", cpu="0"),
            {"topologySpreadConstraints": spread()},
            f"the spread over {HOSTNAME} counts cp (0 matching pods, the fewest), where no pod can go: cp offers no "
            "cpu; 2 other nodes could hold the pod, but may be at most 1 ahead: 1 per domain (maxSkew 1)",
            "add a node like a",
            id="full node",
        ),
        pytest.param(
            make_node("cp"),
            {"topologySpreadConstraints": spread(nodeAffinityPolicy="Ignore"), "nodeSelector": {"pool": "web"}},
            f"the spread over {HOSTNAME} counts cp (0 matching pods, the fewest), where no pod can go: the pod's node "
            "selection excludes cp (nodeAffinityPolicy is Ignore); 2 other nodes could hold the pod, but may be at "
            "most 1 ahead: 1 per domain (maxSkew 1)",
            f"nodeAffinityPolicy: Honor in the spread constraint over {HOSTNAME}",
            id="excluded by the pod's selector",
        ),
        pytest.param(
            make_node("cp", unschedulable=True),
            {"topologySpreadConstraints": spread()},
            f"the spread over {HOSTNAME} counts cp (0 matching pods, the fewest), where no pod can go: cp is cordoned; "
            "2 other nodes could hold the pod, but may be at most 1 ahead: 1 per domain (maxSkew 1)",
            "uncordon node cp",
            id="cordoned",
        ),
    ],
)
def test_blocked_domain(blocked: Node, spec: dict[str, Any], cause: str, cure: str) -> None:
    nodes = [blocked, *(make_node(name, labels={"pool": "web"}) for name in "ab")]
    pods = [make_pod(f"web-{name}", node=name, labels=WEB) for name in "ab"]
    decision = decide(make_pod(labels=WEB, requests={"cpu": "1"}, **spec), make_cluster(nodes, pods))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert suggest(decision).ranked[0].summary == cure


def test_minimum_of_missing_domains() -> None:
    nodes = [make_node("a", zone="x"), make_node("b", zone="y")]
    pods = [make_pod(f"web-{name}", node=name, labels=WEB) for name in "ab"]
    pod = make_pod(labels=WEB, topologySpreadConstraints=spread(ZONE, minDomains=3))
    decision = decide(pod, make_cluster(nodes, pods))
    (found,) = diagnose(decision)
    assert found.cause == (
        f"the spread over {ZONE} has minDomains 3, and 2 domains count: until there are 3, each may have 1 matching "
        "pod, and 2 nodes would exceed that"
    )
    told = [each.summary for each in suggest(decision).suggestions]
    assert f"minDomains 2 instead of 3 in the spread constraint over {ZONE}" in told


@pytest.mark.parametrize(
    ("key", "labels", "cause", "cures"),
    [
        pytest.param(
            ZONE,
            {},
            f"no node has the label {ZONE}, over which the spread counts domains",
            {
                f"label the nodes with {ZONE}, each with the place that it is in",
                f"ScheduleAnyway instead of DoNotSchedule in the spread constraint over {ZONE}",
            },
            id="bare metal",
        ),
        pytest.param(
            "topology.kubernetes.io/zones",
            {ZONE: "x"},
            "no node has the label topology.kubernetes.io/zones, over which the spread counts domains",
            {f"topologyKey {ZONE} instead of topology.kubernetes.io/zones"},
            id="mistyped",
        ),
        pytest.param(
            "failure-domain.beta.kubernetes.io/zone",
            {ZONE: "x"},
            "no node has the label failure-domain.beta.kubernetes.io/zone, over which the spread counts domains",
            {f"topologyKey {ZONE} instead of failure-domain.beta.kubernetes.io/zone"},
            id="key of the past",
        ),
    ],
)
def test_missing_topology(key: str, labels: dict[str, str], cause: str, cures: set[str]) -> None:
    nodes = [make_node(name, labels=labels) for name in "ab"]
    decision = decide(make_pod(labels=WEB, topologySpreadConstraints=spread(key)), make_cluster(nodes))
    assert [one.cause for one in diagnose(decision)] == [cause]
    found = [each.summary for each in suggest(decision).ranked]
    assert set(found[: len(cures)]) == cures


def test_a_usable_node_has_the_fewest_pods() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("cp", taints=[CONTROL_PLANE])]
    pods = [make_pod("web-a", node="a", labels=WEB), make_pod("x", node="b", requests={"cpu": "4"})]
    pod = make_pod(labels=WEB, requests={"cpu": "1"}, topologySpreadConstraints=spread(nodeTaintsPolicy="Honor"))
    (found,) = diagnose(decide(pod, make_cluster(nodes, pods)))
    assert found.cause.startswith(
        f"the spread over {HOSTNAME} counts b (0 matching pods, the fewest), where no pod can go: b has 0"
    )


def test_a_node_in_the_full_zone() -> None:
    nodes = [make_node(name, zone=name) for name in "abc"]
    web = [make_pod(f"web-{name}", node=name, labels=WEB) for name in "ab"]
    other = make_pod("x", node="c", requests={"cpu": "3"})
    pod = make_pod(labels=WEB, requests={"cpu": "2"}, topologySpreadConstraints=spread(ZONE))
    assert suggest(decide(pod, make_cluster(nodes, [*web, other]))).ranked[0].summary == "add a node like c in zone c"


def test_the_node_with_the_fewest_pods_is_unreachable() -> None:
    nodes = [make_node("a"), make_node("b", taints=["node.kubernetes.io/unreachable:NoSchedule"])]
    pod = make_pod(labels=WEB, topologySpreadConstraints=spread())
    decision = decide(pod, make_cluster(nodes, [make_pod("web-a", node="a", labels=WEB)]))
    assert [each.rule for each in diagnose(decision)] == ["blocked-domain", "unhealthy-node"]
    told = [each.summary for each in suggest(decision).ranked]
    assert told[:2] == [
        "get b back (its kubelet posts no status) or replace it",
        f"nodeTaintsPolicy: Honor in the spread constraint over {HOSTNAME}",
    ]


def decision(labels: dict[str, str], selector: dict[str, Any]) -> Decision:
    """Two zones with two old pods each, and a full one."""
    constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    nodes = [make_node(name, zone=name, cpu="4" if name != "c" else "0") for name in "abc"]
    pods = [make_pod(f"old-{node}{i}", node=node, labels={"app": "old"}) for node in "ab" for i in (1, 2)]
    pod = make_pod("new", labels=labels, requests={"cpu": "1"}, topologySpreadConstraints=[constraint])
    return decide(pod, make_cluster(nodes, pods))


OLD = {"matchLabels": {"app": "old"}}
MATCH = f"correct the labelSelector of the spread constraint over {ZONE}, or the labels of the pod: they must match"


@pytest.mark.parametrize(
    ("labels", "selector", "cause", "cure"),
    [
        pytest.param(
            {"app": "new"},
            OLD,
            f"the spread over {ZONE} counts pods with app=old, and the pod itself has app=new",
            f"app=new instead of app=old in the labelSelector of the spread constraint over {ZONE}",
            id="another value",
        ),
        pytest.param(
            {"name": "new"},
            OLD,
            f"the spread over {ZONE} counts pods with app=old, and the pod itself does not have it",
            f"{MATCH} (untried)",
            id="no such label",
        ),
        pytest.param(
            {"app": "new"},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["old"]}]},
            f"the spread over {ZONE} counts pods that its selector selects, not the pod",
            f"{MATCH} (untried)",
            id="expressions",
        ),
    ],
)
def test_pods_of_others_are_counted(labels: dict[str, str], selector: dict[str, Any], cause: str, cure: str) -> None:
    found = decision(labels, selector)
    assert diagnose(found)[0].cause == cause
    assert cures(found)[0] == cure
    assert not any("delete" in each for each in cures(found))


def test_own_pods_are_counted() -> None:
    assert not any(each.rule == "foreign-spread" for each in diagnose(decision({"app": "old"}, OLD)))


def revised(pods: dict[str, str], workload: str = "Deployment", **fields: Any) -> Decision:
    """Decide for a pod of a new revision beside old pods on nodes a and b; node c, with the fewest pods, is full.

    Args:
        pods: The revision of the pods of the workload by node, which may have several.
    """
    nodes = [make_node(name, cpu="4" if name != "c" else "0") for name in "abc"]
    key = "pod-template-hash" if workload == "Deployment" else "controller-revision-hash"

    def pod(name: str, hash_: str, node: str = "") -> Pod:
        owner = ("apps/v1", "ReplicaSet", f"web-{hash_}") if workload == "Deployment" else ("apps/v1", workload, "web")
        spec: dict[str, Any] = {"requests": {"cpu": "1"}, "topologySpreadConstraints": spread(**fields)}
        return make_pod(name, node=node, labels={**WEB, key: hash_}, owner=owner, **spec)

    there = [pod(f"web-{i}", hash_, node) for i, (node, hash_) in enumerate(pods.items())]
    sets = [_replica_set(hash_, number) for number, hash_ in enumerate(("old", "new"), 1)]
    return decide(pod("web-new", "new"), make_cluster(nodes, there, *sets))


def _replica_set(hash_: str, revision: int) -> ReplicaSet:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": True}
    metadata = {
        "name": f"web-{hash_}",
        "namespace": "default",
        "annotations": {"deployment.kubernetes.io/revision": str(revision)},
        "ownerReferences": [owner],
    }
    return msgspec.convert(
        {"metadata": metadata, "spec": {"replicas": 1, "selector": {"matchLabels": WEB}}}, ReplicaSet
    )


@pytest.mark.parametrize(
    ("workload", "label", "revision"),
    [
        pytest.param(
            "Deployment", "pod-template-hash", "the old revision old of Deployment default/web", id="Deployment"
        ),
        pytest.param(
            "StatefulSet",
            "controller-revision-hash",
            "the other revision old of StatefulSet default/web",
            id="StatefulSet",
        ),
    ],
)
def test_pods_of_the_old_revision_are_counted(workload: str, label: str, revision: str) -> None:
    found = revised({"a": "old", "b": "old"}, workload)
    assert diagnose(found)[0].cause == (
        f"the spread over {HOSTNAME} also counts 2 pods of {revision}: without them, a and b would be allowed "
        "(maxSkew 1)"
    )
    told = cures(found)
    assert (
        told[0]
        == f"matchLabelKeys: [{label}] in the spread constraint over {HOSTNAME}: each revision is spread by itself"
    )
    assert not any("delete" in each for each in told)


@pytest.mark.parametrize(
    ("pods", "fields"),
    [
        pytest.param({"a": "new", "b": "new"}, {}, id="its own pods stand there"),
        pytest.param({"a": "new", "b": "old"}, {"matchLabelKeys": ["pod-template-hash"]}, id="keyed already"),
    ],
)
def test_the_old_revision_is_not_the_cause(pods: dict[str, str], fields: dict[str, Any]) -> None:
    assert not any(each.rule == "spread-counts-old-revision" for each in diagnose(revised(pods, **fields)))


def test_pods_of_other_workloads_are_counted() -> None:
    tier = {"tier": "back"}
    spec: dict[str, Any] = {
        "requests": {"cpu": "1"},
        "topologySpreadConstraints": spread(labelSelector={"matchLabels": tier}),
    }
    api = [
        make_pod(f"api-{node}", node=node, labels={"app": "api", **tier}, owner=("apps/v1", "StatefulSet", "api"))
        for node in "ab"
    ]
    pod = make_pod("web-0", labels={**WEB, **tier}, owner=("apps/v1", "StatefulSet", "web"), **spec)
    workload = make_object(StatefulSet, "web", namespace="default", spec={"selector": {"matchLabels": WEB}})
    nodes = [make_node(name, cpu="4" if name != "c" else "0") for name in "abc"]
    found = decide(pod, make_cluster(nodes, api, workload))
    assert diagnose(found)[0].cause == (
        f"the spread over {HOSTNAME} also counts 2 pods of StatefulSet default/api, which its labelSelector matches, "
        "too: without them, a and b would be allowed (maxSkew 1)"
    )
    assert cures(found)[0] == (
        f"app=web in the labelSelector of the spread constraint over {HOSTNAME}, so that it counts no other pods"
    )
    assert not any("delete" in each for each in cures(found))


def test_another_constraint_refuses_the_nodes() -> None:
    """A constraint that counts no pods is not the cause."""
    constraints = [*spread(labelSelector={"matchLabels": {**WEB, "tier": "front"}}), *spread(ZONE, minDomains=3)]
    nodes = [make_node(name, zone="z") for name in "ab"]
    labels = {**WEB, "tier": "front", "pod-template-hash": "new"}
    owner = ("apps/v1", "ReplicaSet", "web-new")
    pod = make_pod("web-new", labels=labels, owner=owner, topologySpreadConstraints=constraints)
    pods = [make_pod("x", node="a", labels=WEB)]
    assert [each.rule for each in diagnose(decide(pod, make_cluster(nodes, pods)))] == ["too-few-domains"]
