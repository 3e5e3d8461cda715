"""The scheduling cycle of groups: its texts, nominations, victims and conditions in both releases."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from kschedctl.objects.core import Condition, Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroupStatus
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.cycle.pod_group_cycle import schedule_pod_group
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import (
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    Plugin,
    ReservePlugin,
)
from kschedctl.scheduler.framework.pod_groups import Placement, PlacementProgress, PodGroupInfo
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import make_cluster, make_members, make_node, make_pod_group, make_profile, with_groups
from tests.scheduler.framework.plugins import make_plugin
from tests.scheduler.preemption.small_clusters import running

V36, V37 = with_groups("1.36"), with_groups("1.37")
WITHOUT_GROUP_PREEMPTION = with_groups("1.36", WorkloadAwarePreemption=False)
TOPOLOGY_36, TOPOLOGY_37 = with_groups("1.36", topology=True), with_groups("1.37", topology=True)
OWN_POLICY = with_groups("1.37", PodGroupPreemptionPolicy=True)
RACK = "example.com/rack"
NOTHING = "No preemption victims found for incoming preemptor"
FAILED = "pod group is unschedulable"
WAITS = (
    f"{FAILED}, waiting for minCount pods from a gang to be scheduled, one or more plugins asked to wait and no plugin"
)
WAITS += " rejected pod"
NONE_OF_1 = "0/1 nodes are available: 1 Insufficient cpu."
NO_CLAIMS = " no new claims to deallocate, preemption: "
BY_GROUP = f"{NONE_OF_1}{NO_CLAIMS}not eligible due to workload aware preemption enabled"
BY_MEMBER = f"{NONE_OF_1}{NO_CLAIMS}0/1 nodes are available: 1 No preemption victims found for incoming pod."


def decide(
    release: Release,
    pods: Sequence[Pod],
    *objects: ApiObject,
    nodes: Sequence[Node] = (make_node("a", cpu="4"),),
    others: Sequence[Pod] = (),
    plugins: Mapping[str, type[Plugin]] | None = None,
    without: str = "",
) -> PodGroupDecision:
    """Return the decision for members; with plugins of others at all of their extension points, and without one."""
    registry = in_tree_registry()
    registry.merge(plugins or {})
    points, types = registry.extension_points(release), registry.args_types
    disabled = [{"name": without}] if without else []
    enabled = [{"name": name} for name in plugins or {}]
    config = make_profile(plugins={"multiPoint": {"enabled": enabled, "disabled": disabled}})
    loaded = load_configuration(config, release=release, implements=points, args_types=types)
    scheduler = Scheduler(make_cluster(nodes, [*pods, *others], *objects), release, loaded, Registry(registry))
    return schedule_pod_group(scheduler.framework("default-scheduler"), pods)


def members(n: int, cpu: str = "1", **fields: Any) -> list[Pod]:
    return make_members(" ".join(f"m{i}" for i in range(n)), requests={"cpu": cpu}, **fields)


def texts(decision: PodGroupDecision) -> dict[str, str]:
    """Return the node in brackets or the message of every member."""
    return {each.pod.name: f"[{each.node}]" if each.node else each.message for each in decision.members}


def nominations(decision: PodGroupDecision) -> dict[str, str | None]:
    return {each.pod.name: each.nominated for each in decision.members}


def victims(decision: PodGroupDecision) -> str:
    return " ".join(decision.cluster.pods.key(index).removeprefix("default/") for index in decision.victims)


# What a group comes to without anybody to evict.


@pytest.mark.parametrize(
    ("release", "n", "min_count", "group", "expected"),
    [
        pytest.param(V36, 3, 3, "", ["[a]"] * 3, id="1.36: all fit"),
        pytest.param(V37, 3, 3, "", ["[a]"] * 3, id="1.37: all fit"),
        pytest.param(V36, 5, 3, "", ["[a]"] * 4 + [BY_GROUP], id="1.36: the rest beyond minCount is bound too"),
        pytest.param(V37, 5, 3, "", ["[a]"] * 4 + [NONE_OF_1], id="1.37: PostFilter never runs for a member"),
        pytest.param(V36, 5, 5, f"{FAILED}, {NOTHING}", [WAITS] * 4 + [BY_GROUP], id="1.36: one too few"),
        pytest.param(
            V37,
            5,
            5,
            f"minCount (5) cannot be satisfied: 4 scheduled, 0 remaining, pod group preemption: {NOTHING}",
            [f"{FAILED}, minCount (5) cannot be satisfied: 4 scheduled, 0 remaining, pod group preemption: {NOTHING}"]
            * 4
            + [NONE_OF_1],
            id="1.37: one too few",
        ),
        pytest.param(V36, 5, None, "", ["[a]"] * 4 + [BY_GROUP], id="1.36: the basic policy"),
        pytest.param(V37, 5, None, "", ["[a]"] * 4 + [NONE_OF_1], id="1.37: the basic policy"),
        pytest.param(WITHOUT_GROUP_PREEMPTION, 5, 5, FAILED, [WAITS] * 4 + [BY_MEMBER], id="no addition"),
    ],
)
def test_outcome(release: Release, n: int, min_count: int | None, group: str, expected: list[str]) -> None:
    decision = decide(release, members(n), make_pod_group(min_count=min_count))
    assert decision.status.message == group
    assert texts(decision) == {f"m{i}": text for i, text in enumerate(expected)}
    assert decision.outcome is (GroupOutcome.UNSCHEDULABLE if group else GroupOutcome.SCHEDULED)
    assert not any(each.nominated for each in decision.members)


def test_1_37_ends_before_the_first_member_if_too_few_are_left() -> None:
    """DynamicResources has prepared for no member then, which its PodGroupPostFilter reports as an error."""
    decision = decide(V37, members(2), make_pod_group(min_count=3))
    error = 'error in "DynamicResources" PodGroupPostFilter plugins: not found'
    assert decision.status.message == error
    assert texts(decision) == {"m0": error, "m1": error}


def test_1_37_counts_placements_even_if_too_few_members_are_left_for_any() -> None:
    group = make_pod_group(min_count=3, topology_key=RACK)
    decision = decide(TOPOLOGY_37, members(2), group, nodes=RACKS)
    tried = f"{FAILED}, 0/2 placements are available, first placement status: {FAILED}"
    assert decision.status.message == f"{tried}, pod group preemption: {NOTHING}"
    assert texts(decision) == {"m0": tried, "m1": tried}


# The checks before the first member.

TOGETHER = "all pods in a single pod group should have the same"


@pytest.mark.parametrize(
    ("release", "pods", "others", "group", "problem"),
    [
        pytest.param(
            V36,
            members(1) + make_members("other", schedulerName="second"),
            [],
            {},
            f'{TOGETHER} .spec.schedulerName set, got: "second" and "default-scheduler"',
            id="1.36: two schedulers",
        ),
        pytest.param(
            V37,
            members(1),
            make_members("bound", schedulerName="second", node="a"),
            {},
            f'{TOGETHER} .spec.schedulerName set, got: "second" and "default-scheduler"',
            id="1.37: a bound member counts too",
        ),
        pytest.param(V36, members(1), make_members("b", schedulerName="x", node="a"), {}, "", id="1.36: it does not"),
        pytest.param(
            V37,
            members(2, priority=5),
            [],
            {"priority": 7},
            f"{TOGETHER} priority as the pod group's priority, got 5 and 7",
            id="1.37: another priority",
        ),
        pytest.param(V36, members(2, priority=5), [], {"priority": 7}, "", id="1.36: priorities may differ"),
        pytest.param(
            V37,
            members(1) + make_members("never", preemptionPolicy="Never"),
            [],
            {},
            f"{TOGETHER} preemption policy, got Never and PreemptLowerPriority",
            id="1.37: another preemption policy",
        ),
        pytest.param(
            OWN_POLICY,
            members(1, preemptionPolicy="Never"),
            [],
            {},
            f"{TOGETHER} preemption policy as the pod group's preemption policy, got Never and PreemptLowerPriority",
            id="1.37: another policy than the group's",
        ),
        pytest.param(
            OWN_POLICY, members(2, preemptionPolicy="Never"), [], {"preemptionPolicy": "Never"}, "", id="1.37: the same"
        ),
    ],
)
def test_members_that_do_not_belong_together(
    release: Release, pods: list[Pod], others: list[Pod], group: dict[str, Any], problem: str
) -> None:
    decision = decide(release, pods, make_pod_group(min_count=1, **group), others=others)
    assert decision.status.message == problem
    assert (decision.outcome is GroupOutcome.ERROR) == bool(problem)
    if problem:
        assert set(texts(decision).values()) == {problem}
        # Only 1.37 writes it into a condition.
        expected = Condition(
            type="PodGroupInitiallyScheduled", status="False", reason="SchedulerError", message=problem
        )
        assert decision.condition == (expected if release.pod_groups is not V36.pod_groups else None)


@pytest.mark.parametrize(
    ("release", "group"),
    [
        pytest.param(
            WITHOUT_GROUP_PREEMPTION,
            'failed to schedule other pod from a pod group: running Permit plugin "GangScheduling": '
            "failed to get podGroup default/gang: "
            'podgroup.scheduling.k8s.io "gang" not found',
            id="1.36",
        ),
        pytest.param(TOPOLOGY_36, 'podgroup.scheduling.k8s.io "gang" not found', id="1.36 with placements"),
        pytest.param(
            with_groups("1.36", GangScheduling=False, WorkloadAwarePreemption=False), "", id="1.36 without the plugin"
        ),
    ],
)
def test_a_group_that_was_deleted(release: Release, group: str) -> None:
    decision = decide(release, members(2))
    assert decision.status.message == group
    assert decision.condition is None


def test_an_error_of_a_member_ends_the_attempt() -> None:
    def fail(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> Status:
        return Status(Code.ERROR, ("disk on fire",)) if pod.name == "bad" else Status()

    def unreserve(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> None:
        return None

    plugin = make_plugin("Fire", ReservePlugin, reserve=fail, unreserve=unreserve)
    (bad,) = make_members("bad", requests={"cpu": "1"})
    for release in (V36, V37):
        pods = [*members(1), bad, *make_members("last")]
        decision = decide(release, pods, make_pod_group(min_count=2), plugins={"Fire": plugin})
        error = 'running Reserve plugin "Fire": disk on fire'
        whole = f"failed to schedule other pod from a pod group: {error}"
        assert decision.status.message == whole
        assert texts(decision) == {"m0": whole, "bad": error, "last": whole}
        assert all(each.is_error for each in decision.members)
        assert decision.outcome is GroupOutcome.ERROR


# Preemption.

FOUND = "pod group preemption: found a placement for podgroup, preempting {} victims"
LOW = [running("low-a", "a", "3"), running("low-b", "b", "3")]
TWO = (make_node("a", cpu="4"), make_node("b", cpu="4"))
BOTH = "0/2 nodes are available: 2 Insufficient cpu."


def test_1_36_preempts_by_group_and_says_nothing() -> None:
    decision = decide(V36, members(2, "3", priority=5), make_pod_group(min_count=2, priority=5), nodes=TWO, others=LOW)
    eligible = f"{BOTH}{NO_CLAIMS}not eligible due to workload aware preemption enabled"
    assert texts(decision) == {"m0": eligible, "m1": eligible}
    assert decision.status.message == FAILED
    assert victims(decision) == "low-a low-b"
    # Only members that had a node in the first try are nominated.
    assert not any(nominations(decision).values())
    assert decision.outcome is GroupOutcome.PREEMPTING


def test_1_37_preempts_by_group_and_says_how_many() -> None:
    decision = decide(V37, members(2, "3", priority=5), make_pod_group(min_count=2, priority=5), nodes=TWO, others=LOW)
    reason = f"minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, {FOUND.format(2)}"
    assert decision.status.message == reason
    assert texts(decision) == {"m0": BOTH, "m1": "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"}
    assert victims(decision) == "low-a low-b"
    assert nominations(decision) == {"m0": "a", "m1": "b"}
    assert decision.condition == Condition(
        type="PodGroupInitiallyScheduled", status="False", reason="Unschedulable", message=reason
    )


def test_1_36_members_preempt_by_themselves_without_the_gate() -> None:
    """Victims go at once; members that fit are nominated, and nobody is bound before the victims are gone."""
    decision = decide(
        WITHOUT_GROUP_PREEMPTION, members(2, "3", priority=5), make_pod_group(min_count=2), nodes=TWO, others=LOW[:1]
    )
    waits = f"{FAILED}, pod group is waiting for preemption to complete"
    assert texts(decision) == {"m0": waits, "m1": BOTH}
    assert decision.status.message == waits
    assert nominations(decision) == {"m0": "b", "m1": "a"}
    assert decision.members[1].preempts_on == "a"
    assert decision.victims == ()


@pytest.mark.parametrize(
    ("release", "pods", "group", "reason"),
    [
        pytest.param(V36, members(1, "3", priority=5), {}, NOTHING, id="1.36: the group's priority counts"),
        pytest.param(
            V36,
            members(1, "3", preemptionPolicy="Never", priority=5),
            {"priority": 5},
            "not eligible due to preemptionPolicy=Never.",
            id="1.36: Never",
        ),
        pytest.param(
            V37,
            members(1, "3", preemptionPolicy="Never", priority=5),
            {"priority": 5},
            "deallocation and deletion of ResourceClaims completed, pod group preemption: "
            "not eligible due to preemptionPolicy=Never.",
            id="1.37: Never",
        ),
        pytest.param(V37, members(1, "3"), {}, f"pod group preemption: {NOTHING}", id="1.37: nobody of lower priority"),
        pytest.param(
            V37,
            members(1, "5", priority=5),
            {"priority": 5},
            "deallocation and deletion of ResourceClaims completed, pod group preemption: "
            "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining",
            id="1.37: does not fit without the victims either",
        ),
        pytest.param(V36, members(1, "5", priority=5), {"priority": 5}, FAILED, id="1.36: the same"),
        pytest.param(
            TOPOLOGY_36,
            members(1, "3", priority=5),
            {"priority": 5, "topology_key": "kubernetes.io/hostname"},
            "workload aware preemption is not supported for pod groups with scheduling constraints",
            id="1.36: constraints",
        ),
    ],
)
def test_preemption_that_does_not_help(release: Release, pods: list[Pod], group: dict[str, Any], reason: str) -> None:
    decision = decide(release, pods, make_pod_group(min_count=1, **group), nodes=TWO, others=LOW)
    assert decision.status.message.endswith(f", {reason}")
    assert decision.victims == ()
    assert decision.outcome is GroupOutcome.UNSCHEDULABLE


def test_1_37_waits_for_earlier_victims() -> None:
    """A pod of lower priority that terminates by preemption on a nominated node: no new try, nominations stay."""
    evicted = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
    low = running("low", "a", "3", terminating=True, status=evicted)
    pods = members(1, "3", priority=5, nominated="a")
    decision = decide(V37, pods, make_pod_group(min_count=1, priority=5), others=[low])
    assert decision.status.message.endswith(", pod group preemption: ongoing preemption on nominated nodes")
    assert (nominations(decision), decision.victims) == ({"m0": "a"}, ())
    assert decision.waits_for_victims


# Topology.

RACKS = [make_node(f"{rack}{i}", cpu="2", labels={RACK: rack}) for rack in "xy" for i in range(2)]


@pytest.mark.parametrize("release", [TOPOLOGY_36, TOPOLOGY_37], ids=["1.36", "1.37"])
def test_all_members_are_in_one_domain(release: Release) -> None:
    full = [running("r", "x0", "1")]
    decision = decide(release, members(4), make_pod_group(min_count=4, topology_key=RACK), nodes=RACKS, others=full)
    assert {each.node[0] for each in decision.members} == {"y"}
    assert [(each.placement.name, decision.n_fitting_in(each)) for each in decision.placements] == [("x", 3), ("y", 4)]
    assert decision.chosen is not None
    assert decision.chosen.name == "y"


@pytest.mark.parametrize("release", [TOPOLOGY_36, TOPOLOGY_37], ids=["1.36", "1.37"])
@pytest.mark.parametrize(
    ("others", "chosen"),
    [
        pytest.param([], "x", id="equals: the first name"),
        pytest.param([running("r", "y0", "1")], "y", id="the fuller one"),
    ],
)
def test_of_several_domains_the_best_is_taken(release: Release, others: list[Pod], chosen: str) -> None:
    group = make_pod_group(min_count=2, topology_key=RACK)
    decision = decide(release, members(2), group, nodes=RACKS, others=others)
    assert {each.node[0] for each in decision.members} == {chosen}


@pytest.mark.parametrize(
    ("release", "key", "group", "member"),
    [
        pytest.param(
            TOPOLOGY_36,
            RACK,
            f"0/2 placements are available, first placement status: {FAILED}, workload aware preemption is not "
            "supported for pod groups with scheduling constraints",
            "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to "
            "placement-based pod group scheduling limitation",
            id="1.36: none",
        ),
        pytest.param(
            TOPOLOGY_37,
            RACK,
            f"{FAILED}, 0/2 placements are available, first placement status: minCount (1) cannot be satisfied: "
            f"0 scheduled, 0 remaining, pod group preemption: {NOTHING}",
            "0/2 nodes are available: 2 Insufficient cpu.",
            id="1.37: none",
        ),
        pytest.param(
            TOPOLOGY_36,
            "example.com/row",
            "no feasible placements found, workload aware preemption is not supported for pod groups with scheduling "
            "constraints",
            None,
            id="1.36: no node has the label",
        ),
        pytest.param(
            TOPOLOGY_37,
            "example.com/row",
            f"no feasible placements found, pod group preemption: {NOTHING}",
            "no feasible placements found",
            id="1.37: no node has the label",
        ),
    ],
)
def test_no_domain_is_large_enough(release: Release, key: str, group: str, member: str | None) -> None:
    decision = decide(release, members(1, "3"), make_pod_group(min_count=1, topology_key=key), nodes=RACKS)
    assert decision.status.message == group
    assert texts(decision) == {"m0": member or group}


# Conditions.

WAS_SCHEDULED = {"status": "True", "reason": "Scheduled"}


@pytest.mark.parametrize("release", [V36, V37], ids=["1.36", "1.37"])
@pytest.mark.parametrize(
    ("cpu", "old", "expected"),
    [
        pytest.param("1", None, ("True", "Scheduled", ""), id="True without a message"),
        pytest.param("1", WAS_SCHEDULED, None, id="nothing of it changes"),
        pytest.param("9", WAS_SCHEDULED, None, id="once True it stays"),
        pytest.param(
            "1", {"status": "False", "reason": "Unschedulable"}, ("True", "Scheduled", ""), id="False becomes True"
        ),
    ],
)
def test_condition(
    release: Release, cpu: str, old: dict[str, str] | None, expected: tuple[str, str, str] | None
) -> None:
    rules = release.pod_groups
    assert rules is not None
    status = {"conditions": [{"type": rules.condition, **old}]} if old else {}
    group = make_pod_group(min_count=2)
    group = msgspec.structs.replace(group, status=msgspec.convert(status, PodGroupStatus))
    found = decide(release, members(2, cpu), group).condition
    assert (found and (found.type, found.status, found.reason, found.message)) == (
        expected and (rules.condition, *expected)
    )


# Plugins of others.


def test_a_third_party_permit_plugin_decides_in_1_36() -> None:
    def permit(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        return (Status(Code.UNSCHEDULABLE, ("not on a Sunday",)), 0) if pod.name == "m1" else (Status(), 0)

    plugin = make_plugin("Sunday", PermitPlugin, permit=permit)
    decision = decide(V36, members(2), make_pod_group(min_count=1), plugins={"Sunday": plugin})
    assert texts(decision) == {"m0": "[a]", "m1": "0/1 nodes are available: 1 not on a Sunday."}
    assert decision.members[1].refused_by == "Sunday"


def test_a_third_party_plugin_decides_how_many_are_enough_in_1_37() -> None:
    def permit(self: Plugin, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        return Status(), 0

    def feasible(self: Plugin, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        if progress.scheduled % 2 == 0:
            return Status()
        return Status(Code.WAIT if progress.remaining else Code.UNSCHEDULABLE, ("only in pairs",))

    plugin = make_plugin("Pairs", PermitPlugin, PlacementFeasiblePlugin, permit=permit, placement_feasible=feasible)
    group = make_pod_group(min_count=1)
    assert set(texts(decide(V37, members(4), group, plugins={"Pairs": plugin})).values()) == {"[a]"}
    decision = decide(V37, members(3), group, plugins={"Pairs": plugin})
    assert decision.status.message.startswith("only in pairs, ")
    assert decision.outcome is GroupOutcome.UNSCHEDULABLE


def test_a_third_party_plugin_generates_placements() -> None:
    def generate(self: Plugin, group: PodGroupInfo, within: Placement) -> tuple[Placement, ...]:
        return (Placement("odd", np.array([1, 3])),)

    plugin = make_plugin("Odd", PlacementGeneratePlugin, generate_placements=generate)
    group = make_pod_group(min_count=2)
    odd = {"Odd": plugin}
    decision = decide(
        TOPOLOGY_37, members(2, "2"), group, nodes=RACKS, plugins=odd, without="TopologyPlacementGenerator"
    )
    assert sorted(each.node for each in decision.members) == ["x1", "y1"]
