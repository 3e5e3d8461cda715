"""Evictions of a simulation, from its timeline: the pods created in place of the evicted ones, and the slowest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from kschedctl.questions.answers.simulate import EvictionData, SlowestPodData
from kschedctl.trials.simulate.simulated_cluster import IN_PLACE_OF
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

_EVICTED = (TimelineEvent.EVICTED, TimelineEvent.PREEMPTED)


def preemption_evictions(timeline: Iterable[TimelineEntry]) -> tuple[EvictionData, ...]:
    """Return the pods that were evicted by preemption."""
    entries = list(timeline)
    return tuple(
        EvictionData(entry.pod, entry.node, entry.time, entry.why.removeprefix("by "), made_again, lost=lost)
        for entry, made_again, lost in _fates(entries)
        if entry.event is TimelineEvent.PREEMPTED
    )


def _fates(entries: list[TimelineEntry]) -> Iterator[tuple[TimelineEntry, str, bool]]:
    """Yield each eviction with the pod that is created in its place, and whether the pod is gone without one."""
    open_evictions: dict[str, int] = {}
    made: dict[int, str] = {}
    gone: set[int] = set()
    for i, entry in enumerate(entries):
        replaced = entry.why.removeprefix(IN_PLACE_OF) if entry.why.startswith(IN_PLACE_OF) else ""
        if entry.event in _EVICTED:
            open_evictions[entry.pod] = i
        elif entry.event is TimelineEvent.DELETED and entry.pod in open_evictions:
            gone.add(open_evictions[entry.pod])
        elif entry.event is TimelineEvent.CREATED and replaced in open_evictions:
            made[open_evictions[replaced]] = entry.pod
    for i, entry in enumerate(entries):
        if entry.event in _EVICTED:
            yield entry, made.get(i, ""), i in gone and i not in made


def slowest_to_stop(timeline: Iterable[TimelineEntry]) -> SlowestPodData | None:
    """Return the evicted pod that took longest to stop: its grace period; ``None`` if each was gone at once."""
    began: dict[str, TimelineEntry] = {}
    slowest: TimelineEntry | None = None
    longest = timedelta(0)
    for entry in timeline:
        if entry.event in _EVICTED:
            began[entry.pod] = entry
        elif entry.event is TimelineEvent.DELETED and entry.pod in began:
            start = began.pop(entry.pod)
            if entry.time - start.time > longest:
                slowest, longest = start, entry.time - start.time
    return SlowestPodData(slowest.pod, slowest.node, round(longest.total_seconds())) if slowest is not None else None
