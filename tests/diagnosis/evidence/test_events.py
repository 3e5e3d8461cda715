"""Events: whose they are, which is the newest, and their words as a part of a sentence."""

from datetime import UTC, datetime

import pytest

from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.evidence.events import MessageKind, events_about, meaning, one_line, said
from kschedctl.objects.event import Event, EventSource, ObjectReference
from kschedctl.objects.meta import ObjectMeta
from kschedctl.scheduler.framework.risk import Risk
from tests.builders import make_cluster

_NOON = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


def _event(name: str, component: str, minute: int, message: str = "no image") -> Event:
    return Event(
        metadata=ObjectMeta(name=name, namespace="shop"),
        involved_object=ObjectReference(kind="Job", namespace="shop", name="web"),
        source=EventSource(component=component),
        type="Warning",
        reason="Failed",
        message=message,
        last_timestamp=_NOON.replace(minute=minute),
    )


def test_the_newest_comes_first_and_the_schedulers_own_are_left_out() -> None:
    events = [_event("a", "kubelet", 1), _event("b", "default-scheduler", 3), _event("c", "volcano", 2)]
    cluster = make_cluster([], [], *events)
    assert [each.source.component for each in events_about(cluster, "Job", "shop", "web")] == ["volcano", "kubelet"]
    assert events_about(cluster, "Pod", "other", "web") == ()
    assert events_about(cluster, "Pod", "shop", "web") == ()


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("one line.", "one line"),
        ("two\n\tlines", "two lines"),
        ("red \x1b[31m words\x00", "red [31m words"),
        ("turned \u202eround", "turned round"),
        ("x" * 240, "x" * 240),
        ("x" * 241, f"{'x' * 240}..."),
        ("", ""),
    ],
)
def test_words_of_others_are_one_line_without_control_characters(message: str, line: str) -> None:
    assert one_line(message) == line


def test_an_event_is_said_with_its_component_reason_and_time() -> None:
    assert said(_event("a", "", 5)) == "a component (Failed, at 2026-11-01 12:05 UTC): no image"


def test_the_meaning_of_a_message_has_its_fields_on_one_line() -> None:
    kind = MessageKind.of(
        "full", r"queue (?P<queue>.+) is full", "queue {queue} of {owner} is full", ("wait", Risk.WAIT, "")
    )
    found = meaning("queue a\nb is full", [kind], "others decide", owner="kueue")
    assert found is not None
    assert (found.rule, found.phrase) == ("full", "queue a b of kueue is full")
    assert found.advice == (Advice(summary="wait", risk=Risk.WAIT, untried="others decide", command=""),)
    assert meaning("all is well", [kind], "others decide") is None
