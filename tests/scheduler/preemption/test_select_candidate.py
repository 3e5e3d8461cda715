"""The choice between two candidate nodes, by table: a row per criterion."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scheduler.preemption.small_clusters import EARLY, LATE, budget, preempt, running


@pytest.mark.parametrize(
    ("on_a", "on_b", "lost"),
    [
        pytest.param(
            [("x", "4", 0, EARLY, "web")],
            [("y", "4", 50, EARLY, "api")],
            {"a": "fewer budget violations"},
            id="a broken budget weighs more than priority",
        ),
        pytest.param(
            [("x", "4", 5, EARLY, "")],
            [("y", "4", 4, EARLY, "")],
            {"a": "lower highest priority of a victim"},
            id="then the highest priority",
        ),
        pytest.param(
            [("x", "2", 5, EARLY, ""), ("z", "2", 1, EARLY, "")],
            [("y", "2", 5, EARLY, ""), ("w", "2", 0, EARLY, "")],
            {"a": "lower sum of priorities"},
            id="then the sum of priorities",
        ),
        pytest.param(
            [("x", "4", 5, EARLY, "")],
            [("y", "4", 5, LATE, "")],
            {"a": "later start of the most important victims"},
            id="then the start, the later the better",
        ),
        pytest.param([("x", "4", 5, EARLY, "")], [("y", "4", 5, EARLY, "")], {}, id="then chance"),
    ],
)
def test_choice(on_a: list[tuple[Any, ...]], on_b: list[tuple[Any, ...]], lost: dict[str, str]) -> None:
    pods = [
        running(name, node, cpu, priority, start, labels={"app": app})
        for node, rows in (("a", on_a), ("b", on_b))
        for name, cpu, priority, start, app in rows
    ]
    found = preempt(pods, budget("web", "web", 0), nodes=("a", "b"), cpu="4")
    assert {c.node: c.lost_at for c in found.candidates if c.lost_at} == lost
    assert found.nominated == tuple(node for node in ("a", "b") if node not in lost)


def test_two_far_below_lose_against_one_only_by_number() -> None:
    # 10 - 2^30 - 2^30 + 3 x 2^31 equals 10 + 0 + 2 x 2^31: the sums are equal, the numbers are not.
    low = -(2**30)
    pods = [
        running("a-0", "a", "2", 10),
        running("a-1", "a", "1", low),
        running("a-2", "a", "1", low),
        running("b-0", "b", "2", 10),
        running("b-1", "b", "2", 0),
    ]
    found = preempt(pods, nodes=("a", "b"), cpu="4")
    assert {c.node: c.lost_at for c in found.candidates} == {"b": "", "a": "fewer victims"}
