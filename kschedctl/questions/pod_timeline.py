"""Timelines of pods: the states of each pod over a simulation; of many pods, the busy periods of each node."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from typing import Final

from kschedctl.common.wording import counted
from kschedctl.questions.charts import Kind, Lane, Span, Timeline
from kschedctl.questions.document import Tone
from kschedctl.trials.simulate.timeline import TimelineEntry, TimelineEvent

#: The largest number of lanes.
_MOST_LANES: Final = 100
#: The timeline ends after the last event, by this factor, so that the last states are drawn; at least, in seconds.
_BEYOND: Final = 1.05
_SHORTEST: Final = 0.001
#: Arrivals on a node with a shorter pause between them, in seconds, are one period.
_PAUSE: Final = 1.0

_QUEUED: Final = Kind("in the queue", Tone.FAINT)
_GATED: Final = Kind("gated", Tone.PLAIN)
_REJECTED: Final = Kind("pending after a failed attempt", Tone.BAD)
_NOMINATED: Final = Kind("waits for victims", Tone.PLAIN)
_PERMIT: Final = Kind("waits on Permit", Tone.PLAIN)
_RUNNING: Final = Kind("running", Tone.GOOD)
_ENDING: Final = Kind("terminating", Tone.MIXED)
_KINDS: Final = (_QUEUED, _GATED, _REJECTED, _NOMINATED, _PERMIT, _RUNNING, _ENDING)
_ARRIVING: Final = Kind("pods arrive", Tone.GOOD)
_LEAVING: Final = Kind("pods terminate", Tone.MIXED)
#: The states of pods that wait without a failed attempt, by the event that leads to them.
_WAITING: Final = {TimelineEvent.CREATED: _QUEUED, TimelineEvent.GATED: _GATED, TimelineEvent.WAITING: _PERMIT}
_EVICTED: Final = frozenset({TimelineEvent.EVICTED, TimelineEvent.PREEMPTED})
#: The events of a pod that goes through the scheduler without delay: it has no history to draw.
_SMOOTH: Final = frozenset({TimelineEvent.CREATED, TimelineEvent.SCHEDULED})


def pod_timeline(entries: Sequence[TimelineEntry], began: datetime) -> Timeline | None:
    """Return the states of pods over time; ``None`` if nothing happens.

    Up to 100 pods have a lane each: evicted pods before pods that fail an attempt, and those before the others. If more
    than 100 pods are evicted, each node has a lane.

    Args:
        entries: The events, in the order of time.
        began: The start of the timeline on the virtual clock.
    """
    if not entries:
        return None
    of_pod: dict[str, list[TimelineEntry]] = defaultdict(list)
    for entry in entries:
        of_pod[entry.pod].append(entry)
    end = float(ceil(max((entries[-1].time - began).total_seconds() * _BEYOND, _SHORTEST)))
    if sum(_rank(events) == 0 for events in of_pod.values()) > _MOST_LANES:
        return _node_timeline(entries, began, end)
    shown = frozenset(sorted(of_pod, key=lambda pod: _rank(of_pod[pod]))[:_MOST_LANES])
    histories = [(pod, list(_states(events, began, end))) for pod, events in of_pod.items() if pod in shown]
    kinds = tuple(kind for kind in _KINDS if any(state.kind is kind for _, states in histories for state in states))
    left = len(of_pod) - len(shown)
    return Timeline(
        title="Pods over time",
        subject="pod",
        kinds=kinds,
        lanes=tuple(Lane(pod, tuple(state.span(kinds) for state in states)) for pod, states in histories),
        end=end,
        note=f"left out: {counted(left, 'pod')} with shorter histories" if left else "",
    )


def _rank(events: Sequence[TimelineEntry]) -> int:
    """Return the rank of a pod: 0 for evicted pods, 1 for pods with other events than creation and binding, else 2."""
    kinds = {each.event for each in events}
    return 0 if kinds & _EVICTED else 1 if kinds - _SMOOTH else 2


@dataclass(slots=True)
class _State:
    """A state of a pod between two times, in seconds since the start."""

    begin: float
    end: float
    kind: Kind
    text: str
    attempts: int = 0

    def span(self, kinds: Sequence[Kind]) -> Span:
        tried = f"{counted(self.attempts, 'failed attempt')}: " if self.attempts > 1 else ""
        return Span(self.begin, self.end, kinds.index(self.kind), tried + self.text)


def _states(events: Sequence[TimelineEntry], began: datetime, end: float) -> Iterator[_State]:
    """Yield the states of a pod; failed attempts in a row are one state, with the message of the last one."""
    first = events[0]
    current: _State | None = _State(0.0, 0.0, _QUEUED, "")
    match first.event:
        case TimelineEvent.CREATED:
            current = None
        case TimelineEvent.PREEMPTED | TimelineEvent.EVICTED:
            current = _State(0.0, 0.0, _RUNNING, f"on {first.node}")
        case TimelineEvent.DELETED:
            current = _State(0.0, 0.0, _ENDING, f"on {first.node}" if first.node else "")
    for entry in events:
        now = (entry.time - began).total_seconds()
        following = _after(entry, now, current)
        if current is not None and following is not None and current.kind is following.kind is _REJECTED:
            current.attempts, current.text = current.attempts + 1, following.text
            continue
        if current is not None and current.begin < now:
            current.end = now
            yield current
        current = following
    if current is not None:
        current.end = end
        yield current


def _after(entry: TimelineEntry, now: float, current: _State | None) -> _State | None:
    """Return the state of a pod after an event; ``None`` if the pod is gone."""
    match entry.event:
        case TimelineEvent.DELETED:
            return None
        case TimelineEvent.PREEMPTED:
            return _State(now, now, _ENDING, f"on {entry.node}, preempted {entry.why}")
        case TimelineEvent.EVICTED:
            return _State(now, now, _ENDING, f"on {entry.node}, evicted")
        case TimelineEvent.SCHEDULED:
            return _State(now, now, _RUNNING, f"on {entry.node}")
        case TimelineEvent.FAILED:
            # A pod that waited on Permit fails with the node that it was scheduled to, without a nomination.
            nominated = entry.node and (current is None or current.kind is not _PERMIT)
            kind, node = (_NOMINATED, f"on {entry.node}: ") if nominated else (_REJECTED, "")
            return _State(now, now, kind, node + entry.why, attempts=1)
    return _State(now, now, _WAITING[entry.event], entry.why)


@dataclass(slots=True)
class _NodePeriods:
    """The periods of a node: pods that arrive, and pods that terminate."""

    #: Begin, end and number of pods of each period.
    arrivals: list[tuple[float, float, int]] = field(default_factory=list)
    #: The same for pods that terminate.
    departures: list[tuple[float, float, int]] = field(default_factory=list)
    #: The pods that terminate now, with the time at which they began to.
    ending: dict[str, float] = field(default_factory=dict)

    @property
    def pods(self) -> int:
        """The number of pods that arrive or leave."""
        return sum(number for *_, number in (*self.arrivals, *self.departures))


def _node_timeline(entries: Sequence[TimelineEntry], began: datetime, end: float) -> Timeline:
    nodes: dict[str, _NodePeriods] = defaultdict(_NodePeriods)
    for entry in entries:
        now = (entry.time - began).total_seconds()
        match entry.event:
            case TimelineEvent.SCHEDULED:
                _extend_periods(nodes[entry.node].arrivals, now, now)
            case TimelineEvent.PREEMPTED | TimelineEvent.EVICTED:
                nodes[entry.node].ending[entry.pod] = now
            case TimelineEvent.DELETED if entry.node:
                periods = nodes[entry.node]
                _extend_periods(periods.departures, periods.ending.pop(entry.pod, 0.0), now)
    for periods in nodes.values():
        for since in periods.ending.values():
            _extend_periods(periods.departures, since, end)
    busiest = frozenset(sorted(nodes, key=lambda name: -nodes[name].pods)[:_MOST_LANES])
    shown = [name for name in nodes if name in busiest]
    left = len(nodes) - len(shown)
    others = f"; left out: {counted(left, 'node')} with fewer pods that arrive or terminate" if left else ""
    return Timeline(
        title="Nodes over time",
        subject="node",
        kinds=(_ARRIVING, _LEAVING),
        lanes=tuple(
            Lane(
                name,
                tuple(
                    Span(start, stop, kind, counted(number, "pod"))
                    for start, stop, number, kind in sorted(
                        [(*period, 1) for period in nodes[name].departures]
                        + [(*period, 0) for period in nodes[name].arrivals]
                    )
                ),
            )
            for name in shown
        ),
        end=end,
        note=f"by node, because more than {_MOST_LANES} pods are evicted{others}",
    )


def _extend_periods(periods: list[tuple[float, float, int]], begin: float, end: float) -> None:
    """Add a pod to the last period if it is in it or shortly after it."""
    if periods and begin <= periods[-1][1] + _PAUSE:
        first, last, number = periods[-1]
        periods[-1] = min(first, begin), max(last, end), number + 1
    else:
        periods.append((begin, end, 1))
