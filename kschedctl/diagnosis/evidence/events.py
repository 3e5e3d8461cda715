"""Events: the newest Warning of each component about an object, and the meaning of well-known messages."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.text.patterns import pattern
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.objects.event import SCHEDULER, Event
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.risk import Risk

#: The longest message in a sentence, in characters.
_LONGEST: Final = 240
_BLANKS: Final = pattern(r"\s+")


class _EventsByObject:
    """The Events of a cluster by kind, namespace and name of their object."""

    def __init__(self, cluster: Cluster) -> None:
        self.found: dict[tuple[str, str, str], list[Event]] = {}
        for event in cluster.list(Event):
            about = event.involved_object
            self.found.setdefault((about.kind, about.namespace, about.name), []).append(event)


def events_about(cluster: Cluster, kind: str, namespace: str, name: str) -> tuple[Event, ...]:
    """Return the Events about an object that other components than kube-scheduler wrote, the newest first.

    Args:
        namespace: The namespace of the object; empty for a cluster-scoped kind.
    """
    found = (event for event in _about(cluster, kind, namespace, name) if event.source.component != SCHEDULER)
    return tuple(sorted(found, key=lambda event: event.seen.timestamp() if event.seen else 0.0, reverse=True))


def last_attempt(cluster: Cluster, pod: Pod) -> datetime | None:
    """Return the last time at which kube-scheduler is known to have tried a pod; ``None`` if there is none."""
    written = (
        event.seen
        for event in _about(cluster, Pod.__name__, pod.namespace, pod.name)
        if event.source.component == SCHEDULER
    )
    noted = (each.last_transition_time for each in pod.status.conditions if each.type == "PodScheduled")
    return max((time for time in (*written, *noted) if time is not None), default=None)


def _about(cluster: Cluster, kind: str, namespace: str, name: str) -> Sequence[Event]:
    if not cluster.list(Event):
        return ()
    known = cluster.derived(_EventsByObject, None, lambda: _EventsByObject(cluster), of=(Event,)).found
    return known.get((kind, namespace, name), ())


def said(event: Event) -> str:
    """Return an Event as a clause: who wrote it, how often and when, and the words.

    >>> from kschedctl.objects.event import EventSource
    >>> said(Event(source=EventSource(component="kubelet"), reason="BackOff", message="no image", count=3))
    'kubelet (BackOff, 3 times): no image'
    """
    times = f"{event.count} times" if event.count > 1 else ""
    seen = f"{'until' if times else 'at'} {event.seen:%Y-%m-%d %H:%M} UTC" if event.seen else ""
    about = ", ".join(filter(None, (event.reason, " ".join(filter(None, (times, seen))))))
    return f"{event.source.component or 'a component'} ({about}): {one_line(event.message)}"


def one_line(message: str) -> str:
    """Return the words of another component on one line, without control characters, and cut where they are long."""
    text = _BLANKS.sub(" ", "".join(each if each.isprintable() else " " for each in message)).strip().rstrip(".")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


# The meaning of messages, as tables of patterns.


class MessageKind(msgspec.Struct, frozen=True):
    """A kind of message of another component."""

    #: The name of the cause, such as ``refused-by-quota``.
    rule: str
    #: Its named groups are fields of the texts below.
    pattern: re.Pattern[str]
    #: The cause in our words, as a clause.
    phrase: str
    #: The cures: summary, risk and command.
    cures: tuple[tuple[str, Risk, str], ...]

    @classmethod
    def of(cls, rule: str, text: str, phrase: str, *cures: tuple[str, Risk, str]) -> "MessageKind":
        return cls(rule, pattern(text, re.DOTALL), phrase, cures)


class Meaning(msgspec.Struct, frozen=True):
    """A message in our words; the fields are those of its kind."""

    rule: str
    phrase: str
    advice: tuple[Advice, ...]


def meaning(message: str, kinds: Iterable[MessageKind], untried: str, **fields: str) -> Meaning | None:
    """Return the meaning of a message; ``None`` if no kind matches.

    Args:
        untried: The reason why no cure is tried.
        fields: Further fields of the texts.
    """
    for kind in kinds:
        if (found := kind.pattern.search(message)) is not None:
            values = {**fields, **{name: one_line(text or "") for name, text in found.groupdict().items()}}
            advice = tuple(
                Advice(summary=summary.format(**values), risk=risk, untried=untried, command=command.format(**values))
                for summary, risk, command in kind.cures
            )
            return Meaning(kind.rule, kind.phrase.format(**values), advice)
    return None
