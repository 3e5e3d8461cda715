"""Answers as text keep to the width of the terminal; what is to be copied stays whole."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kschedctl.questions.answers.explain import Explanation
from kschedctl.questions.presentation.explain.text import ExplainView, document
from tests.questions.analyses.explain.test_answer import ANSWERS, explain
from tests.questions.presentation.printing import lines as printed

NOW = datetime(2026, 5, 4, tzinfo=UTC)
COMMAND = "kschedctl explain default/pod"


VIEWS = {
    "groups": ExplainView(now=NOW),
    "every node": ExplainView(now=NOW, nodes_alone=True, reasons=True),
    "one node": ExplainView(now=NOW, nodes=("a",), reasons=True),
}


def lines(explanation: Explanation, view: ExplainView, width: int) -> list[str]:
    return printed(document(explanation, view), width)


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("case", ANSWERS)
def test_lines_end_where_the_terminal_does(case: str, view: str, width: int) -> None:
    answer = explain(*ANSWERS[case])
    whole = {f"  {answer.message}"}
    for line in lines(answer, VIEWS[view], width):
        assert len(line) <= width or line in whole or "kschedctl explain" in line


@pytest.mark.parametrize("case", ANSWERS)
def test_answer_comes_first_and_the_message_is_whole(case: str) -> None:
    answer = explain(*ANSWERS[case])
    found = lines(answer, VIEWS["groups"], 1000)
    assert found[0] == answer.verdict.summary
    if answer.message:
        assert f"  {answer.message}" in found
