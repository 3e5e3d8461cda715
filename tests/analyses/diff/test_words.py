"""Differences for a pod, in words."""

from __future__ import annotations

import pytest

from kschedctl.analyses.diff.nodes import NodeChanges
from kschedctl.analyses.diff.words import describe
from kschedctl.answers.diff import AnswerPart, OutcomeData, SideOutcome


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("a",), (), "without its gates, would fit nowhere (before: would go to a)"),
        ((), ("a", "b"), "without its gates, would go to a or b (before: would fit nowhere)"),
        (("a",), ("b",), "without its gates, goes to b instead of a"),
    ],
    ids=["loses its last node", "gains a node", "another node"],
)
def test_pod_that_is_not_tried(before: tuple[str, ...], after: tuple[str, ...], said: str) -> None:
    old, new = (OutcomeData(SideOutcome.GATED, nodes=nodes) for nodes in (before, after))
    assert describe(old, new, (AnswerPart.WINNER,), NodeChanges(None, None)) == (said,)
