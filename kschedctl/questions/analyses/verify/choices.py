"""The nodes of the pods that were scheduled last, compared with the choices of every start of the search.

A pod is decided for again in the cluster as it was when the pod was bound, as far as a snapshot shows it: without the
pod itself and the pods that were bound later. A snapshot has neither the pods that ended since nor earlier nodes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PodRecord
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.verify.pending import POD_SCHEDULED
from kschedctl.questions.analyses.verify.running_pods import STATIC_OWNER, names_nodes
from kschedctl.questions.answers.verify import Choice, ChosenNodeData
from kschedctl.scheduler.cycle.sampling import starts_to
from kschedctl.scheduler.cycle.scheduler import Scheduler

#: The number of pods that are compared. The older a pod, the more pods have ended since it was bound.
MOST: Final = 100
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def compare_choices(
    scheduler: Scheduler, left_out: set[str], handle: AnalysisHandle, namespace: str = ""
) -> tuple[ChosenNodeData, ...]:
    """Compare the nodes of the pods that were scheduled last, up to 100 of them, the newest first.

    Pods that name their nodes, such as those of a DaemonSet, and members of pod groups are passed over.

    Parameters
    ----------
    left_out : set of str
        The pods not to compare, ``namespace/name``: those that would not fit on their nodes any more.
    namespace : str
        The only namespace to look in; empty for all.
    """
    pods, newest = scheduler.cluster.pods, _newest_first(scheduler.cluster)
    asked = (
        place
        for place, index in enumerate(newest)
        if namespace in ("", pods.records[index].metadata.namespace)
        and pods.key(index) not in left_out
        and _is_compared(scheduler, index)
    )
    places = list(islice(asked, MOST))
    return tuple(_compared(scheduler, newest[: place + 1]) for place in handle.track(places, "comparing chosen nodes"))


def _is_compared(scheduler: Scheduler, index: int) -> bool:
    """Report whether the scheduler chose the node of a pod, and chose it for this pod alone."""
    pod, owner = scheduler.cluster.pods.pod(index), scheduler.cluster.pods.owner(index)
    in_group = scheduler.release.pod_groups and pod.spec.pod_group_name
    static = owner is not None and owner.kind == STATIC_OWNER
    return scheduler.knows(pod) and not (in_group or static or names_nodes(pod.spec))


def _newest_first(cluster: Cluster) -> list[int]:
    """Return the pods on nodes, the one that was bound last first; within a second by creation, then as listed."""
    records = cluster.pods.records
    bound = [i for i, row in enumerate(cluster.pods.node_row.tolist()) if row >= 0]

    def age(index: int) -> tuple[datetime, datetime, int]:
        return _bound_at(records[index]), records[index].metadata.creation_timestamp or _LONG_AGO, index

    return sorted(bound, key=age, reverse=True)


def _bound_at(record: PodRecord) -> datetime:
    """Return the time at which a pod was bound: that of its condition PodScheduled, or else a time close to it."""
    scheduled = (each.last_transition_time for each in record.status.conditions if each.type == POD_SCHEDULED)
    times = (*scheduled, record.status.start_time, record.metadata.creation_timestamp)
    return next((time for time in times if time is not None), _LONG_AGO)


def _compared(scheduler: Scheduler, later: list[int]) -> ChosenNodeData:
    """Return the result for a pod, the last one in a list that begins with the pods that were bound later."""
    cluster = scheduler.cluster
    pod, node = cluster.pods.pod(later[-1]), cluster.pods.records[later[-1]].node_name
    # The pods that are nominated now got their nominations later.
    then = scheduler.moved(cluster.with_pods(removed=[*later, *cluster.pods.nominated.tolist()]))
    decision = then.decide(pod)
    starts = 0
    if decision.schedulable:
        percentage = then.percentage_of_nodes_to_score(pod.spec.scheduler_name)
        starts = starts_to(decision, percentage, cluster.nodes.row[node])
    choice = Choice.SAMPLED if starts else Choice.UNEXPLAINED
    return ChosenNodeData(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        node=node,
        choice=Choice.BEST if node in decision.best else choice,
        best=decision.best,
        starts=starts,
        of_starts=len(decision.searched),
    )
