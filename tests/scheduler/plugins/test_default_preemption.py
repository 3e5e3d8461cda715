"""DefaultPreemption at its extension points; whom it evicts is tested in tests/scheduler/preemption."""

from typing import Any

import pytest

from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.framework.status import Code, Status
from tests.builders import decide, make_cluster, make_node, make_pod, make_profile

FULL = make_cluster([make_node("a", cpu="4")], [make_pod("low", node="a", requests={"cpu": "4"})])


@pytest.mark.parametrize(
    ("pod", "status", "message"),
    [
        pytest.param(
            {"priority": 1},
            Status(reasons=("preemption: found a potential placement for pod on node a, preempting 1 victims",)),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node a, "
            "preempting 1 victims",
            id="a node to make room on is named",
        ),
        pytest.param(
            {},
            Status(
                Code.UNSCHEDULABLE,
                ("preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",),
                "DynamicResources",
            ),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
            "1 No preemption victims found for incoming pod.",
            id="the first PostFilter plugin is named, though it has nothing to say",
        ),
    ],
)
def test_post_filter(pod: dict[str, Any], status: Status, message: str) -> None:
    decision = decide(make_pod(requests={"cpu": "1"}, **pod), FULL)
    assert decision.post_filter is not None
    assert decision.post_filter.status == status
    assert decision.message == message


def test_up_to_1_36_no_node_is_named_and_both_plugins_have_their_say() -> None:
    first = decide(make_pod(requests={"cpu": "1"}, priority=1), FULL, release=RELEASES["1.36"])
    assert first.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert first.post_filter is not None
    assert first.post_filter.status == Status()
    decision = decide(make_pod(requests={"cpu": "1"}), FULL, release=RELEASES["1.36"])
    assert decision.message == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are "
        "available: 1 No preemption victims found for incoming pod."
    )


def test_of_equal_nodes_the_first_is_named() -> None:
    """2 of the 3 pods with 1 cpu each must go from a node of 4 for a pod that wants 3."""
    nodes = [make_node(name, cpu="4") for name in ("b", "a")]
    running = [make_pod(f"{node.name}{i}", node=node.name, requests={"cpu": "1"}) for node in nodes for i in range(3)]
    decision = decide(make_pod(requests={"cpu": "3"}, priority=1), make_cluster(nodes, running))
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ("a", "b")
    assert decision.message.endswith("found a potential placement for pod on node a, preempting 2 victims")


def test_a_profile_without_post_filter_does_not_preempt() -> None:
    config = make_profile(plugins={"postFilter": {"disabled": [{"name": "*"}]}})
    decision = decide(make_pod(requests={"cpu": "1"}, priority=1), FULL, config=config)
    assert decision.post_filter is None
    assert decision.message == "0/1 nodes are available: 1 Insufficient cpu."


def test_pods_are_let_into_the_queue() -> None:
    assert decide(make_pod(priority=1), FULL).pre_enqueue == Status()
