"""The command lines of suggested next commands."""

from typing import Any

import pytest

from kschedctl.cli.invocation import Invocation
from kschedctl.questions.document import Question


@pytest.mark.parametrize(
    ("values", "question", "line"),
    [
        pytest.param(
            {"nodes": ["n1"]},
            Question("", "drain", options={"place_pending_first": True}),
            "kschedctl drain n1 --place-pending-first",
            id="a further option",
        ),
        pytest.param(
            {"nodes": ["n1"], "place_pending_first": True},
            Question("", "drain", options={"place_pending_first": True}),
            "",
            id="an option that was given",
        ),
        pytest.param(
            {"nodes": ["n1"]},
            Question("", "drain", options={"output": "wide"}),
            "kschedctl drain n1 -o wide",
            id="wide",
        ),
        pytest.param({"nodes": ["n1"]}, Question("", "simulate"), "kschedctl simulate", id="another command"),
    ],
)
def test_the_command_that_was_run_is_not_suggested(values: dict[str, Any], question: Question, line: str) -> None:
    assert Invocation(command="drain", values=values, arguments={}).command_line(question) == line
