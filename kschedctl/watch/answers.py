"""What is said of each pod that waits: its answer, whenever that is another than the last one.

An event can help a pod as well as harm it, and queueing hints tell of help alone, so every pod that waits is decided
for again after a change. That costs little: pods that differ in their name alone are decided for once, and what plugins
said is kept for pods of one spec and asked again only about the nodes that changed (`framework/result_cache.py`).

An answer is what comes of the pod, the message of its FailedScheduling event, which counts the nodes by reason, and
whether preemption would help. What lies behind it, such as how much the closest node lacks, is told with it and is no
reason to tell it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kschedctl.api.meta import ObjectMeta
from kschedctl.api.pod import Pod
from kschedctl.cluster.records import PENDING
from kschedctl.errors import KschedctlError
from kschedctl.face import SchedulingCluster
from kschedctl.framework.status import Code
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.outcome import Outcome

Name = tuple[str, str]
#: Why a pod waits that fits by now: for its turn.
NOTHING: Final = "none"
_ERROR: Final = "error"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of a pod.

    Attributes
    ----------
    outcome : Outcome
        What comes of it.
    message : str
        Why it is not scheduled, in the scheduler's words; empty where it would be.
    helped : bool
        Whether preemption would make room on a node.
    """

    outcome: Outcome
    message: str = ""
    helped: bool = False

    @classmethod
    def of(cls, decision: Decision) -> Answer:
        """The answer that a decision comes to."""
        match decision.outcome:
            case Outcome.SCHEDULED:
                return cls(Outcome.SCHEDULED)
            case Outcome.GATED:
                return cls(Outcome.GATED, decision.pre_enqueue.message)
            case Outcome.ERROR:
                return cls(Outcome.ERROR, decision.error)
        preemption = decision.preemption
        return cls(Outcome.UNSCHEDULABLE, decision.message, preemption is not None and bool(preemption.nominated))


@dataclass(frozen=True, slots=True)
class Waits:
    """A pod waits, and its answer is another than before.

    Attributes
    ----------
    pod : Pod
        The pod.
    answer : Answer
        What is said of it.
    decision : Decision or None
        What it comes from, made for this pod or one that differs in its name alone; ``None`` where none can be made.
    cluster : SchedulingCluster
        What was decided over.
    again : bool
        Whether another answer of the pod was told before.
    """

    pod: Pod
    answer: Answer
    decision: Decision | None
    cluster: SchedulingCluster
    again: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod that an answer was told of has got a node."""

    namespace: str
    name: str
    uid: str
    node: str


@dataclass(frozen=True, slots=True)
class Gone:
    """A pod that an answer was told of is gone, or on its way."""

    namespace: str
    name: str
    uid: str


Told = Waits | Placed | Gone


@dataclass(slots=True)
class _Last:
    """What was told last of a pod."""

    uid: str
    answer: Answer


@dataclass(slots=True)
class Round:
    """What there is to say after a change.

    Attributes
    ----------
    told : list
        What was not said yet.
    causes : Counter
        How many pods wait, by the plugin that most nodes stop at.
    decisions : int
        How many decisions that took.
    """

    told: list[Told] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)
    decisions: int = 0


class Answers:
    """Remembers the last answer of every pod that one was told of, and nothing of others.

    Parameters
    ----------
    chosen : callable
        Whether a pod is meant, by its metadata.
    """

    def __init__(self, chosen: Callable[[ObjectMeta], bool]) -> None:
        self._chosen = chosen
        self._last: dict[Name, _Last] = {}

    def __len__(self) -> int:
        return len(self._last)

    def forget(self) -> None:
        """Have everything said anew."""
        self._last.clear()

    def round(self, cluster: SchedulingCluster) -> Round:
        """Decide for the pods that wait, and say what is new.

        Parameters
        ----------
        cluster : SchedulingCluster
            The cluster as it is now.
        """
        out = Round()
        out.told += self._left(cluster)
        known: dict[object, tuple[Decision | None, Answer, str]] = {}
        for pod in self._waiting(cluster):
            kind = _kind(cluster, pod)
            found = known.get(kind)
            if found is None:
                found = known[kind] = _decided(cluster, pod)
                out.decisions += 1
            decision, answer, cause = found
            out.causes[cause] += 1
            told = self._new(pod, answer)
            if told is not None:
                out.told.append(Waits(pod, answer, decision, cluster, told))
        return out

    def _new(self, pod: Pod, answer: Answer) -> bool | None:
        """Whether one was told before of a pod whose answer is new; ``None`` where it is not."""
        name, uid = (pod.namespace, pod.name), pod.metadata.uid
        last = self._last.get(name)
        if last is None:
            if answer.outcome is Outcome.SCHEDULED:
                # It has its turn in a moment.
                return None
            self._last[name] = _Last(uid, answer)
            return False
        if last.answer == answer:
            return None
        last.answer = answer
        return True

    def _waiting(self, cluster: SchedulingCluster) -> Iterator[Pod]:
        pods, profiles = cluster.pods, cluster.configuration.profiles
        for index in np.flatnonzero(pods.node_row == PENDING).tolist():
            record = pods.records[index]
            known = record.spec.scheduler_name in profiles and record.metadata.deletion_timestamp is None
            if known and self._chosen(record.metadata):
                yield pods.pod(index)

    def _left(self, cluster: SchedulingCluster) -> Iterator[Placed | Gone]:
        """The pods that do not wait any more; they are forgotten."""
        pods = cluster.pods
        for name, last in tuple(self._last.items()):
            index = pods.index.get(name)
            record = pods.records[index] if index is not None else None
            if record is None or record.metadata.uid != last.uid:
                del self._last[name]
                yield Gone(*name, last.uid)
            elif record.node_name:
                del self._last[name]
                yield Placed(*name, last.uid, record.node_name)
            elif record.metadata.deletion_timestamp is not None:
                del self._last[name]
                yield Gone(*name, last.uid)
            elif not self._chosen(record.metadata):
                del self._last[name]


def _kind(cluster: SchedulingCluster, pod: Pod) -> object:
    """What tells a pod apart from those that fare as it does; pods have claims that are made for them alone."""
    own = pod.spec.resource_claims or any(volume.ephemeral is not None for volume in pod.spec.volumes)
    return pod.key if own else cluster.kind(pod)


def _decided(cluster: SchedulingCluster, pod: Pod) -> tuple[Decision | None, Answer, str]:
    try:
        decision = cluster.decide(pod)
    except KschedctlError as error:
        return None, Answer(Outcome.ERROR, str(error)), _ERROR
    return decision, Answer.of(decision), _cause(decision)


def _cause(decision: Decision) -> str:
    """The plugin that most nodes stop at."""
    match decision.outcome:
        case Outcome.SCHEDULED:
            return NOTHING
        case Outcome.ERROR:
            return _ERROR
        case Outcome.GATED:
            return decision.pre_enqueue.plugin
    by_plugin: Counter[str] = Counter()
    for plugin, _, number in said_of_nodes(decision):
        by_plugin[plugin] += number
    return max(by_plugin, key=lambda plugin: (by_plugin[plugin], plugin), default=NOTHING) or NOTHING


def said_of_nodes(decision: Decision) -> list[tuple[str, tuple[str, ...], int]]:
    """What the nodes are out for: plugin, reasons and number of nodes, the most first."""
    if decision.statuses is None:
        status = decision.pre_filter.status if decision.pre_filter is not None else decision.pre_enqueue
        return [(status.plugin, status.reasons, len(decision.cluster.nodes))] if status.code is not Code.SUCCESS else []
    numbers, statuses = decision.statuses.distinct()
    counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for status, number in zip(statuses, np.bincount(numbers, minlength=len(statuses)).tolist(), strict=True):
        if number and status.code is not Code.SUCCESS:
            counts[status.plugin, status.reasons] += number
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(plugin, reasons, number) for (plugin, reasons), number in ordered]
