from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.core import Service
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.workload import ReplicaSet, ReplicationController, StatefulSet
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import SkewTooHigh
from kschedctl.scheduler.plugins.topology import NoTopologyLabel
from tests.builders import (
    HOSTNAME,
    ZONE,
    decide,
    fitting,
    make_args,
    make_cluster,
    make_node,
    make_object,
    make_pod,
    raw_scores,
    reason,
    said,
    scores,
    told,
)
from tests.reference import pod_topology_spread as reference
from tests.strategies import pods, worlds

PLUGIN = "PodTopologySpread"
TEXT = "node(s) didn't match pod topology spread constraints"
SKEW = Status(Code.UNSCHEDULABLE, (TEXT,))
LABEL = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"{TEXT} (missing required label)",))
WEB = {"app": "web"}
#: Two nodes in zone a, one in zone b, one in no zone.
NODES = [make_node("a1", zone="a"), make_node("a2", zone="a"), make_node("b1", zone="b"), make_node("none")]


def hard(key: str = ZONE, max_skew: int = 1, **fields: Any) -> dict[str, Any]:
    selector = {"labelSelector": {"matchLabels": WEB}}
    return {"topologyKey": key, "maxSkew": max_skew, "whenUnsatisfiable": "DoNotSchedule", **selector, **fields}


def soft(key: str = ZONE, max_skew: int = 1, **fields: Any) -> dict[str, Any]:
    return {**hard(key, max_skew, **fields), "whenUnsatisfiable": "ScheduleAnyway"}


def web(*constraints: dict[str, Any], **fields: Any) -> Pod:
    return make_pod(**{"labels": WEB, **fields}, topologySpreadConstraints=list(constraints))


def running(where: str, **fields: Any) -> list[Pod]:
    """Web pods on the nodes of a list of names, such as ``a1 a1 b1``."""
    return [make_pod(f"r{i}", node=node, **{"labels": WEB, **fields}) for i, node in enumerate(where.split())]


@pytest.mark.parametrize(
    ("constraints", "where", "fits"),
    [
        pytest.param([hard()], "", "a1 a2 b1", id="0 and 0: 0 + 1 - 0 = 1 everywhere"),
        pytest.param([hard()], "a1", "b1", id="1 and 0: a 1 + 1 - 0 = 2, b 0 + 1 - 0 = 1"),
        pytest.param([hard()], "a1 b1", "a1 a2 b1", id="1 and 1: 1 + 1 - 1 = 1"),
        pytest.param([hard()], "a1 a2 b1", "b1", id="pods of all nodes of a zone add up: 2 and 1"),
        pytest.param([hard(max_skew=2)], "a1", "a1 a2 b1", id="a larger skew is allowed: 1 + 1 - 0 = 2"),
        pytest.param([hard(HOSTNAME)], "a1", "a2 b1 none", id="every node a domain"),
        pytest.param([hard(), hard(HOSTNAME)], "a1 b1", "a2", id="both, over nodes with both labels"),
        pytest.param([hard(minDomains=2)], "a1 b1", "a1 a2 b1", id="2 domains there are: the least is 1"),
        pytest.param([hard(minDomains=3)], "a1 b1", "", id="3 are wanted: the least is 0, 1 + 1 - 0 = 2"),
        pytest.param([hard(minDomains=3, max_skew=2)], "a1 b1", "a1 a2 b1", id="and 2 allowed"),
        pytest.param([soft()], "a1 a1 a1", "a1 a2 b1 none", id="soft constraints turn nothing away"),
    ],
)
def test_hard_constraints(constraints: list[dict[str, Any]], where: str, fits: str) -> None:
    assert fitting(decide(web(*constraints), make_cluster(NODES, running(where))), PLUGIN) == fits


def test_wording() -> None:
    decision = decide(web(hard()), make_cluster(NODES, running("a1 a2")))
    assert {name: said(decision, PLUGIN, name) for name in ("a1", "a2", "b1", "none")} == {
        "a1": SKEW,
        "a2": SKEW,
        "b1": Status(),
        "none": LABEL,
    }
    assert reason(decision, PLUGIN, "none").detail == f"node has no label {ZONE}"
    found = reason(decision, PLUGIN, "a2")
    assert found.detail == f"{ZONE}=a has 2 matching, fewest 0: skew 3, allowed 1"
    assert found.data["domains"] == {"a": 2, "b": 0}


@pytest.mark.parametrize(
    ("others", "fits"),
    [
        pytest.param(running("a1", labels={"app": "db"}), "a1 a2 b1", id="pods that are not selected do not count"),
        pytest.param(running("a1", namespace="other"), "a1 a2 b1", id="nor those of other namespaces"),
        pytest.param(running("a1", terminating=True), "a1 a2 b1", id="nor terminating ones"),
        pytest.param(running("none"), "a1 a2 b1", id="nor those on nodes without the label"),
    ],
)
def test_which_pods_count(others: list[Pod], fits: str) -> None:
    assert fitting(decide(web(hard()), make_cluster(NODES, others)), PLUGIN) == fits


@pytest.mark.parametrize(
    ("pod", "fits"),
    [
        # Two pods in zone a, none in zone b; 1 is allowed.
        pytest.param(web(hard()), "b1", id="a 2 + 1 - 0 = 3, b 0 + 1 - 0 = 1"),
        pytest.param(web(hard(max_skew=2), labels={"app": "db"}), "a1 a2 b1", id="the pod need not match: a 2 + 0 - 0"),
        pytest.param(web(hard(labelSelector={})), "a1 a2 b1", id="an empty selector counts nothing but the pod itself"),
        pytest.param(web(hard(labelSelector=None)), "a1 a2 b1", id="no selector counts nothing at all"),
    ],
)
def test_selectors(pod: Pod, fits: str) -> None:
    assert fitting(decide(pod, make_cluster(NODES, running("a1 a2"))), PLUGIN) == fits


@pytest.mark.parametrize(
    ("selector", "labels", "old", "new"),
    [
        # Two pods in zone a, none in zone b; 1 is allowed.
        pytest.param({}, WEB, "a1 a2 b1", "b1", id="an empty selector: none, then every pod of the namespace"),
        pytest.param({}, {}, "a1 a2 b1", "b1", id="pods without labels too"),
        pytest.param({"matchLabels": {}}, WEB, "a1 a2 b1", "b1", id="no labels in it are the same"),
        pytest.param({"matchLabels": WEB}, WEB, "b1", "b1", id="a selector with labels: as before"),
        pytest.param(None, WEB, "a1 a2 b1", "a1 a2 b1", id="no selector: nothing in both"),
    ],
)
def test_empty_selector_in_the_filter(
    selector: dict[str, Any] | None, labels: dict[str, str], old: str, new: str
) -> None:
    """In 1.37 a constraint with an empty selector counts no pod, in 1.38 all pods of the namespace."""
    cluster = make_cluster(NODES, running("a1 a2", labels=labels))
    found = {
        version: fitting(decide(web(hard(labelSelector=selector)), cluster, release=RELEASES[version]), PLUGIN)
        for version in ("1.37", "1.38")
    }
    assert found == {"1.37": old, "1.38": new}


def test_empty_selector_does_not_count_other_namespaces() -> None:
    cluster = make_cluster(NODES, running("a1 a2", namespace="other"))
    assert fitting(decide(web(hard(labelSelector={})), cluster, release=RELEASES["1.38"]), PLUGIN) == "a1 a2 b1"


@pytest.mark.parametrize(
    ("version", "gate", "fits"),
    [
        # v1 pods are in a, v2 pods in b; the pod is of v2.
        pytest.param("1.36", True, "a1 a2", id="pods of other versions do not count: a 0, b 1"),
        pytest.param("1.36", False, "a1 a2 b1", id="with the gate off they do: a 1, b 1"),
    ],
)
def test_match_label_keys(version: str, gate: bool, fits: str) -> None:
    v1 = make_pod("v1", node="a1", labels={**WEB, "version": "1"})
    v2 = make_pod("v2", node="b1", labels={**WEB, "version": "2"})
    pod = web(hard(matchLabelKeys=["version", "absent"]), labels={**WEB, "version": "2"})
    release = RELEASES[version].with_features({"MatchLabelKeysInPodTopologySpread": gate})
    assert fitting(decide(pod, make_cluster(NODES, [v1, v2]), release=release), PLUGIN) == fits


#: Zone c is empty, but neither selected by the pod nor free of taints.
TAINTED_C = make_node("c1", zone="c", labels={"disk": "hdd"}, taints=["x:NoSchedule"])
SSD = [make_node("a1", zone="a", labels={"disk": "ssd"}), make_node("b1", zone="b", labels={"disk": "ssd"}), TAINTED_C]


@pytest.mark.parametrize(
    ("policies", "selector", "fits"),
    [
        # 1 pod each in a and b. Where zone c counts, the least is 0 and a and b are full.
        pytest.param({}, {}, "c1", id="by default taints are ignored: c counts"),
        pytest.param({}, {"disk": "ssd"}, "a1 b1 c1", id="and affinity is honoured: c does not count"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, {}, "a1 b1 c1", id="taints honoured: c does not count"),
        pytest.param({"nodeAffinityPolicy": "Ignore"}, {"disk": "ssd"}, "c1", id="affinity ignored: c counts"),
        pytest.param(
            {"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}, {"disk": "ssd"}, "a1 b1 c1", id="both set"
        ),
    ],
)
def test_inclusion_policies(policies: dict[str, Any], selector: dict[str, str], fits: str) -> None:
    decision = decide(web(hard(**policies), nodeSelector=selector), make_cluster(SSD, running("a1 b1")))
    # Whether c itself passes this filter does not matter: selector or taint keep the pod away.
    assert fitting(decision, PLUGIN) == fits


def test_nodes_without_any_of_the_labels_do_not_count_for_the_others() -> None:
    nodes = [make_node("a1", zone="a"), make_node("b1", zone="b"), make_node("c1", zone="c", labels={"rack": "r"})]
    pod = web(hard(), hard("rack"))
    # Only c1 has both labels, so zone c with its one pod is the only domain: 1 + 1 - 1.
    decision = decide(pod, make_cluster(nodes, running("c1")))
    assert fitting(decision, PLUGIN) == "c1"


def test_a_nominated_pod_counts_on_its_own_node() -> None:
    waiting = make_pod("waiting", nominated="a1", labels=WEB)
    decision = decide(web(hard(HOSTNAME)), make_cluster(NODES, [waiting]))
    assert decision.node("a1").status == Status(Code.UNSCHEDULABLE, (TEXT,), PLUGIN)
    assert decision.node("a2").feasible


def test_a_broken_selector_is_an_error() -> None:
    broken = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    decision = decide(web(hard(labelSelector=broken)), make_cluster(NODES))
    assert decision.error.startswith('running PreFilter plugin "PodTopologySpread"')


@pytest.mark.parametrize(
    ("constraints", "where", "raw", "normalized"),
    [
        # count * log(domains + 2) + maxSkew - 1, rounded; then 100 * (most + least - raw) // most.
        # Three nodes in two zones: log(4) = 1.386; three hosts: log(5) = 1.609.
        pytest.param([soft()], "", (0, 0, 0), (100, 100, 100), id="no pods"),
        pytest.param([soft()], "a1 a2", (3, 3, 0), (0, 0, 100), id="2 in a: 2 * 1.386 = 2.77"),
        pytest.param([soft()], "a1 a2 a2 b1", (4, 4, 1), (25, 25, 100), id="3 and 1: 4.16 and 1.39"),
        pytest.param([soft(max_skew=3)], "a1 a2", (5, 5, 2), (40, 40, 100), id="maxSkew - 1 on top: 4.77 and 2"),
        pytest.param([soft(HOSTNAME)], "a1 a1 a2", (3, 2, 0), (0, 33, 100), id="hosts: 2 and 1 times 1.609"),
        pytest.param(
            [soft(), soft(HOSTNAME)], "a1 a1 a2", (7, 6, 0), (0, 14, 100), id="both: 4.16 + 3.22 and 4.16 + 1.61"
        ),
    ],
)
def test_soft_constraints(
    constraints: list[dict[str, Any]], where: str, raw: tuple[int, ...], normalized: tuple[int, ...]
) -> None:
    decision = decide(web(*constraints), make_cluster(NODES[:3], running(where)))
    names = ("a1", "a2", "b1")
    assert raw_scores(decision, PLUGIN) == dict(zip(names, raw, strict=True))
    assert scores(decision, PLUGIN) == dict(zip(names, normalized, strict=True))


@pytest.mark.parametrize(
    ("extra", "constraints", "raw"),
    [
        # Pods on a1 a1 a2. Only nodes that are feasible and have all labels make domains.
        pytest.param(
            make_node("none"),
            [soft(), soft(HOSTNAME)],
            (7, 6, 0),
            id="3 hosts with a zone: 3 log(4) + 2 or 1 times log(5)",
        ),
        pytest.param(make_node("c1", zone="c"), [soft()], (5, 5, 0), id="3 zones: 3 log(5) = 4.83"),
        pytest.param(
            make_node("c1", zone="c", taints=["x:NoSchedule"]),
            [soft()],
            (4, 4, 0),
            id="2 feasible zones: 3 log(4) = 4.16",
        ),
        pytest.param(
            make_node("c1", zone="c", taints=["x:NoSchedule"]),
            [soft(HOSTNAME)],
            (3, 2, 0),
            id="3 feasible hosts: log(5)",
        ),
    ],
)
def test_which_nodes_make_domains_for_scoring(
    extra: Any, constraints: list[dict[str, Any]], raw: tuple[int, ...]
) -> None:
    found = raw_scores(decide(web(*constraints), make_cluster([*NODES[:3], extra], running("a1 a1 a2"))), PLUGIN)
    assert found is not None
    assert (found["a1"], found["a2"], found["b1"]) == raw


def test_a_pod_nominated_to_a_node_that_does_not_count_changes_nothing() -> None:
    # The pod cannot run on a1, so that pods there do not count; otherwise zone a had 1 + 1 - 0 = 2.
    nodes = [make_node("a1", zone="a", labels={"disk": "hdd"}), make_node("b1", zone="b", labels={"disk": "ssd"})]
    waiting = make_pod("waiting", nominated="a1", labels=WEB)
    pod = web(hard(), nodeSelector={"disk": "ssd"})
    statuses = decide(pod, make_cluster(nodes, [waiting])).statuses
    assert statuses is not None
    assert statuses.nominated is not None
    assert statuses.nominated.rejections[PLUGIN].status(0) == Status()


def test_nodes_without_the_label_score_0() -> None:
    assert scores(decide(web(soft()), make_cluster(NODES)), PLUGIN) == {"a1": 100, "a2": 100, "b1": 100, "none": 0}


@pytest.mark.parametrize(
    ("selector", "old", "new"),
    [
        pytest.param({}, {"a1": 100, "a2": 100, "b1": 100}, {"a1": 0, "a2": 0, "b1": 100}, id="an empty selector"),
        pytest.param({"matchLabels": WEB}, {"a1": 0, "a2": 0, "b1": 100}, {"a1": 0, "a2": 0, "b1": 100}, id="labels"),
    ],
)
def test_empty_selector_in_the_score(selector: dict[str, Any], old: dict[str, int], new: dict[str, int]) -> None:
    cluster = make_cluster(NODES[:3], running("a1 a2"))
    pod = web(soft(labelSelector=selector))
    found = {version: scores(decide(pod, cluster, release=RELEASES[version]), PLUGIN) for version in ("1.37", "1.38")}
    assert found == {"1.37": old, "1.38": new}


def test_a_pod_without_constraints_skips() -> None:
    decision = decide(make_pod(), make_cluster(NODES))
    assert PLUGIN in decision.state.skip_filter_plugins
    assert scores(decision, PLUGIN) is None


def service(**selector: str) -> Service:
    return make_object(Service, "web", namespace="default", spec={"selector": selector})


def owned(api_version: str, kind: str) -> Pod:
    return make_pod(labels=WEB, owner=(api_version, kind, "web"))


MATCH = {"selector": {"matchLabels": WEB}}


@pytest.mark.parametrize(
    ("pod", "objects", "spreads"),
    [
        pytest.param(make_pod(labels=WEB), [service(**WEB)], True, id="the pods of a Service"),
        pytest.param(make_pod(labels=WEB), [service(app="db")], False, id="not of another Service"),
        pytest.param(make_pod(labels=WEB), [service()], False, id="a Service without a selector selects nothing"),
        pytest.param(make_pod(labels=WEB, namespace="other"), [service(**WEB)], False, id="nor one elsewhere"),
        pytest.param(
            owned("apps/v1", "ReplicaSet"),
            [make_object(ReplicaSet, "web", namespace="default", spec=MATCH)],
            True,
            id="the pods of a ReplicaSet",
        ),
        pytest.param(
            owned("apps/v1", "StatefulSet"),
            [make_object(StatefulSet, "web", namespace="default", spec=MATCH)],
            True,
            id="of a StatefulSet",
        ),
        pytest.param(
            owned("v1", "ReplicationController"),
            [make_object(ReplicationController, "web", namespace="default", spec={"selector": WEB})],
            True,
            id="of a ReplicationController",
        ),
        pytest.param(owned("batch/v1", "Job"), [], False, id="not of a Job"),
        pytest.param(owned("apps/v1", "ReplicaSet"), [], False, id="nor of a ReplicaSet that is not there"),
    ],
)
def test_default_spreading(pod: Pod, objects: list[Any], spreads: bool) -> None:
    others = running("a1 a2 b1", namespace=pod.namespace)
    found = raw_scores(decide(pod, make_cluster(NODES[:3], others, *objects)), PLUGIN)
    # Hosts with maxSkew 3: 1 * log(5) + 2; zones with maxSkew 5: 2 or 1 times log(4) + 4.
    assert found == ({"a1": 10, "a2": 10, "b1": 9} if spreads else None)


def test_default_spreading_scores_nodes_without_a_zone() -> None:
    decision = decide(make_pod(labels=WEB), make_cluster(NODES, running("a1 b1"), service(**WEB)))
    # Four hosts, log(6) = 1.792; the node without a zone is a zone of its own, log(5) = 1.609.
    assert raw_scores(decision, PLUGIN) == {"a1": 9, "a2": 8, "b1": 9, "none": 2}


@pytest.mark.parametrize(
    ("args", "fits"),
    [
        pytest.param({"defaultConstraints": [], "defaultingType": "List"}, "a1 a2 b1 none", id="none"),
        pytest.param(
            {
                "defaultConstraints": [{"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
                "defaultingType": "List",
            },
            "b1",
            id="hard ones",
        ),
    ],
)
def test_defaults_of_the_profile(args: dict[str, Any], fits: str) -> None:
    cluster = make_cluster(NODES, running("a1"), service(**WEB))
    decision = decide(make_pod(labels=WEB), cluster, config=make_args(PodTopologySpread=args))
    assert fitting(decision, PLUGIN) == fits


def test_own_constraints_replace_the_defaults() -> None:
    cluster = make_cluster(NODES[:3], running("a1 a2"), service(**WEB))
    assert raw_scores(decide(web(hard(max_skew=9)), cluster), PLUGIN) is None


@given(st.data())
def test_equals_the_slow_reference(data: st.DataObject) -> None:
    world = data.draw(worlds(of_nodes=("labels", "taints")))
    pod = data.draw(pods("spread", "tolerations", "nodeSelector"))
    decision = decide(pod, world.cluster)
    codes = {"fits": Status(), "skew": SKEW, "label": LABEL}
    verdicts = reference.verdicts(pod, world.nodes, world.pods)
    assert {node: said(decision, PLUGIN, node) for node in verdicts} == {
        node: codes[verdict] for node, verdict in verdicts.items()
    }
    if decision.scores is None:
        return
    found = scores(decision, PLUGIN)
    if found is not None:
        feasible = [node for node in world.nodes if node.name in found]
        assert found == reference.scores(pod, world.nodes, world.pods, feasible)


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            SkewTooHigh("zone", "a", 2, 0, 3, 1, {"a": 2, "b": 0}),
            "zone=a has 2 matching, fewest 0: skew 3, allowed 1",
            {
                "topologyKey": "zone",
                "domain": "a",
                "matching": 2,
                "minimum": 0,
                "skew": 3,
                "maxSkew": 1,
                "domains": {"a": 2, "b": 0},
            },
            id="with its domains",
        ),
        pytest.param(
            SkewTooHigh("host", "n7", 1, 0, 2, 1),
            "host=n7 has 1 matching, fewest 0: skew 2, allowed 1",
            {"topologyKey": "host", "domain": "n7", "matching": 1, "minimum": 0, "skew": 2, "maxSkew": 1},
            id="too many domains to show",
        ),
        pytest.param(NoTopologyLabel("zone"), "node has no label zone", {"topologyKey": "zone"}, id="no label"),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
