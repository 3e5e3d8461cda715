"""Our answers beside those of the real scheduler, as far as a snapshot holds them.

What the real scheduler said of a pending pod is in its PodScheduled condition; what it said of a pod that runs is the
pod's node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from kschedctl.api.core import Condition
from kschedctl.api.pod import Pod
from kschedctl.api.wording import counted, listed
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.status import Code, Status
from kschedctl.scheduler.bound import BoundPods, Misplaced, check_bound_pods
from kschedctl.scheduler.causes import changes_since, pending_causes
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.disagreement import CUT, FAILED, GATED, without_preemption
from kschedctl.scheduler.pending import pending_pods
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.scheduler.standing import Standing, bound_causes, deciding_refusal
from kschedctl.scheduler.tracking import Track, untracked

_POD_SCHEDULED: Final = "PodScheduled"
#: The end of a message that was stored when room was made, from 1.37 on.
_PLACEMENT: Final = re.compile(
    r" preemption: found a potential placement for pod on node (\S+), preempting \d+ victims$"
)
_WHAT_IF: Final = "the what-ifs made it so: without them there is no difference"


class Match(StrEnum):
    """How our answer for a pending pod compares."""

    EQUAL = "equal"
    DIFFERENT = "different"
    NOT_TRIED = "notTried"
    OTHER_SCHEDULER = "otherScheduler"


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pending pod.

    Attributes
    ----------
    pod : int
        Its index in ``Cluster.pods``.
    outcome : Match
        How our answer compares.
    theirs : str
        The message that the scheduler stored; empty where it has not.
    ours : str
        What we say; empty where we were not asked.
    causes : tuple of str
        Why they may differ, the likeliest first.
    """

    pod: int
    outcome: Match
    theirs: str = ""
    ours: str = ""
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod that would not fit on its node any more.

    Attributes
    ----------
    found : Misplaced
        The pod and what is said against its node.
    status : Status
        The refusal that says most (``standing.deciding_refusal``).
    standing : Standing
        What it means.
    causes : tuple of str
        Why it may be there, the likeliest first.
    """

    found: Misplaced
    status: Status
    standing: Standing
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verification:
    """All answers of a snapshot compared.

    Attributes
    ----------
    pending : tuple of PendingPod
        The pending pods, in the order in which they are tried.
    bound : BoundPods
        The pods on nodes.
    misplaced : tuple of BoundPod
        Those that would not fit any more, and what that means.
    """

    pending: tuple[PendingPod, ...]
    bound: BoundPods
    misplaced: tuple[BoundPod, ...]

    @property
    def equal(self) -> bool:
        """Whether there is no difference; what a later change may explain is none."""
        return not self.differing

    @property
    def differing(self) -> tuple[int, ...]:
        """The pods that differ, the pending ones first: indices into ``Cluster.pods``."""
        pending = (found.pod for found in self.pending if found.outcome is Match.DIFFERENT)
        bound = (found.found.pod for found in self.misplaced if found.standing is Standing.DIFFERENT)
        return (*pending, *bound)


def verify(scheduler: Scheduler, before: Scheduler | None = None, track: Track = untracked) -> Verification:
    """Compare our answers for all pods of a cluster with what the real scheduler did.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler over the cluster.
    before : Scheduler, optional
        The same over the cluster as it was read, where what-ifs have changed it: what only they do is told apart.
    track : Track
        Is told how far the work is.
    """
    cluster = scheduler.cluster
    pending = tuple(
        _pending_pod(scheduler, index, before) for index in track(pending_pods(cluster), "comparing pending pods")
    )
    bound = check_bound_pods(scheduler, track)
    return Verification(pending, bound, tuple(_bound_pods(cluster, bound.misplaced, before, track)))


def _bound_pods(
    cluster: Cluster, misplaced: tuple[Misplaced, ...], before: Scheduler | None, track: Track
) -> Iterator[BoundPod]:
    refused_before: set[tuple[str, str]] = set()
    if before is not None and misplaced:
        own = check_bound_pods(before, track).misplaced
        refused_before = {(before.cluster.pods.key(pod.pod), said.plugin) for pod in own for said in pod.refusals}
    for found in misplaced:
        key = cluster.pods.key(found.pod)
        left = tuple(said for said in found.refusals if before is None or (key, said.plugin) in refused_before)
        if not left:
            yield BoundPod(found, found.status, Standing.WHAT_IF, (_WHAT_IF,))
            continue
        status, explanation = deciding_refusal(cluster, replace(found, refusals=left))
        yield BoundPod(found, status, explanation.standing, bound_causes(cluster, found, explanation))


def _pending_pod(scheduler: Scheduler, index: int, before: Scheduler | None) -> PendingPod:
    cluster = scheduler.cluster
    pod = cluster.pods.pod(index)
    condition = next((c for c in pod.status.conditions if c.type == _POD_SCHEDULED), None)
    theirs = condition.message if condition is not None else ""
    if not scheduler.knows(pod):
        return PendingPod(index, Match.OTHER_SCHEDULER, theirs)
    decision = scheduler.explain(pod)
    ours = said(decision)
    if condition is None or not condition.reason:
        return PendingPod(index, Match.NOT_TRIED, theirs, ours)
    if _same(condition, decision):
        return PendingPod(index, Match.EQUAL, theirs, ours)
    causes = tuple(_causes(cluster, condition, decision))
    if before is not None and _was_same(condition, before, pod):
        causes = (_WHAT_IF, *causes)
    return PendingPod(index, Match.DIFFERENT, theirs, ours, causes)


def _was_same(condition: Condition, before: Scheduler, pod: Pod) -> bool:
    """Whether our answer is the stored one without the what-ifs."""
    index = before.cluster.pods.index.get((pod.metadata.namespace, pod.metadata.name))
    return index is not None and _same(condition, before.explain(before.cluster.pods.pod(index)))


def said(decision: Decision) -> str:
    """A decision in one line: kube-scheduler's own message where it has one."""
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
    own = decision.pod.status.nominated_node_name
    if own and _without_placement(theirs, own) == without_preemption(decision.message):
        # Stored in the cycle that evicted the victims; nothing more is said until they have gone.
        return True
    return theirs in _messages(decision)


def _messages(decision: Decision) -> set[str]:
    """What the scheduler may say: it names the node that it takes, which may be chance."""
    found = decision.preemption
    nodes = found.nominated if found is not None else ()
    if found is None or not nodes or not decision.release.preemption_names_node:
        return {decision.message}
    return {decision.message.replace(found.placement(nodes[0]), found.placement(node)) for node in nodes}


def _without_placement(message: str, node: str) -> str:
    """The message without the placement on a node, where it ends with that."""
    found = _PLACEMENT.search(message)
    return message[: found.start()] if found and found[1] == node else message


def _causes(cluster: Cluster, condition: Condition, decision: Decision) -> Iterator[str]:
    theirs, ours = condition.message, decision.message
    if theirs.endswith(CUT):
        yield "the stored message is cut off at its end"
    if ours and without_preemption(theirs) == without_preemption(ours):
        yield "only what is said of preemption differs: it depends on pods that are being deleted or were nominated"
    yield from pending_causes(cluster, theirs, decision)
    changes = changes_since(cluster, condition.last_transition_time)
    if changes:
        yield f"the pod is pending since before {listed(changes)}"
    if cluster.taken_at is not None and condition.last_transition_time is not None:
        older = condition.last_transition_time - cluster.taken_at
        if older.total_seconds() > 0:
            yield f"the snapshot is {counted(int(older.total_seconds()) + 1, 'second')} older than the condition"
    yield "the cluster's scheduler may have another configuration (--config), release or feature gates"
