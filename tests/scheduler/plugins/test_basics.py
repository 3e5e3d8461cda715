from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import BindPlugin, QueueSortPlugin
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.basics import Cordoned, OtherNodeNamed
from tests.builders import decide, fitting, make_cluster, make_node, make_pod, make_profile, reason, said, told

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)


def test_higher_priority_goes_first_then_the_earlier() -> None:
    framework = Scheduler(make_cluster()).framework("default-scheduler")
    (plugin,) = framework.plugins(ExtensionPoint.QUEUE_SORT, QueueSortPlugin)
    queue = [
        (make_pod("low-late", priority=-5), LATER),
        (make_pod("low", priority=-5), NOW),
        (make_pod("none-late", priority=0), LATER),
        (make_pod("high", priority=1000), LATER),
        (make_pod("none", priority=0), NOW),
    ]
    ordered = sorted(queue, key=lambda entry: plugin.sort_key(*entry))
    assert [pod.name for pod, _ in ordered] == ["high", "none", "none-late", "low", "low-late"]


def test_a_pod_without_gates_enters_the_queue() -> None:
    assert decide(make_pod(), make_cluster([make_node()])).pre_enqueue == Status()


def test_gates_are_named_in_their_order() -> None:
    gated = make_pod(schedulingGates=[{"name": "example.com/b"}, {"name": "example.com/a"}])
    decision = decide(gated, make_cluster([make_node()]))
    text = "waiting for scheduling gates: [example.com/b example.com/a]"
    assert decision.pre_enqueue == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), "SchedulingGates")


def test_a_gated_pod_is_not_schedulable_though_it_would_fit() -> None:
    decision = decide(make_pod(schedulingGates=[{"name": "g"}]), make_cluster([make_node("a")]))
    assert decision.best == ("a",)
    assert not decision.schedulable


PLUGIN = "NodeName"
TEXT = "node(s) didn't match the requested node name"


OLDER = RELEASES["1.36"]
NODES = [make_node("a"), make_node("b")]


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        pytest.param("", "a b", id="a pod without a node name fits everywhere"),
        pytest.param("b", "b", id="a pod that names its node fits there only"),
        pytest.param("gone", "", id="a pod that names a node that is not there fits nowhere"),
    ],
)
def test_requested_node(wanted: str, fits: str) -> None:
    decision = decide(make_pod(node=wanted), make_cluster(NODES), release=OLDER)
    assert fitting(decision, PLUGIN) == fits
    assert " ".join(decide(make_pod(node=wanted), make_cluster(NODES)).best) == fits


def test_wording() -> None:
    decision = decide(make_pod(node="b"), make_cluster([make_node("a")]), release=OLDER)
    assert said(decision, PLUGIN, "a") == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (TEXT,))
    assert reason(decision, PLUGIN, "a").detail == "spec.nodeName is b"


@pytest.mark.parametrize(
    ("wanted", "searched", "message"),
    [
        pytest.param("b", [1], "1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeName]", id="to that node"),
        pytest.param("gone", [], "2 node(s) didn't satisfy plugin(s) [NodeName]", id="to none where it is not there"),
    ],
)
def test_from_1_37_on_the_search_is_narrowed(wanted: str, searched: list[int], message: str) -> None:
    decision = decide(make_pod(node=wanted, requests={"cpu": "9"}), make_cluster(NODES))
    assert decision.searched.tolist() == searched
    assert decision.pre_filter is not None
    assert decision.pre_filter.node_names == frozenset({wanted})
    assert decision.message.startswith(f"0/2 nodes are available: {message}. ")


def test_node_affinity_may_leave_nothing_of_it() -> None:
    terms = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    decision = decide(make_pod(node="b", affinity=affinity), make_cluster(NODES))
    text = "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously"
    assert decision.message == f"0/2 nodes are available: {text}. not found"


def test_where_pre_filter_is_off_for_it_the_filter_still_turns_nodes_away() -> None:
    config = make_profile(plugins={"preFilter": {"disabled": [{"name": PLUGIN}]}})
    decision = decide(make_pod(node="b"), make_cluster(NODES), config=config)
    assert said(decision, PLUGIN, "a") == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (TEXT,))


NODE_UNSCHEDULABLE_PLUGIN = "NodeUnschedulable"
KEY = "node.kubernetes.io/unschedulable"
CORDONED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) were unschedulable",))


@pytest.mark.parametrize(
    ("cordoned", "tolerations", "expected"),
    [
        pytest.param(False, [], Status(), id="an open node passes"),
        pytest.param(True, [], CORDONED, id="a cordoned node is out"),
        pytest.param(True, [{"key": KEY, "operator": "Exists"}], Status(), id="unless cordoning is tolerated"),
        pytest.param(True, [{"key": KEY, "effect": "NoSchedule"}], Status(), id="by equality with the empty value"),
        pytest.param(True, [{"operator": "Exists"}], Status(), id="or by tolerating everything"),
        pytest.param(True, [{"key": KEY, "value": "true"}], CORDONED, id="another value does not tolerate it"),
        pytest.param(True, [{"key": KEY, "effect": "NoExecute"}], CORDONED, id="nor does another effect"),
    ],
)
def test_cordoned_nodes(cordoned: bool, tolerations: list[dict[str, Any]], expected: Status) -> None:
    cluster = make_cluster([make_node(unschedulable=cordoned)])
    assert said(decide(make_pod(tolerations=tolerations), cluster), NODE_UNSCHEDULABLE_PLUGIN) == expected


def test_detail() -> None:
    decision = decide(make_pod(), make_cluster([make_node(unschedulable=True)]))
    assert reason(decision, NODE_UNSCHEDULABLE_PLUGIN).detail == "the node is cordoned"


def test_every_binding_is_accepted() -> None:
    framework = Scheduler(make_cluster([make_node()])).framework("default-scheduler")
    (plugin,) = framework.plugins(ExtensionPoint.BIND, BindPlugin)
    assert plugin.name == "DefaultBinder"
    assert plugin.bind(CycleState(), make_pod(), "node") == Status()


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(OtherNodeNamed("b"), "spec.nodeName is b", {"nodeName": "b"}, id="another node"),
        pytest.param(Cordoned(), "the node is cordoned", {}, id="cordoned"),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
