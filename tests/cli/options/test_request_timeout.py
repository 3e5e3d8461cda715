"""``--request-timeout`` is read as kubectl reads it, and stands in the commands that are shown."""

from typing import Any

import pytest
import typer

from kschedctl.cli.invocation import Invocation
from kschedctl.cli.options.cluster import SourceOptions
from kschedctl.cli.options.shared import request_seconds
from kschedctl.questions.document import Question
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.sources.live.limits import REQUEST_SECONDS


def suggested(values: dict[str, Any]) -> str:
    return Invocation(command="explain", values=values, arguments={}).command_line(Question("", "explain"))


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("0s", 0), ("7", 7), ("30s", 30), ("1m", 60), ("1m30s", 90), ("1.5s", 1.5)]
)
def test_times(text: str, seconds: float) -> None:
    assert request_seconds(text) == seconds
    source = SourceOptions(request_timeout=text).source()
    assert source.live(AnalysisHandle()).request_seconds == seconds
    assert suggested({"request_timeout": text}) == f"kschedctl explain --request-timeout {text}"


@pytest.mark.parametrize("text", ["-1", "-1s", "soon", "5 s", "1d", "٣", "1e3", "99999999999999"])
def test_no_times(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not a duration such as 30s, 2m or 0"):
        SourceOptions(request_timeout=text).source()


def test_default() -> None:
    source = SourceOptions().source()
    assert source.live(AnalysisHandle()).request_seconds == REQUEST_SECONDS
    assert suggested({"request_timeout": ""}) == "kschedctl explain"


def test_snapshot_is_not_asked() -> None:
    with pytest.raises(typer.BadParameter, match="a snapshot is given, too"):
        SourceOptions(snapshot=["a.json"], request_timeout="5s").source()
