"""The answers for pending pods, each reported when it differs from the last one.

An event can help a pod or harm it, and queueing hints report help only. Therefore every pending pod is decided for
again after a change. This is cheap: pods that differ only in their names are decided for once, and plugin results are
cached per spec and computed again only for nodes that changed (`framework/result_cache.py`).

An answer consists of the outcome, the message of the FailedScheduling event, which counts the nodes by reason, and
whether preemption would help. Further details, such as the shortfall on the closest node, are reported with the answer;
a change in them alone is not reported.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kschedctl.autoscaler.karpenter.expansion import node_pool_for
from kschedctl.cluster.pod_group_trees import tried_with
from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import KschedctlError
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import GroupOutcome, Outcome
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.loaded_cluster import LoadedCluster

Name = tuple[str, str]
#: The cause for a pending pod that fits: the scheduler has not tried it again yet.
NOTHING: Final = "none"
_ERROR: Final = "error"


@dataclass(frozen=True, slots=True)
class PodAnswer:
    """An answer for a pod."""

    outcome: Outcome
    #: The reason why the pod is not scheduled, in the scheduler's words; empty if it would be scheduled.
    message: str = ""
    #: True if preemption would nominate a node.
    helped: bool = False
    #: The NodePool of the node that Karpenter would launch; empty for none.
    node_pool: str = ""

    @classmethod
    def of(cls, decision: Decision) -> "PodAnswer":
        """Return the answer that follows from a decision; for members of a group that is not scheduled, the group's."""
        match decision.outcome:
            case Outcome.SCHEDULED:
                return cls(Outcome.SCHEDULED)
            case Outcome.GATED:
                return cls(Outcome.GATED, decision.pre_enqueue.message)
            case Outcome.ERROR:
                return cls(Outcome.ERROR, decision.error)
        preemption = decision.preemption
        helped = preemption is not None and bool(preemption.nominated)
        group = group_of(decision)
        if group is None or group.outcome is GroupOutcome.SCHEDULED:
            pool = "" if helped else node_pool_for(decision.cluster, decision.pod)
            return cls(Outcome.UNSCHEDULABLE, decision.message, helped, pool)
        return cls(Outcome.UNSCHEDULABLE, group.status.message, group.outcome is GroupOutcome.PREEMPTING)


@dataclass(frozen=True, slots=True)
class PendingReport:
    """A pending pod with a new answer."""

    pod: Pod
    #: The new answer for the pod.
    answer: PodAnswer
    #: The decision for this pod or for one that differs only in its name; ``None`` if deciding fails.
    decision: Decision | None
    cluster: LoadedCluster
    #: True if another answer for the pod was reported before.
    again: bool
    #: The PodGroup that the pod is tried with, ``namespace/name``; empty for a pod that is tried by itself.
    group: str = ""

    @property
    def namespace(self) -> str:
        """The namespace of the pod."""
        return self.pod.namespace

    @property
    def name(self) -> str:
        """The name of the pod."""
        return self.pod.name

    @property
    def uid(self) -> str:
        """The UID of the pod."""
        return self.pod.metadata.uid


@dataclass(frozen=True, slots=True)
class Placed:
    """A reported pod that has been bound to a node."""

    namespace: str
    name: str
    uid: str
    node: str


@dataclass(frozen=True, slots=True)
class Gone:
    """A reported pod that has been deleted or is terminating."""

    namespace: str
    name: str
    uid: str


PodReport = PendingReport | Placed | Gone


@dataclass(slots=True)
class _Last:
    """The last reported answer for a pod."""

    uid: str
    answer: PodAnswer


@dataclass(slots=True)
class Round:
    """The result of deciding again after a change."""

    #: The new reports: pending pods with a new answer, and reported pods that were bound or deleted.
    told: list[PodReport] = field(default_factory=list)
    #: The number of pending pods by cause.
    causes: Counter[str] = field(default_factory=Counter)
    #: The number of decisions made.
    decisions: int = 0


class PodAnswers:
    """The last reported answers, for the pods that were reported.

    Args:
        chosen: Reports from a pod's metadata whether the pod is watched.
    """

    def __init__(self, chosen: Callable[[ObjectMeta], bool]) -> None:
        self._chosen = chosen
        self._last: dict[Name, _Last] = {}

    def __len__(self) -> int:
        return len(self._last)

    def forget(self) -> None:
        """Forget all answers, so that the next round reports every pending pod."""
        self._last.clear()

    def round(self, cluster: LoadedCluster) -> Round:
        """Decide for the pending pods, and return the new answers. Each pod group is decided for once."""
        out = Round()
        out.told += self._left(cluster)
        known: dict[object, tuple[Decision | None, PodAnswer, str]] = {}
        for pod in self._waiting(cluster):
            kind = _answer_key(cluster, pod)
            found = known.get(kind)
            if found is None:
                found = known[kind] = _decided(cluster, pod)
                out.decisions += 1
            decision, answer, cause = found
            group = group_of(decision) if decision is not None else None
            if group is not None and group.outcome is GroupOutcome.SCHEDULED:
                # A gang may be scheduled without some of its members.
                decision = group.of_member(pod)
                answer, cause = PodAnswer.of(decision), _cause(decision)
            out.causes[cause] += 1
            told = self._new(pod, answer)
            if told is not None:
                _, *named = tried_with(cluster.cluster, cluster.scheduler.release, pod) or ("",)
                out.told.append(PendingReport(pod, answer, decision, cluster, told, "/".join(named)))
        return out

    def _new(self, pod: Pod, answer: PodAnswer) -> bool | None:
        """Remember an answer if it must be reported.

        Return true if an earlier answer was reported, false if this answer is the pod's first, and ``None`` if it need
        not be reported.
        """
        name, uid = (pod.namespace, pod.name), pod.metadata.uid
        last = self._last.get(name)
        if last is None:
            if answer.outcome is Outcome.SCHEDULED:
                # The scheduler is about to try the pod.
                return None
            self._last[name] = _Last(uid, answer)
            return False
        if last.answer == answer:
            return None
        last.answer = answer
        return True

    def _waiting(self, cluster: LoadedCluster) -> Iterator[Pod]:
        pods, profiles = cluster.pods, cluster.configuration.profiles
        for index in np.flatnonzero(pods.node_row == PENDING).tolist():
            record = pods.records[index]
            known = record.spec.scheduler_name in profiles and record.metadata.deletion_timestamp is None
            if known and self._chosen(record.metadata):
                yield pods.pod(index)

    def _left(self, cluster: LoadedCluster) -> Iterator[Placed | Gone]:
        """Yield the reported pods that have been bound or deleted.

        These are forgotten, and so are pods that have left the selection.
        """
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


def _answer_key(cluster: LoadedCluster, pod: Pod) -> object:
    """Return a key that is equal for pods that get the same answer.

    The members of a pod group get that of the group, apart from those with scheduling gates, which some releases leave
    out. Any other pod with resource claims or ephemeral volumes gets a key of its own.
    """
    group = tried_with(cluster.cluster, cluster.scheduler.release, pod)
    if group is not None:
        return "group", group, bool(pod.spec.scheduling_gates)
    own = pod.spec.resource_claims or any(volume.ephemeral is not None for volume in pod.spec.volumes)
    return pod.key if own else cluster.kind(pod)


def _decided(cluster: LoadedCluster, pod: Pod) -> tuple[Decision | None, PodAnswer, str]:
    try:
        decision = cluster.decide(pod)
    except KschedctlError as error:
        return None, PodAnswer(Outcome.ERROR, error.summary), _ERROR
    return decision, PodAnswer.of(decision), _cause(decision)


def _cause(decision: Decision) -> str:
    """Return the cause: the plugin that gates the pod or rejects most nodes, ``none`` or ``error``."""
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
    """Return the rejections of nodes: plugin, reasons and number of nodes, the most frequent first."""
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
