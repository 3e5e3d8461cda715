"""Attempts at groups in a simulation: who is tried together, and what becomes of members, victims and conditions."""

from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import RELEASES, Release
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.queued_pods import QueuedPodInfo
from kschedctl.trials.simulate.simulation import Simulation
from tests.builders import make_cluster, make_members, make_node, make_pod, make_pod_group, with_groups
from tests.scheduler.preemption.small_clusters import running

V36, V37 = with_groups("1.36"), with_groups("1.37")
BY_MEMBER = with_groups("1.36", WorkloadAwarePreemption=False)
BOTH = pytest.mark.parametrize("release", [V36, V37], ids=["1.36", "1.37"])


def simulation(release: Release, pods: list[Pod], *groups: PodGroup, cpus: tuple[str, ...] = ("4",)) -> Simulation:
    nodes = [make_node(name, cpu=cpu) for name, cpu in zip("abc", cpus, strict=False)]
    made = Simulation(Scheduler(make_cluster(nodes, pods, *groups), release))
    made.enqueue_pending()
    return made


def members(names: str, cpu: str = "1", **fields: Any) -> list[Pod]:
    return make_members(names, requests={"cpu": cpu}, **fields)


def outcomes(attempts: tuple[Attempt, ...]) -> dict[str, str]:
    """Return the node of every member of an attempt; empty without one."""
    return {attempt.pod.removeprefix("default/"): attempt.node for attempt in attempts}


def condition(made: Simulation) -> tuple[str, str, str]:
    group = made.cluster.get(PodGroup, "gang", "default")
    assert group is not None
    (found,) = group.status.conditions
    return found.type, found.status, found.reason


@BOTH
def test_members_are_tried_together_and_share_the_attempt(release: Release) -> None:
    made = simulation(release, [make_pod("alone"), *members("a b c")], make_pod_group(min_count=2))
    alone, gang = made.step(), made.step()
    assert (outcomes(alone), alone[0].group) == ({"alone": "a"}, None)
    assert outcomes(gang) == {"a": "a", "b": "a", "c": "a"}
    assert gang[0].group is not None
    assert all(attempt.group is gang[0].group for attempt in gang)
    assert gang[0].group.outcome is GroupOutcome.SCHEDULED
    assert not made.has_unbound_pods
    rules = release.pod_groups
    assert rules is not None
    assert condition(made) == (rules.condition, "True", "Scheduled")


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        pytest.param(V36, {"a": "a", "b": "a"}, id="1.36: it stays out, and counts for minCount"),
        pytest.param(V37, {}, id="1.37: it holds back the whole group"),
    ],
)
def test_a_gated_member(release: Release, expected: dict[str, str]) -> None:
    pods = [*members("a b"), *members("gated", schedulingGates=[{"name": "wait"}])]
    assert outcomes(simulation(release, pods, make_pod_group(min_count=2)).step()) == expected


@BOTH
def test_a_gang_that_does_not_fit_binds_nobody_until_there_is_a_node(release: Release) -> None:
    made = simulation(release, members("a b c", "2"), make_pod_group(min_count=3))
    attempts = list(islice(made, 20))
    assert {attempt.node for attempt in attempts} == {""}
    assert condition(made)[1:] == ("False", "Unschedulable")
    made.change_node(make_node("a", cpu="6"))
    assert {attempt.pod: attempt.node for attempt in made} == {f"default/{name}": "a" for name in "abc"}
    assert condition(made)[1:] == ("True", "Scheduled")


@BOTH
def test_the_condition_stays_true_for_a_rest_that_does_not_fit(release: Release) -> None:
    made = simulation(release, members("a b c", "2"), make_pod_group(min_count=2))
    assert sorted(attempt.node for attempt in made.step()) == ["", "a", "a"]
    assert len(list(made)) >= 1
    assert condition(made)[1:] == ("True", "Scheduled")


@pytest.mark.parametrize("release", [V36, V37, BY_MEMBER], ids=["1.36", "1.37", "1.36 by member"])
def test_a_gang_that_preempts_is_bound_once_its_victims_are_gone(release: Release) -> None:
    pods = [running("low", "a", "3"), running("low-2", "b", "3"), *members("m n", "3", priority=9)]
    made = simulation(release, pods, make_pod_group(min_count=2, priority=9), cpus=("4", "4"))
    first = made.step()
    assert first[0].group is not None
    assert first[0].group.outcome is GroupOutcome.PREEMPTING
    assert first[0].group.victims == ("default/low", "default/low-2")
    bound = {attempt.pod: attempt.node for attempt in made if attempt.node}
    assert bound == {"default/m": "a", "default/n": "b"}


def test_1_37_evicts_a_whole_group_for_a_gang() -> None:
    whole = [
        running(name, node, "1", schedulingGroup={"podGroupName": "whole"}) for name, node in (("w", "a"), ("x", "b"))
    ]
    made = simulation(
        V37,
        [*whole, *members("m", "4", priority=9)],
        make_pod_group(min_count=1, priority=9),
        make_pod_group("whole", disrupts_all=True),
        cpus=("4", "4"),
    )
    (attempt,) = made.step()
    assert attempt.group is not None
    assert attempt.group.victims == ("default/w", "default/x")


def test_1_36_draws_in_members_that_back_off() -> None:
    """A newcomer has the whole group tried at once."""
    made = simulation(V36, members("a b", "3"), make_pod_group(min_count=2))
    assert set(outcomes(made.step())) == {"a", "b"}
    made.create(members("c", "3"))
    assert set(outcomes(made.step())) == {"a", "b", "c"}


def test_1_36_tries_members_again_at_once_when_another_one_waits_for_them() -> None:
    """A member that fits nowhere is tried first, and is not in back-off once the next one waits at Permit."""
    large = members("large", "9", priority=5)
    made = simulation(V36, [*large, *members("a b c")], make_pod_group(min_count=3, priority=5))
    assert outcomes(made.step()) == {"large": "", "a": "a", "b": "a", "c": "a"}
    assert [entry.key for entry in made.queue.poppable] == ["default/large"]
    assert made.queue.n_active == 1


def test_1_36_retries_a_member_that_may_preempt_in_vain_like_one_that_failed_with_an_error() -> None:
    """Its own rejection does not count, as its group does not fit. It is gated until its victim is gone."""
    gang = [*members("high", "4", priority=9), *members("large", "9")]
    made = simulation(BY_MEMBER, [running("low", "a", "4"), *gang], make_pod_group(min_count=2))
    (first, second) = made.step()
    assert (first.pod, first.victims, second.pod) == ("default/high", ("default/low",), "default/large")
    (high,) = (info for info in made.queue.unschedulable if info.key == "default/high")
    assert isinstance(high, QueuedPodInfo)
    assert (high.consecutive_errors > 0, high.unschedulable_count) == (True, 0)


def test_1_37_lets_a_newcomer_wait_with_the_group() -> None:
    made = simulation(V37, members("a b", "3"), make_pod_group(min_count=2))
    assert set(outcomes(made.step())) == {"a", "b"}
    made.create(members("c", "3"))
    assert made.step() == ()


@pytest.mark.parametrize(
    ("release", "message"),
    [
        pytest.param(
            BY_MEMBER,
            'failed to get podGroup default/gang: podgroup.scheduling.k8s.io "gang" not found',
            id="1.36: an error",
        ),
        pytest.param(V37, "", id="1.37: members are in no queue"),
    ],
)
def test_a_group_that_is_deleted_before_its_turn(release: Release, message: str) -> None:
    group = make_pod_group(min_count=2)
    made = simulation(release, members("a b"), group)
    made.delete_group(group)
    attempts = made.step()
    assert [attempt.message.endswith(message) for attempt in attempts] == ([True, True] if message else [])
    made.create_group(group)
    assert {attempt.node for attempt in made} == {"a"}


def test_without_gates_members_are_pods_like_others() -> None:
    made = simulation(RELEASES["1.37"], members("a b", "3"), make_pod_group(min_count=2))
    attempts = list(made)
    assert [(attempt.node, attempt.group) for attempt in attempts[:2]] == [("a", None), ("", None)]


@BOTH
def test_members_that_are_recreated_at_one_time_are_tried_once_each(release: Release) -> None:
    """A StatefulSet recreates both pods when they end, the second one while the first joins the queue."""
    owner = ("apps/v1", "StatefulSet", "gang")
    pods = [
        make_pod(name, owner=owner, node="a", schedulingGroup={"podGroupName": "gang"}) for name in ("gang-0", "gang-1")
    ]
    made = simulation(release, pods, make_pod_group(min_count=2), cpus=("4",))
    made.change_node(make_node("a", unschedulable=True))
    for pod in pods:
        made.evict([pod])
    attempts = list(made)
    assert attempts
    for group_attempt in {id(each.group): each.group for each in attempts}.values():
        assert group_attempt is not None
        assert group_attempt.decision is not None
        tried = sorted(member.pod.key for member in group_attempt.decision.members)
        assert tried == ["default/gang-0", "default/gang-1"]


def ending(name: str) -> Pod:
    (pod,) = make_members(name)
    begin, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    return replace(pod, metadata=replace(pod.metadata, creation_timestamp=begin, deletion_timestamp=end))


@pytest.mark.parametrize(
    ("release", "other", "expected"),
    [
        pytest.param(V36, {}, {"m": "a", "n": "a"}, id="1.36: a member that is being deleted is left out"),
        pytest.param(V37, {}, {"m": "a", "n": "a"}, id="1.37: a member that is being deleted is left out"),
        pytest.param(V37, {"priority": 5}, dict.fromkeys("mnx", ""), id="1.37: the priority is checked before"),
        pytest.param(V36, {"priority": 5}, {"m": "a", "n": "a"}, id="1.36: the priority is not checked"),
    ],
)
def test_members_that_are_being_deleted(release: Release, other: dict[str, Any], expected: dict[str, str]) -> None:
    made = simulation(release, [*members("m"), ending("x"), *members("n", **other)], make_pod_group(min_count=2))
    assert outcomes(made.step()) == expected


@BOTH
def test_a_group_of_which_all_members_are_being_deleted_is_popped_once(release: Release) -> None:
    made = simulation(release, [ending("x")], make_pod_group(min_count=1))
    (attempt,) = made.step()
    assert (attempt.pod, attempt.node, attempt.message) == ("default/x", "", "")
    assert attempt.group is not None
    assert attempt.group.outcome is GroupOutcome.UNSCHEDULABLE
    assert not made.step()


@BOTH
def test_a_group_in_back_off_after_an_error_does_not_keep_others_trying(release: Release) -> None:
    topology = with_groups(release.version, topology=True)
    groups = (
        make_pod_group("error", min_count=1, topology_key="example.com/absent"),
        make_pod_group("large", min_count=1),
        make_pod_group("fits", min_count=1),
    )
    pods = [
        *members("error-0", group="error"),
        *members("large-0", cpu="9", group="large"),
        *members("fits-0", group="fits"),
    ]
    made = simulation(topology, pods, *groups)
    names = [attempt.pod for attempt in islice(made, 20)]
    # Each is tried once more after fits-0 was bound.
    assert sorted(name for name in names if "fits" not in name) == sorted(2 * ["default/error-0", "default/large-0"])


def test_back_off_ends_at_a_full_second_although_pods_are_tried_meanwhile() -> None:
    group = make_pod_group(min_count=1, topology_key="example.com/absent")
    made = simulation(with_groups("1.36", topology=True), members("m"), group)
    assert [attempt.node for attempt in made.step()] == [""]
    made.clock.advance(1.99)
    times = [attempt.time.timestamp() for _ in range(20) for attempt in made.step()]
    assert times == [2.0]
