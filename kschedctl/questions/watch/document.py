"""The text lines of ``watch``: pods with the same result at the same time share a line."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.watch.answer import GroupWaits, OfPod, PodGone, PodPlaced, PodWaits, WatchBegun
from kschedctl.scheduler.cycle.outcome import Outcome

_MOST_NAMED: Final = 5
_WORDS: Final = {
    Outcome.ERROR: ("fails", "fail"),
    Outcome.UNSCHEDULABLE: ("fits nowhere", "fit nowhere"),
    Outcome.GATED: ("is not tried", "are not tried"),
    Outcome.SCHEDULED: ("fits now", "fit now"),
}
_GROUP_WORDS: Final = {
    Outcome.ERROR: "fails",
    Outcome.UNSCHEDULABLE: "is not scheduled",
    Outcome.GATED: "is not tried",
    Outcome.SCHEDULED: "fits now",
}
_INDENT: Final = "  "


def begun_lines(begun: WatchBegun) -> Iterator[str]:
    """Yield the first lines: what is watched, the rules, and warnings."""
    rules, size = begun.rules, f"{counted(begun.snapshot.nodes, 'node')}, {counted(begun.snapshot.pods, 'pod')}"
    yield f"{_clock(begun.at)} watching pods in {begun.pods} of {begun.context}: {size}"
    yield f"{_INDENT}rules of Kubernetes {rules.kubernetes_version} ({rules.why})"
    yield from (f"{_INDENT}warning: {warning}" for warning in begun.warnings)
    yield from (f"{_INDENT}unknown: {missing.needed_for}: {missing.effect}" for missing in begun.missing)


def said_lines(said: Sequence[OfPod]) -> Iterator[str]:
    """Yield the lines for the events of one moment."""
    together: dict[object, list[OfPod]] = {}
    for one in said:
        together.setdefault(_alike(one), []).append(one)
    for group in together.values():
        first = group[0]
        pods = listed([f"{one.namespace}/{one.name}" for one in group], most=_MOST_NAMED)
        start = f"{_clock(first.at)} {pods}"
        several = len(group) > 1
        match first:
            case PodPlaced():
                yield f"{start} {'are bound to' if several else 'is bound to'} {first.node}"
            case PodGone():
                yield f"{start} {'are deleted' if several else 'is deleted'}"
            case PodWaits():
                who = f"{start} {_WORDS[first.result][several]}"
                if isinstance(first, GroupWaits):
                    who = f"{_clock(first.at)} {first.title} {_GROUP_WORDS[first.result]}"
                if any(each.permission and each.decides for each in first.missing):
                    who += ", as far as is known"
                yield ": ".join((who, *first.causes[:1]))
                yield from (f"{_INDENT}{line}" for line in _behind(first))


def _alike(one: OfPod) -> object:
    if isinstance(one, PodPlaced):
        return one.node
    if isinstance(one, PodGone):
        return PodGone
    if isinstance(one, GroupWaits):
        return one.names(), one.message
    # Cures name the pod, and are those of its kind.
    return one.result, one.message, one.diagnoses, one.closest, one.preemption, one.missing, one.not_modelled


def _behind(waits: PodWaits) -> Iterator[str]:
    if waits.message:
        yield waits.message
    yield from waits.hints
    for cure in waits.cures:
        yield f"to fix: {cure.summary}; {f'not tried: {cure.untried}' if cure.untried else cure.then}"
    yield from (f"unknown: {missing.needed_for}: {missing.effect}" for missing in waits.missing)
    yield from (f"not modelled: {each.feature}; {each.effect}" for each in waits.not_modelled)


def _clock(at: datetime) -> str:
    return f"{at.astimezone():%H:%M:%S}"
