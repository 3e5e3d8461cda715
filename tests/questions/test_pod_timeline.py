"""Timelines of pods: the states that events lead to, and the lanes of many pods."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from kschedctl.questions.charts import Timeline
from kschedctl.questions.pod_timeline import pod_timeline
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

BEGAN = datetime(2026, 5, 4, tzinfo=UTC)


def entry(text: str) -> TimelineEntry:
    """Read an event such as ``30 web Scheduled node-1``; the reason comes after a colon."""
    event, _, why = text.partition(": ")
    seconds, pod, kind, *node = event.split()
    return TimelineEntry(BEGAN + timedelta(seconds=float(seconds)), pod, TimelineEvent(kind), "".join(node), why)


def timeline(*events: str) -> Timeline:
    made = pod_timeline([entry(event) for event in events], BEGAN)
    assert made is not None
    return made


def shown(chart: Timeline) -> list[str]:
    return [
        f"{lane.name} {span.begin:g}-{span.end:g} {chart.kinds[span.kind].name}{f', {span.text}' if span.text else ''}"
        for lane in chart.lanes
        for span in lane.spans
    ]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            ["2 web Scheduled a", "10 job Created"],
            ["web 0-2 in the queue", "web 2-11 running, on a", "job 10-11 in the queue"],
            id="a pod of the snapshot, and a new one",
        ),
        pytest.param(
            ["1 web FailedScheduling: no cpu", "5 web FailedScheduling: no memory", "20 web Scheduled a"],
            [
                "web 0-1 in the queue",
                "web 1-20 pending after a failed attempt, 2 failed attempts: no memory",
                "web 20-21 running, on a",
            ],
            id="failed attempts in a row",
        ),
        pytest.param(
            ["1 web FailedScheduling a: no cpu", "1 job Preempted a: by web", "31 job Deleted a", "40 web Scheduled a"],
            [
                "web 0-1 in the queue",
                "web 1-40 waits for victims, on a: no cpu",
                "web 40-42 running, on a",
                "job 0-1 running, on a",
                "job 1-31 terminating, on a, preempted by web",
            ],
            id="preemption",
        ),
        pytest.param(
            ["0 db Evicted a", "30 db Deleted a", "30 db Created: in place of db", "35 db Scheduled b"],
            ["db 0-30 terminating, on a, evicted", "db 30-35 in the queue, in place of db", "db 35-37 running, on b"],
            id="a pod that comes back under its name",
        ),
        pytest.param(
            ["1 web WaitingOnPermit a: for Gang", "5 web FailedScheduling a: timeout", "10 old Deleted b"],
            [
                "web 0-1 in the queue",
                "web 1-5 waits on Permit, for Gang",
                "web 5-11 pending after a failed attempt, timeout",
                "old 0-10 terminating, on b",
            ],
            id="a node without a nomination, and a pod that is being deleted at first",
        ),
        pytest.param(
            ["0 web SchedulingGated: gates", "20 web Deleted"], ["web 0-20 gated, gates"], id="a gated pod is deleted"
        ),
    ],
)
def test_states(events: list[str], expected: list[str]) -> None:
    assert shown(timeline(*events)) == expected


def test_nothing_happens() -> None:
    assert pod_timeline([], BEGAN) is None


def numbered(number: int, *events: str) -> Iterable[str]:
    return (event.replace("POD", f"pod-{i}") for event in events for i in range(number))


@pytest.mark.parametrize(
    ("events", "title", "lanes", "first", "note"),
    [
        pytest.param(
            [*numbered(120, "1 POD Scheduled a"), "2 late FailedScheduling: no cpu"],
            "Pods over time",
            100,
            "pod-0 0-1 in the queue",
            "left out: 21 pods with shorter histories",
            id="many pods at the first attempt",
        ),
        pytest.param(
            [*numbered(101, "1 POD Evicted a", "31 POD Deleted a", "32 POD Scheduled b"), "50 x Evicted c"],
            "Nodes over time",
            3,
            "a 1-31 pods terminate, 101 pods",
            "by node, because more than 100 pods are evicted",
            id="many evicted pods",
        ),
    ],
)
def test_many_pods(events: list[str], title: str, lanes: int, first: str, note: str) -> None:
    chart = timeline(*events)
    assert (chart.title, len(chart.lanes), shown(chart)[0], chart.note) == (title, lanes, first, note)


def test_pods_with_a_history_come_first() -> None:
    chart = timeline(*numbered(120, "1 POD Scheduled a"), "2 late FailedScheduling: no cpu")
    assert "late" in {lane.name for lane in chart.lanes}
