"""DefaultPreemption at its extension points; whom it evicts is tested in tests/preemption."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.framework.status import Code, Status
from tests.builders import decide, make_cluster, make_node, make_pod, make_profile

FULL = make_cluster([make_node("a", cpu="4")], [make_pod("low", node="a", requests={"cpu": "4"})])


@pytest.mark.parametrize(
    ("pod", "status", "message"),
    [
        pytest.param(
            {"priority": 1},
            Status(),
            "0/1 nodes are available: 1 Insufficient cpu.",
            id="a node to make room on ends the message",
        ),
        pytest.param(
            {},
            Status(
                Code.UNSCHEDULABLE,
                (
                    "no new claims to deallocate",
                    "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
                ),
                "DynamicResources",
            ),
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are "
            "available: 1 No preemption victims found for incoming pod.",
            id="both PostFilter plugins have their say, the first is named",
        ),
    ],
)
def test_post_filter(pod: dict[str, Any], status: Status, message: str) -> None:
    decision = decide(make_pod(requests={"cpu": "1"}, **pod), FULL)
    assert decision.post_filter is not None
    assert decision.post_filter.status == status
    assert decision.message == message


def test_a_profile_without_post_filter_does_not_preempt() -> None:
    config = make_profile(plugins={"postFilter": {"disabled": [{"name": "*"}]}})
    decision = decide(make_pod(requests={"cpu": "1"}, priority=1), FULL, config=config)
    assert decision.post_filter is None
    assert decision.message == "0/1 nodes are available: 1 Insufficient cpu."


def test_pods_are_let_into_the_queue() -> None:
    assert decide(make_pod(priority=1), FULL).pre_enqueue == Status()
