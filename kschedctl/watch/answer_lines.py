"""The answers of ``watch``: one line per new answer for a pod or a pod group."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, TypedDict

import numpy as np
from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Rows
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.resources import PODS, pod_requests, scheduler_units
from kschedctl.questions.answer import NotModelledData
from kschedctl.questions.answer_parts import CureData, DiagnosisData
from kschedctl.questions.explain.node_results import node_data
from kschedctl.questions.node_groups import group_nodes
from kschedctl.questions.pod_groups import pod_group_data
from kschedctl.questions.provenance import Provenance, diagnosis_data, envelope, missing_data
from kschedctl.questions.run_results import pod_cures
from kschedctl.questions.watch.answer import (
    GroupWaits,
    NodeGroupData,
    OfPod,
    PodGone,
    PodPlaced,
    PodWaits,
    PreemptionHelpData,
    WatchBegun,
    WatchCurrent,
    WatchStale,
)
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.watch.loop import Standstill
from kschedctl.watch.pod_answers import Gone, PendingReport, Placed, PodReport, said_of_nodes

# The node that comes closest to holding a pod, found among the few likely nodes of a large cluster.

#: With up to 32 nodes, the shortfall of every one is computed.
_FEW: Final = 32
#: With more, only those of the 8 nodes with the smallest shortfall and of the 8 largest nodes.
_SOME: Final = 8


def closest(decision: Decision) -> str:
    """Return the closest node and its shortfall as text, or that no node could hold the pod; "" without a shortage."""
    statuses = decision.statuses
    if statuses is None or decision.outcome is not Outcome.UNSCHEDULABLE:
        return ""
    numbers, said = statuses.distinct()
    # The code of a node that could never hold the pod differs, although the reasons are the same.
    families: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, status in enumerate(said):
        families.setdefault((status.plugin, status.reasons), []).append(number)
    # From the most frequent rejection down; only a shortage of resources has a measure.
    for rows in sorted((np.flatnonzero(np.isin(numbers, own)) for own in families.values()), key=len, reverse=True):
        asked = _likely(decision, rows) if len(rows) > _FEW else rows
        groups = group_nodes(node_data(decision, row) for row in asked.tolist())
        found = next((group.closest for group in groups if group.closest), "")
        if found:
            return found
    return ""


def _likely(decision: Decision, rows: Rows) -> Rows:
    """Return the nodes with the smallest relative shortfall of the requests, and the nodes that offer most."""
    columns = decision.cluster.resources(decision.framework.handle.request_rules)
    wanted = {**scheduler_units(pod_requests(decision.pod, decision.framework.handle.request_rules)), PODS: 1}
    lacking, offered = np.zeros(len(rows)), np.full(len(rows), np.inf)
    for name, amount in wanted.items():
        if amount and name in columns.index:
            at = columns.index[name]
            has = columns.allocatable[at][rows]
            lacking = np.maximum(lacking, (amount - (has - columns.requested[at][rows])) / amount)
            offered = np.minimum(offered, has / amount)
    hopeless = offered < 1
    near = np.lexsort((np.where(hopeless, np.inf, lacking),))[:_SOME]
    large = np.lexsort((-offered,))[:_SOME]
    likely: Rows = rows[np.unique(np.concatenate((near, large)))]
    return likely


#: At one moment, cures are searched for 3 kinds of pods, 2 each: the next change of the cluster must not wait.
_MOST_CURED: Final = 3
_MOST_CURES: Final = 2


def begun(cluster: Cluster, provenance: Provenance, context: str, pods: str, at: datetime) -> WatchBegun:
    """Return the first line."""
    return WatchBegun(at=at, context=context, pods=pods, **envelope(cluster, provenance))


def standstill_line(news: Standstill, at: datetime) -> WatchStale | WatchCurrent:
    """Return the line about a standstill."""
    if not news.problem:
        return WatchCurrent(at=at, after=round(news.seconds, 3), failures=news.failures)
    return WatchStale(at=at, age=round(news.seconds, 3), kinds=news.kinds, problem=news.problem)


class _Details(TypedDict):
    """The fields of a line that are the details behind its answer."""

    diagnoses: tuple[DiagnosisData, ...]
    groups: tuple[NodeGroupData, ...]
    closest: str
    preemption: PreemptionHelpData | None


#: The details of a pod that fits.
_NONE: Final = _Details(diagnoses=(), groups=(), closest="", preemption=None)


class Lines:
    """A maker of lines for the answers of one moment.

    The details of a decision that several pods share are computed once.
    """

    def __init__(self, at: datetime) -> None:
        self._at = at
        self._behind: dict[int, tuple[Decision, _Details]] = {}
        self._cured: dict[int, tuple[CureData, ...]] = {}

    def lines(self, told: Iterable[PodReport]) -> Iterator[tuple[Sequence[PodReport], OfPod]]:
        """Yield the lines for new answers, each with its answers: those for a pod group share a line."""
        together: dict[object, list[PodReport]] = {}
        for number, one in enumerate(told):
            key = (one.group, one.answer) if isinstance(one, PendingReport) and one.group else number
            together.setdefault(key, []).append(one)
        for reports in together.values():
            first = reports[0]
            if isinstance(first, PendingReport) and first.group:
                yield reports, self._group_waits(first, [f"{one.namespace}/{one.name}" for one in reports])
            else:
                yield reports, self.line(first)

    def _group_waits(self, first: PendingReport, pods: Sequence[str]) -> GroupWaits:
        """Return the line for a pod group, from the report for one of its pods."""
        waits = self._waits(first)
        namespace, _, name = first.group.partition("/")
        pod_group = first.cluster.cluster.get(PodGroup, name, namespace)
        decision = group_of(first.decision) if first.decision is not None else None
        told = {**structs.asdict(waits), "namespace": namespace, "name": name}
        told["uid"] = pod_group.metadata.uid if pod_group is not None else ""
        return GroupWaits(**told, pods=tuple(pods), group=pod_group_data(decision) if decision is not None else None)

    def line(self, told: PodReport) -> PodWaits | PodPlaced | PodGone:
        """Return the line for a new answer."""
        match told:
            case Placed(namespace, name, uid, node):
                return PodPlaced(at=self._at, namespace=namespace, name=name, uid=uid, node=node)
            case Gone(namespace, name, uid):
                return PodGone(at=self._at, namespace=namespace, name=name, uid=uid)
        return self._waits(told)

    def _waits(self, told: PendingReport) -> PodWaits:
        decision, pod = told.decision, told.pod
        details = self._known(decision) if decision is not None else _NONE
        missing = told.cluster.missing(pod, decision) if decision is not None else ()
        not_modelled = decision.not_modelled if decision is not None else ()
        return PodWaits(
            at=self._at,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.metadata.uid,
            result=told.answer.outcome,
            message=told.answer.message,
            **details,
            cures=self._cures_for_pod(decision) if decision is not None and not told.again else (),
            missing=tuple(map(missing_data, missing)),
            not_modelled=tuple(NotModelledData(n.feature, n.effect) for n in not_modelled),
            again=told.again,
        )

    def _cures_for_pod(self, decision: Decision) -> tuple[CureData, ...]:
        """Return cures for a pod that does not fit; none for more than 3 kinds of pods at one moment."""
        if decision.outcome is not Outcome.UNSCHEDULABLE or decision.victims:
            return ()
        if id(decision) not in self._cured:
            if len(self._cured) >= _MOST_CURED:
                return ()
            self._cured[id(decision)] = tuple(pod_cures(decision, _MOST_CURES))
        return self._cured[id(decision)]

    def _known(self, decision: Decision) -> _Details:
        known = self._behind.get(id(decision))
        if known is None:
            # The decision is retained, so that no other object can get its id.
            known = self._behind[id(decision)] = decision, _behind(decision)
        return known[1]


def _behind(decision: Decision) -> _Details:
    if decision.outcome is Outcome.SCHEDULED:
        return _NONE
    freed, preemption = None, decision.preemption
    if preemption is not None and preemption.nominated:
        first = min(preemption.nominated)
        victims = sorted(decision.cluster.pods.key(victim.pod) for victim in preemption.candidate(first).victims)
        freed = PreemptionHelpData(len(preemption.nominated), first, tuple(victims))
    return _Details(
        diagnoses=tuple(map(diagnosis_data, diagnose(decision))),
        groups=tuple(NodeGroupData(number, plugin, reasons) for plugin, reasons, number in said_of_nodes(decision)),
        closest=closest(decision),
        preemption=freed,
    )
