"""The answer of ``rollout`` and its document: the pods over time, and the available pods after each step."""

from typing import Any

import pytest

from kschedctl.questions.charts import Bars, Timeline
from kschedctl.questions.document import Paragraph
from kschedctl.questions.frame import View
from kschedctl.questions.rollout.answer import RolledOut
from kschedctl.questions.rollout.document import charts_section, document
from kschedctl.trials.simulate.rollout import restarted
from tests.builders import make_cluster, scheduling_cluster
from tests.trials.simulate.test_rollout import (
    APART,
    ON_2,
    deployment,
    members,
    nodes,
    pods_of,
    rolling,
    stateful_set,
    surge,
)


def ask_web(strategy: Any, pod: dict[str, Any] | None = None, **spec: Any) -> RolledOut:
    web = deployment(2, strategy, pod, **spec)
    return scheduling_cluster(make_cluster(nodes(2), pods_of(web, ON_2), web)).rollout(restarted(web))


def ask_db(**spec: Any) -> RolledOut:
    db = stateful_set(3, **spec)
    return scheduling_cluster(make_cluster(nodes(2), members(["n0", "n1", "n0"]), db)).rollout(restarted(db))


ANSWERS = {
    "finishes": ask_web(surge(1, 0)),
    "stands": ask_web(surge(1, 0), APART),
    "recreate": ask_web({"type": "Recreate"}),
    "paused": ask_web(None, paused=True),
    "partition": ask_db(**rolling(partition=1)),
    "nothing": ask_db(**rolling(partition=3)),
}


@pytest.mark.parametrize(
    ("case", "summary"),
    [
        ("finishes", "default/web: the rollout finishes: 2 pods replaced in 4 steps, never fewer than 2 available"),
        (
            "stands",
            "default/web: the rollout stalls at step 1: the new pod fits on none of 2 nodes: all 2 nodes have a pod of "
            "Deployment default/web, from which anti-affinity keeps the pod apart, "
            "and maxUnavailable 0 keeps the old pods until a new one is ready; 0 of 2 pods are new",
        ),
        ("recreate", "default/web: the rollout finishes: 2 pods replaced in 2 steps, at times no pod is available"),
        (
            "paused",
            "default/web: the rollout does not start: "
            "the Deployment is paused (spec.paused): its controller rolls out no new revision",
        ),
        (
            "partition",
            "default/db: the rollout finishes: 2 pods replaced in 4 steps (1 below the partition stay), "
            "never fewer than 2 available",
        ),
        ("nothing", "default/db: there is nothing to roll out; 3 pods below the partition"),
    ],
)
def test_the_first_line_is_the_answer(case: str, summary: str) -> None:
    answer = ANSWERS[case]
    blocks = list(document(answer, View()))
    assert answer.summary == summary
    assert isinstance(blocks[0], Paragraph)
    assert blocks[0].text == summary


def test_steps_and_names() -> None:
    answer = ANSWERS["finishes"]
    assert [(step.number, step.revision, step.before, step.after) for step in answer.steps] == [
        (1, "new", 0, 1),
        (2, "old", 2, 1),
        (3, "new", 1, 2),
        (4, "old", 1, 0),
    ]
    assert len(answer.names()) == 2
    assert all(name.startswith("pod/default/web-") for name in answer.names())


def test_who_waits_is_told_with_what_the_scheduler_says() -> None:
    (group,) = ANSWERS["stands"].waiting
    assert len(group.new) == 1
    assert not group.old
    assert "anti-affinity" in group.message


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
