"""The messages for pending pods beside those that kube-scheduler stored in their condition PodScheduled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Condition
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.verify.disagreement import CUT, FAILED, GATED, without_preemption
from kschedctl.questions.answers.verify import ComparedPodData, Match, PendingGroupData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.pod_group_cycle import DecidedGroups
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.completeness import find_missing
from kschedctl.trials.simulate.simulated_cluster import pending_pods

_Decide = Callable[[Pod], Decision]
_DecideThen = Callable[[Pod], Decision | None]
#: The type of the condition that the scheduler writes.
POD_SCHEDULED: Final = "PodScheduled"
#: The cause of a difference that the what-ifs make.
WHAT_IF: Final = "the what-ifs cause it: without them there is no difference"
#: The end of a message that was stored when preemption freed capacity, from 1.37 on.
_PLACEMENT: Final = re.compile(
    r" preemption: found a potential placement for pod on node (\S+), preempting \d+ victims$"
)
_N_NODES: Final = re.compile(r"0/(\d{1,18}) nodes are available")


def check_pending_pods(
    scheduler: Scheduler, before: Scheduler | None, handle: AnalysisHandle, namespace: str = ""
) -> list[PendingGroupData]:
    """Compare the message of each pending pod, in the order in which the scheduler tries them.

    Members of a pod group are decided for together.

    Parameters
    ----------
    before : Scheduler or None
        The scheduler without the what-ifs, if there are any.
    namespace : str
        The only namespace to look in; empty for all.
    """
    records = scheduler.cluster.pods.records
    asked = [i for i in pending_pods(scheduler.cluster) if namespace in ("", records[i].metadata.namespace)]
    decide = DecidedGroups(scheduler.decide_as_scheduled).decide
    then = _deciding(before) if before is not None else None
    return [_compared(scheduler, decide, index, then) for index in handle.track(asked, "comparing pending pods")]


def _deciding(before: Scheduler) -> _DecideThen:
    """Return a function that decides for a pod in the cluster without the what-ifs, if it has the pod."""
    groups, pods = DecidedGroups(before.decide_as_scheduled), before.cluster.pods

    def decide(pod: Pod) -> Decision | None:
        index = pods.index.get((pod.namespace, pod.name))
        return groups.decide(pods.pod(index)) if index is not None else None

    return decide


def _compared(scheduler: Scheduler, decide: _Decide, index: int, before: _DecideThen | None) -> PendingGroupData:
    cluster = scheduler.cluster
    pod = cluster.pods.pod(index)
    named = (ComparedPodData(pod.metadata.namespace, pod.metadata.name),)
    condition = next((c for c in pod.status.conditions if c.type == POD_SCHEDULED), None)
    theirs = condition.message if condition is not None else ""
    if not scheduler.knows(pod):
        return PendingGroupData(Match.OTHER_SCHEDULER, theirs, "", (), named)
    decision = decide(pod)
    ours = decision_text(decision)
    if condition is None or not condition.reason:
        return PendingGroupData(Match.NOT_TRIED, theirs, ours, (), named)
    if _same(condition, decision):
        return PendingGroupData(Match.EQUAL, theirs, ours, (), named)
    if _waits_for_victims(condition, decision):
        return PendingGroupData(Match.NOMINATED, theirs, ours, (), named)
    if decision.outcome is Outcome.GATED and not pod.spec.scheduling_gates:
        held = next((each.cause for each in diagnose(decision)), decision.pre_enqueue.message)
        return PendingGroupData(Match.NOT_TRIED, theirs, ours, (f"not tried any more: {held}",), named)
    causes = tuple(_causes(cluster, condition, decision))
    if before is not None and _was_same(condition, before(pod)):
        return PendingGroupData(Match.DIFFERENT, theirs, ours, (WHAT_IF, *causes), named)
    # Pods that came later only take capacity: they do not explain that the pod fits.
    younger = 0 if decision.schedulable else _younger_pods(cluster, condition.last_transition_time)
    if younger:
        aged = f"the message is older than {counted(younger, 'running pod')}, which its numbers do not count"
        return PendingGroupData(Match.AGED, theirs, ours, (aged, *causes), named)
    return PendingGroupData(Match.DIFFERENT, theirs, ours, causes, named)


def _was_same(condition: Condition, decision: Decision | None) -> bool:
    """Report whether our answer without the what-ifs equals the stored one."""
    return decision is not None and (_same(condition, decision) or _waits_for_victims(condition, decision))


def decision_text(decision: Decision) -> str:
    """Return a decision in one line: kube-scheduler's own message, if it has one."""
    if decision.error:
        return decision.error
    if decision.pre_enqueue.code is not Code.SUCCESS:
        return decision.pre_enqueue.message
    return decision.message or f"would be scheduled to {listed(decision.best, 'or')}"


def _same(condition: Condition, decision: Decision) -> bool:
    gated = decision.pre_enqueue.code is not Code.SUCCESS
    if condition.reason == GATED or gated:
        return condition.reason == GATED and gated
    if condition.reason == FAILED or decision.error:
        # The words of an error hold moments and addresses.
        return condition.reason == FAILED and bool(decision.error)
    theirs = condition.message
    if theirs.endswith(CUT):
        return bool(decision.message) and decision.message.startswith(theirs.removesuffix(CUT))
    return theirs in _messages(decision)


def _waits_for_victims(condition: Condition, decision: Decision) -> bool:
    """Report whether the message is that of the cycle that evicted the victims."""
    # No other message follows until the victims are gone.
    own = decision.pod.status.nominated_node_name
    return bool(own) and _without_placement(condition.message, own) == without_preemption(decision.message)


def _messages(decision: Decision) -> set[str]:
    """Return the possible messages: they contain the node that the scheduler takes, which may be a random choice."""
    found = decision.preemption
    nodes = found.nominated if found is not None else ()
    if found is None or not nodes or not decision.release.preemption_names_node:
        return {decision.message}
    return {decision.message.replace(found.placement(nodes[0]), found.placement(node)) for node in nodes}


def _without_placement(message: str, node: str) -> str:
    """Return the message without the placement on a node at its end."""
    found = _PLACEMENT.search(message)
    return message[: found.start()] if found and found[1] == node else message


def _causes(cluster: Cluster, condition: Condition, decision: Decision) -> Iterator[str]:
    theirs, ours = condition.message, decision.message
    if theirs.endswith(CUT):
        yield "the stored message is truncated"
    if ours and without_preemption(theirs) == without_preemption(ours):
        yield "only the part about preemption differs: it depends on pods that are being deleted or were nominated"
    yield from _snapshot_causes(cluster, theirs, decision)
    changes = _changes_since(cluster, condition.last_transition_time)
    if changes:
        yield f"{listed(changes)} after the pod became pending"
    if cluster.taken_at is not None and condition.last_transition_time is not None:
        older = condition.last_transition_time - cluster.taken_at
        if older.total_seconds() > 0:
            yield f"the snapshot is {counted(int(older.total_seconds()) + 1, 'second')} older than the condition"
    yield "the cluster's scheduler may have another configuration (--config), release or feature gates"


def _snapshot_causes(cluster: Cluster, theirs: str, decision: Decision) -> Iterator[str]:
    """Yield the causes in the snapshot for an answer that differs from the stored one."""
    stored = _N_NODES.search(theirs)
    n_nodes = len(cluster.nodes)
    if stored is not None and int(stored[1]) != n_nodes:
        yield f"the scheduler looked at {counted(int(stored[1]), 'node')}, the snapshot has {n_nodes}"
    if decision.schedulable:
        yield "it fits now: the scheduler has not retried it since capacity was freed"
    for missing in find_missing(cluster, decision.pod):
        yield f"not in the snapshot: {missing}"
    for feature in decision.not_modelled:
        yield f"not modelled: {feature.feature}; {feature.effect}"
    nominated = decision.framework.nominated_pods(decision.pod)
    if len(nominated):
        names = [cluster.pods.key(index) for index in nominated.tolist()]
        yield f"{listed(names)} {_are(names)} nominated to a node, which can change at any moment"
    pods = cluster.pods
    terminating = [pods.key(i) for i, r in enumerate(pods.records) if r.metadata.deletion_timestamp is not None]
    if terminating:
        yield f"{listed(terminating)} {_are(terminating)} being deleted"


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _changes_since(cluster: Cluster, moment: datetime | None) -> list[str]:
    """Return the numbers of nodes and running pods that are younger than a moment, as text."""
    nodes = sum(_younger(node.metadata, moment) for node in cluster.nodes.objects)
    bound = _younger_pods(cluster, moment)
    changes = [f"{counted(nodes, 'node')} {_were(nodes)} created"] if nodes else []
    return [*changes, f"{counted(bound, 'running pod')} {_were(bound)} created"] if bound else changes


def _younger_pods(cluster: Cluster, moment: datetime | None) -> int:
    """Return the number of running pods that are younger than a moment."""
    return sum(bool(record.node_name) and _younger(record.metadata, moment) for record in cluster.pods.records)


def _younger(metadata: ObjectMeta, moment: datetime | None) -> bool:
    created = metadata.creation_timestamp
    return created is not None and moment is not None and created > moment
