"""Messages of a preemption that does not help, by table."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.pod import Pod
from tests.scheduler.preemption.small_clusters import preempt, running


@pytest.mark.parametrize(
    ("pods", "pod", "message"),
    [
        pytest.param(
            [running("low", "a", "4")],
            {"preemptionPolicy": "Never"},
            "not eligible due to preemptionPolicy=Never.",
            id="a pod that must not preempt",
        ),
        pytest.param(
            [
                running(
                    "going",
                    "a",
                    "4",
                    terminating=True,
                    status={
                        "conditions": [
                            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
                        ]
                    },
                )
            ],
            {"nominated": "a"},
            "not eligible due to a terminating pod on the nominated node.",
            id="its victims are still going",
        ),
        pytest.param(
            [running("peer", "a", "4", priority=100)],
            {},
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="nobody of lower priority",
        ),
        pytest.param(
            [running("low", "a", "1"), running("peer", "a", "3", priority=100)],
            {},
            "0/1 nodes are available: 1 Insufficient cpu.",
            id="not enough even without those of lower priority",
        ),
        pytest.param(
            [running("low", "a", "4")],
            {"nodeSelector": {"disk": "ssd"}},
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="no eviction changes a label",
        ),
    ],
)
def test_why_preemption_does_not_help(pods: list[Pod], pod: dict[str, Any], message: str) -> None:
    found = preempt(pods, **pod)
    assert found.status.message == message
    assert found.candidates == ()
