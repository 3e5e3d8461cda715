"""The messages for pending pods beside those that kube-scheduler stored in their condition PodScheduled."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Condition
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.verify.answer import ComparedPodData, Match, PendingGroupData
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.group_decisions import DecidedGroups
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.completeness import find_missing

# The difference between our answer for a pod and kube-scheduler's.
#
# A smaller cluster has other numbers of nodes. Therefore only reasons that one side alone gives are compared; the
# numbers
# count if both sides give the same reasons.

GATED: Final = "SchedulingGated"
FAILED: Final = "SchedulerError"
#: The end of a stored message that was cut off.
CUT: Final = " ..."
#: The beginning of the part about preemption in a message.
_PREEMPTION: Final = re.compile(r"(?:, pod group |[^\s.][^.]*, )?preemption: ")
_NODES: Final = re.compile(r"0/\d+ nodes are available: ?")
_BETWEEN: Final = re.compile(r", (?=\d+ )")
_COUNTED: Final = re.compile(r"(\d+) (.*)", re.DOTALL)


class Theirs(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The answer of kube-scheduler for a pod."""

    #: The Kubernetes release of our answer.
    release: str = ""
    #: The feature gates that differ from their defaults.
    feature_gates: dict[str, bool] = {}
    #: The reason and message of the condition PodScheduled of a pending pod.
    reason: str = ""
    #: The reason and message of the condition PodScheduled of a pending pod.
    message: str = ""
    #: The node of a running pod.
    node: str = ""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The difference between two answers."""

    #: The outcome of our answer.
    outcome: Outcome
    #: The reasons that only one side gives.
    only_ours: frozenset[str] = frozenset()
    #: The reasons that only one side gives.
    only_theirs: frozenset[str] = frozenset()
    #: If the reasons are the same, the number of nodes of each; else empty.
    ours: frozenset[tuple[str, int]] = frozenset()
    #: If the reasons are the same, the number of nodes of each; else empty.
    theirs: frozenset[tuple[str, int]] = frozenset()

    def resembles(self, other: "Disagreement") -> bool:
        """Report whether another difference is the same except for names."""
        return self.outcome is other.outcome and all(
            len(a) == len(b)
            for a, b in (
                (self.only_ours, other.only_ours),
                (self.only_theirs, other.only_theirs),
                (self.ours, other.ours),
                (self.theirs, other.theirs),
            )
        )


def disagreement(theirs: Theirs, decision: Decision) -> Disagreement | None:
    """Return the difference between our answer and kube-scheduler's; ``None`` if there is none."""
    outcome = decision.outcome
    if theirs.node:
        if decision.pre_enqueue.code is not Code.SUCCESS or theirs.node not in decision.cluster.nodes.row:
            return None
        verdict = decision.node(theirs.node)
        if verdict.feasible:
            return None
        said = {f"{plugin}: {reason.text}" for plugin, reasons in verdict.reasons for reason in reasons}
        # The difference is about this node, whether or not the pod fits on another one.
        return Disagreement(Outcome.UNSCHEDULABLE, frozenset(said or verdict.status.reasons))
    said_outcome = {GATED: Outcome.GATED, FAILED: Outcome.ERROR}.get(theirs.reason, Outcome.UNSCHEDULABLE)
    if outcome is not Outcome.UNSCHEDULABLE or said_outcome is not outcome:
        # Pods that are feasible or gated, or whose cycle failed, have no reasons to compare.
        given = frozenset(_reasons(theirs.message)[0]) if said_outcome is Outcome.UNSCHEDULABLE else frozenset()
        return None if said_outcome is outcome else Disagreement(outcome, frozenset(), given)
    ours, others = _reasons(decision.message), _reasons(theirs.message)
    for a, b in zip(ours, others, strict=True):
        if a.keys() != b.keys():
            return Disagreement(outcome, frozenset(a.keys() - b.keys()), frozenset(b.keys() - a.keys()))
    for a, b in zip(ours, others, strict=True):
        if a != b:
            return Disagreement(outcome, ours=frozenset(a.items()), theirs=frozenset(b.items()))
    return None


def overcounted(theirs: Theirs, decision: Decision) -> frozenset[str]:
    """Return the reasons of filters that we give for more nodes than kube-scheduler did."""
    return frozenset(_reasons(decision.message)[0] - _reasons(theirs.message)[0])


def without_preemption(message: str) -> str:
    """Return a message without the part that PostFilter added."""
    found = _PREEMPTION.search(message)
    return message[: found.start()].rstrip() if found else message


def _reasons(message: str) -> tuple[Counter[str], Counter[str]]:
    """Count the nodes of each reason: in the filters' part, and in the part about preemption."""
    first = without_preemption(message)
    return _counted(first), _counted(message[len(first) :])


def _counted(part: str) -> Counter[str]:
    part = part.strip()
    if (nodes := _NODES.search(part)) is not None:
        part = part[nodes.end() :]
    texts = _BETWEEN.split(part.removesuffix(CUT).rstrip("."))
    if part.endswith(CUT):
        # The last text is incomplete, so it is no reason.
        texts = texts[:-1]
    counts: Counter[str] = Counter()
    for text in texts:
        counted = _COUNTED.fullmatch(text)
        if counted is not None:
            counts[counted[2]] += int(counted[1])
        elif text:
            counts[text] += 1
    return counts


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

    Args:
        before: The scheduler without the what-ifs, if there are any.
        namespace: The only namespace to look in; empty for all.
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
    then = before(pod) if before is not None else None
    if then is not None and (_same(condition, then) or _waits_for_victims(condition, then)):
        return PendingGroupData(Match.DIFFERENT, theirs, ours, (WHAT_IF, *causes), named)
    # Pods that came later only take capacity: they do not explain that the pod fits.
    younger = 0 if decision.schedulable else _younger_pods(cluster, condition.last_transition_time)
    if younger:
        aged = f"the message is older than {counted(younger, 'running pod')}, which its numbers do not count"
        return PendingGroupData(Match.AGED, theirs, ours, (aged, *causes), named)
    return PendingGroupData(Match.DIFFERENT, theirs, ours, causes, named)


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
    placement = _PLACEMENT.search(condition.message)
    end = placement.start() if placement and placement[1] == own else None
    return bool(own) and condition.message[:end] == without_preemption(decision.message)


def _messages(decision: Decision) -> set[str]:
    """Return the possible messages: they contain the node that the scheduler takes, which may be a random choice."""
    found = decision.preemption
    nodes = found.nominated if found is not None else ()
    if found is None or not nodes or not decision.release.preemption_names_node:
        return {decision.message}
    return {decision.message.replace(found.placement(nodes[0]), found.placement(node)) for node in nodes}


def _causes(cluster: Cluster, condition: Condition, decision: Decision) -> Iterator[str]:
    theirs, ours = condition.message, decision.message
    if theirs.endswith(CUT):
        yield "the stored message is truncated"
    if ours and without_preemption(theirs) == without_preemption(ours):
        yield "only the part about preemption differs: it depends on pods that are being deleted or were nominated"
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
        are = "is" if len(names) == 1 else "are"
        yield f"{listed(names)} {are} nominated to a node, which can change at any moment"
    pods = cluster.pods
    terminating = [pods.key(i) for i, r in enumerate(pods.records) if r.metadata.deletion_timestamp is not None]
    if terminating:
        yield f"{listed(terminating)} {'is' if len(terminating) == 1 else 'are'} being deleted"
    new_nodes = sum(_younger(node.metadata, condition.last_transition_time) for node in cluster.nodes.objects)
    new_pods = _younger_pods(cluster, condition.last_transition_time)
    changes = [
        f"{counted(number, what)} {'was' if number == 1 else 'were'} created"
        for number, what in ((new_nodes, "node"), (new_pods, "running pod"))
        if number
    ]
    if changes:
        yield f"{listed(changes)} after the pod became pending"
    if cluster.taken_at is not None and condition.last_transition_time is not None:
        older = condition.last_transition_time - cluster.taken_at
        if older.total_seconds() > 0:
            yield f"the snapshot is {counted(int(older.total_seconds()) + 1, 'second')} older than the condition"
    yield "the cluster's scheduler may have another configuration (--config), release or feature gates"


def _younger_pods(cluster: Cluster, moment: datetime | None) -> int:
    """Return the number of running pods that are younger than a moment."""
    return sum(bool(record.node_name) and _younger(record.metadata, moment) for record in cluster.pods.records)


def _younger(metadata: ObjectMeta, moment: datetime | None) -> bool:
    created = metadata.creation_timestamp
    return created is not None and moment is not None and created > moment
