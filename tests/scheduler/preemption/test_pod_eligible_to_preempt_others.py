"""Pods that are allowed to preempt, by table: priority 100, nominated to a node with a terminating pod."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.preemption.pod_eligible_to_preempt_others import (
    NEVER,
    TERMINATING,
    pod_eligible_to_preempt_others,
)
from tests.builders import make_cluster, make_node, make_pod
from tests.scheduler.preemption.small_clusters import running

EVICTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def going(priority: int = 0, **condition: str) -> Pod:
    """Return a terminating pod."""
    return running("going", "a", "4", priority, terminating=True, status={"conditions": [{**EVICTED, **condition}]})


@pytest.mark.parametrize(
    ("there", "pod", "code", "problem"),
    [
        pytest.param(going(), {}, Code.UNSCHEDULABLE, "", id="not nominated"),
        pytest.param(going(), {"preemptionPolicy": "Never"}, Code.UNSCHEDULABLE, NEVER, id="it must not preempt"),
        pytest.param(going(), {"nominated": "a"}, Code.UNSCHEDULABLE, TERMINATING, id="its victim is still going"),
        pytest.param(going(), {"nominated": "b"}, Code.UNSCHEDULABLE, "", id="nominated to another node"),
        pytest.param(going(), {"nominated": "gone"}, Code.UNSCHEDULABLE, "", id="nominated to a node not there"),
        pytest.param(
            going(),
            {"nominated": "a"},
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "",
            id="its node is out of the question by now",
        ),
        pytest.param(going(100), {"nominated": "a"}, Code.UNSCHEDULABLE, "", id="who goes is of equal priority"),
        pytest.param(going(status="False"), {"nominated": "a"}, Code.UNSCHEDULABLE, "", id="who goes is no target"),
        pytest.param(
            going(reason="EvictionByEvictionAPI"),
            {"nominated": "a"},
            Code.UNSCHEDULABLE,
            "",
            id="somebody else evicts it",
        ),
        pytest.param(
            running("stays", "a", "4", status={"conditions": [EVICTED]}),
            {"nominated": "a"},
            Code.UNSCHEDULABLE,
            "",
            id="the target is not being deleted",
        ),
    ],
)
def test_pod_eligible_to_preempt_others(there: Pod, pod: dict[str, Any], code: Code, problem: str) -> None:
    cluster = make_cluster([make_node("a"), make_node("b")], [there])
    preemptor = make_pod("preemptor", priority=100, **pod)
    assert pod_eligible_to_preempt_others(cluster, preemptor, NodeStatuses(2, Status(code)), None) == problem
