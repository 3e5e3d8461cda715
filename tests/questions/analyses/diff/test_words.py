"""Differences for a pod, in words."""

from __future__ import annotations

import pytest

from kschedctl.questions.analyses.diff.nodes import NodeChanges
from kschedctl.questions.analyses.diff.words import describe
from kschedctl.questions.answers.diff import AnswerPart, OutcomeData, SideOutcome


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("a",), (), "without its gates, would fit on no node (before: would be scheduled to a)"),
        ((), ("a", "b"), "without its gates, would be scheduled to a or b (before: would fit on no node)"),
        (("a",), ("b",), "without its gates, is scheduled to b instead of a"),
    ],
    ids=["loses its last node", "gains a node", "another node"],
)
def test_pod_that_is_not_tried(before: tuple[str, ...], after: tuple[str, ...], said: str) -> None:
    old, new = (OutcomeData(SideOutcome.GATED, nodes=nodes) for nodes in (before, after))
    assert describe(old, new, (AnswerPart.WINNER,), NodeChanges(None, None)) == (said,)
