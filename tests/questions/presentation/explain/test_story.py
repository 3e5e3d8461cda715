"""The whole story of one node: room, who has it, comparisons and the arithmetic of the score."""

from __future__ import annotations

from kschedctl.questions.analyses.explain.story import story_data
from kschedctl.questions.answers.explain import PreferenceData, ReasonData, WithstandingData, ZoneLossData
from kschedctl.questions.answers.node_story import FilterCheckData, NodeStoryData
from kschedctl.questions.presentation.explain.preference import preference_section
from kschedctl.questions.presentation.explain.story import arithmetic_section, compared, room_section
from kschedctl.questions.presentation.explain.withstanding import withstanding_section
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Reason
from tests.builders import make_cluster, make_node, make_pod
from tests.questions.presentation.printing import lines

FITS = PreferenceData("b", True, False, "a", 90, 100, (), ())


def story() -> NodeStoryData:
    running = [make_pod(f"p{i}", node="a", requests={"cpu": f"{100 * i}m"}) for i in range(1, 8)]
    scheduler = Scheduler(make_cluster([make_node("a"), make_node("b")], running))
    return story_data(scheduler.decide(make_pod(requests={"cpu": "1", "memory": "1Gi"})), 0)


def test_what_the_node_offers_and_what_is_left() -> None:
    rooms = {one.resource: (one.allocatable, one.requested, one.wanted, one.left) for one in story().room}
    assert rooms == {
        "cpu": ("4", "2800m", "1", "200m"),
        "memory": ("8Gi", "0", "1Gi", "7Gi"),
        "pods": ("110", "7", "1", "102"),
    }


def test_the_largest_users_are_told_and_the_others_counted() -> None:
    told = story()
    assert [pod.pod for pod in told.pods] == [f"default/p{i}" for i in (7, 6, 5, 4, 3)]
    assert told.pods[0].requests == {"cpu": "700m", "memory": "0"}
    assert told.more_pods == 2
    assert lines(room_section(told), 80)[-1] == "  and 2 more pods"


def test_the_steps_lead_to_the_total() -> None:
    told = story()
    printed = [line.strip() for line in lines(arithmetic_section(told.scores), 200)]
    total = sum(one.weighted for one in told.scores)
    assert f"total = {' + '.join(str(one.weighted) for one in told.scores)} = {total}" in printed
    assert "cpu = 100 * (4000 - 3800) // 4000 = 5 (with this pod 3.8 of 4 are requested)" in printed


def test_what_a_reason_tells_is_not_told_again() -> None:
    checks = [
        FilterCheckData("P", "2 cpu", "free 1 of 4", False),
        FilterCheckData("P", "1Gi memory", "free 2Gi of 8Gi", True),
        FilterCheckData("P", "1 gpu", "free 0 of 1", False),
    ]
    reason = ReasonData.of("P", Reason("Insufficient cpu"))
    assert compared([reason], checks) == [
        "Insufficient cpu",
        "1Gi memory: free 2Gi of 8Gi",
        "also fails: 1 gpu: free 0 of 1",
    ]
    assert compared([], checks[1:2]) == ["1Gi memory: free 2Gi of 8Gi"]
    assert compared([], []) == [""]


def test_nothing_that_was_tried_does_it() -> None:
    printed = lines(preference_section(FITS, ""), 80)
    assert printed[1] == "b is 10 points behind a."
    assert printed[-1] == "No single change that was tried would move the pod to b."


def test_a_node_that_does_not_fit_says_why() -> None:
    unfit = PreferenceData("b", False, False, "", 0, 0, (), ())
    assert lines(preference_section(unfit, "taint x is not tolerated"), 80)[1:] == [
        "No preference moves the pod to b: it does not fit there.",
        "  taint x is not tolerated",
    ]


def test_what_is_not_known_of_losses_is_said() -> None:
    unknown = WithstandingData(("a", "b"), 1, (), False, ("PodTopologySpread",), 9, (ZoneLossData("z", 2, 2, 0),))
    printed = [line.strip() for line in lines(withstanding_section(unknown), 200)]
    assert (
        "Nodes: the pod fits on 2 nodes; it withstands the loss of any 1; "
        "the search for a loss that leaves the pod without a node was not finished." in printed
    )
    assert "Zones: the loss of z leaves the pod without a node." in printed
    assert "z              2         2            none" in printed
