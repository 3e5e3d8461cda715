"""Charts of rollouts: the pods over time, and the available pods after each step."""

import pytest

from kschedctl.questions.charts import Bars, Timeline
from kschedctl.questions.rollout.answer import RolledOut
from kschedctl.questions.rollout.document import charts_section
from tests.questions.rollout.test_analysis import ANSWERS


def charts(answer: RolledOut) -> tuple[list[str], list[str]]:
    """Return the states of the pods without their times, and the bars; nothing without charts."""
    if not (drawn := list(charts_section(answer, None))):
        return [], []
    pods, available = drawn
    assert isinstance(pods, Timeline)
    assert isinstance(available, Bars)
    states = [
        f"{lane.name.rpartition('/')[2]}: "
        + "; ".join(", ".join(filter(None, (pods.kinds[span.kind].name, span.text))) for span in lane.spans)
        for lane in pods.lanes
    ]
    bars = (
        f"{bar.cells[0]}: {available.kinds[each.kind].name} {each.size:g} of {bar.mark:g}"
        for bar in available.rows
        for each in bar.segments
    )
    return states, list(bars)


@pytest.mark.parametrize(
    ("case", "states", "bars"),
    [
        ("nothing", [], []),
        ("stands", ["web-6dcc98479d-xxxxx: pending, created in step 1"], ["1: new 0 -> 1: available 2 of 2"]),
        (
            "finishes",
            [
                "web-65ff94cd88-xxxxx: new revision, created in step 1, on n0",
                "web-1-0: old revision; deleted, in step 2",
                "web-65ff94cd88-xxxxz: new revision, created in step 3, on n1",
                "web-1-1: old revision; deleted, in step 4",
            ],
            [
                "1: new 0 -> 1: available 2 of 2",
                "2: old 2 -> 1: available 2 of 2",
                "3: new 1 -> 2: available 2 of 2",
                "4: old 1 -> 0: available 2 of 2",
            ],
        ),
        (
            "partition",
            [
                "db-2: old revision; deleted, in step 1; new revision, created in step 2, on n0",
                "db-1: old revision; deleted, in step 3; new revision, created in step 4, on n1",
            ],
            [
                "1: old 3 -> 2: available 2 of 2",
                "2: new 0 -> 1: available 2 of 2",
                "3: old 2 -> 1: available 2 of 2",
                "4: new 1 -> 2: available 2 of 2",
            ],
        ),
    ],
)
def test_charts(case: str, states: list[str], bars: list[str]) -> None:
    assert charts(ANSWERS[case]) == (states, bars)


def test_every_time_is_on_the_timeline() -> None:
    for answer in ANSWERS.values():
        for chart in charts_section(answer, None):
            if isinstance(chart, Timeline):
                assert all(0 <= span.begin <= span.end <= chart.end for lane in chart.lanes for span in lane.spans)
