"""The room in the disruption budgets of a NodePool: shares, reasons, and schedules in UTC."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.autoscaler.karpenter.budgets import EMPTY, UNDERUTILIZED, room
from kschedctl.autoscaler.karpenter.state import StateNode
from kschedctl.objects.karpenter import NODE_POOL_LABEL, DisruptionBudget, NodePool
from tests.builders import make_node, make_object

#: A Saturday.
NOW = datetime(2026, 11, 28, 9, 30, tzinfo=UTC)


def pool_of(*budgets: dict[str, Any]) -> NodePool:
    pool = make_object(NodePool, "general")
    disruption = replace(pool.spec.disruption, budgets=tuple(DisruptionBudget(**each) for each in budgets))
    return replace(pool, spec=replace(pool.spec, disruption=disruption))


def nodes(number: int, going: int = 0) -> list[StateNode]:
    made = [make_node(f"n{i}", labels={NODE_POOL_LABEL: "general"}) for i in range(number)]
    return [StateNode(node, None, i < going) for i, node in enumerate(made)]


@pytest.mark.parametrize(
    ("budgets", "reason", "expected"),
    [
        pytest.param([], EMPTY, None, id="none"),
        pytest.param([{"nodes": "10%"}], EMPTY, 2, id="a share is rounded up"),
        pytest.param([{"nodes": "0"}], EMPTY, 0, id="closed"),
        pytest.param([{"nodes": "5"}, {"nodes": "3"}], EMPTY, 3, id="the smallest counts"),
        pytest.param([{"nodes": "0", "reasons": (EMPTY,)}], UNDERUTILIZED, None, id="another reason"),
        pytest.param([{"nodes": "0", "schedule": "0 9 * * *", "duration": "1h"}], EMPTY, 0, id="within the hours"),
        pytest.param([{"nodes": "0", "schedule": "0 9 * * *", "duration": "30m"}], EMPTY, None, id="at the very end"),
        pytest.param([{"nodes": "0", "schedule": "0 9 * * *", "duration": "31m"}], EMPTY, 0, id="just before the end"),
        pytest.param([{"nodes": "0", "schedule": "30 9 * * *", "duration": "10m"}], EMPTY, 0, id="at the start"),
        pytest.param([{"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}], EMPTY, None, id="workdays"),
        pytest.param([{"nodes": "0", "schedule": "0 9 * * SAT,sun", "duration": "8h"}], EMPTY, 0, id="weekends"),
        pytest.param([{"nodes": "0", "schedule": "0 9 28 * mon", "duration": "8h"}], EMPTY, 0, id="day or weekday"),
        pytest.param([{"nodes": "0", "schedule": "*/15 * * * *", "duration": "1m"}], EMPTY, 0, id="every quarter"),
        pytest.param([{"nodes": "0", "schedule": "@daily", "duration": "9h"}], EMPTY, None, id="a name"),
        pytest.param([{"nodes": "0", "schedule": "0 22 * nov 6", "duration": "12h"}], EMPTY, None, id="last week"),
        pytest.param([{"nodes": "0", "schedule": "0 22 * nov 5", "duration": "12h"}], EMPTY, 0, id="since last night"),
        pytest.param([{"nodes": "9", "schedule": "every night", "duration": "8h"}], EMPTY, 0, id="not readable"),
        pytest.param([{"nodes": "9", "schedule": "0 9 * * 7", "duration": "8h"}], EMPTY, 0, id="no eighth day"),
        pytest.param([{"nodes": "9", "schedule": "0 25 * * *", "duration": "8h"}], EMPTY, 0, id="no such hour"),
        pytest.param([{"nodes": "9", "schedule": "0 5-1 * * *", "duration": "8h"}], EMPTY, 0, id="backwards"),
        pytest.param([{"nodes": "9", "schedule": "*/0 * * * *", "duration": "8h"}], EMPTY, 0, id="no step"),
        pytest.param([{"nodes": "9", "duration": "8h"}], EMPTY, 0, id="a duration alone"),
        pytest.param(
            [{"nodes": "100%"}, {"nodes": "9", "schedule": "x", "reasons": ("Drifted",)}], EMPTY, 0, id="of any reason"
        ),
        pytest.param([{"nodes": "0", "schedule": "0 9 */27 * 1", "duration": "8h"}], EMPTY, 0, id="a step is no star"),
        pytest.param([{"nodes": "0", "schedule": "0 9 27,* * 6", "duration": "8h"}], EMPTY, 0, id="a star in a list"),
        pytest.param([{"nodes": "0", "schedule": "0 9 27,* * 1", "duration": "8h"}], EMPTY, None, id="and another day"),
        pytest.param([{"nodes": "0", "schedule": "0 0 1 1 *", "duration": "7992h"}], EMPTY, 0, id="since the new year"),
    ],
)
def test_room(budgets: list[dict[str, Any]], reason: str, expected: int | None) -> None:
    assert room(pool_of(*budgets), reason, nodes(12), NOW).left == expected


def test_nodes_that_go_take_room() -> None:
    pool = pool_of({"nodes": "3"})
    assert [room(pool, EMPTY, nodes(12, going), NOW).left for going in (0, 2, 5)] == [3, 1, 0]
    assert room(pool, EMPTY, nodes(12), NOW).words == "nodes: 3"
