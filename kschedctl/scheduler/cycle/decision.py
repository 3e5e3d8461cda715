"""The decision that kube-scheduler would make for a pod, with the results of all plugins."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array
from kschedctl.common.wording import counted, listed
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.framework.cycle_state import CycleState, NotModelled
from kschedctl.scheduler.framework.interface import PostFilterResult
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.runtime import Framework, PreFilterOutcome
from kschedctl.scheduler.framework.scoring import Scores
from kschedctl.scheduler.framework.status import SUCCESS, Code, Reason, Status

if TYPE_CHECKING:
    from kschedctl.scheduler.preemption.result import PreemptionResult


@dataclass(frozen=True, slots=True, repr=False)
class NodeVerdict:
    """The verdict on one node.

    Attributes
    ----------
    node : str
        The node's name.
    status : Status
        The status with which kube-scheduler stops filtering the node, nominated pods included; Success if the pod fits.
    reasons : mapping of plugin name to reasons, as a tuple of pairs
        The reasons of every filter that rejects the node, in the profile's order. If nominated pods cause the
        rejection, the plugin that rejects comes first.
    """

    node: str
    status: Status
    reasons: tuple[tuple[str, tuple[Reason, ...]], ...]

    @property
    def feasible(self) -> bool:
        """True if the pod fits on the node."""
        return self.status.code is Code.SUCCESS

    def __repr__(self) -> str:
        said = (
            "fits" if self.feasible else ": ".join(part for part in (self.status.plugin, self.status.message) if part)
        )
        return f"<NodeVerdict {self.node}: {said}>"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Decision:
    """The outcome of one scheduling cycle.

    Attributes
    ----------
    pod : Pod
        The pod, defaulted.
    framework : Framework
        The profile's framework, with its cluster.
    state : CycleState
        The cycle state that the plugins wrote.
    error : str
        The internal error with which kube-scheduler would end the cycle; empty without one.
    pre_enqueue : Status
        The rejection by PreEnqueue, which blocks the pod from the queue; Success without one.
    pre_filter : PreFilterOutcome or None
        The result of PreFilter; ``None`` if the cycle ended before.
    searched : ndarray of int64
        The rows of the nodes that PreFilter allows.
    statuses : NodeStatuses or None
        The filters' verdicts, by node; ``None`` if the cycle ended before.
    scores : Scores or None
        The scores of the feasible nodes; ``None`` if nothing was scored.
    best : tuple of str
        The names of the best nodes; kube-scheduler picks a random one if there are several.
    message : str
        The message of the FailedScheduling event; empty if the pod fits. For a pod that PreEnqueue rejects, the message
        that kube-scheduler would write if it tried the pod.
    post_filter : PostFilterResult or None
        The result of PostFilter, including preemption; ``None`` if PostFilter did not run.
    other_scheduler : bool
        True if no profile has the pod's ``schedulerName``. The statuses are then those of ``framework``, which would be
        responsible if the pod named its profile.
    """

    pod: Pod
    framework: Framework
    state: CycleState
    error: str = ""
    pre_enqueue: Status = SUCCESS
    pre_filter: PreFilterOutcome | None = None
    searched: Int64Array
    statuses: NodeStatuses | None = None
    scores: Scores | None = None
    best: tuple[str, ...] = ()
    message: str = ""
    post_filter: PostFilterResult | None = None
    other_scheduler: bool = False

    @classmethod
    def untried(cls, framework: Framework, pod: Pod, message: str, *, is_error: bool) -> "Decision":
        """Return the decision for a member of a pod group that failed before this member was tried."""
        nobody = np.empty(0, dtype=np.int64)
        error, text = (message, "") if is_error else ("", message)
        return cls(pod=pod, framework=framework, state=CycleState(), error=error, message=text, searched=nobody)

    @property
    def cluster(self) -> Cluster:
        """The cluster that the decision was made for."""
        return self.framework.cluster

    @property
    def release(self) -> Release:
        """The release whose rules applied."""
        return self.framework.release

    @property
    def outcome(self) -> Outcome:
        """The outcome. A pod that PreEnqueue rejects is gated, even if it would fit on a node."""
        if self.other_scheduler:
            return Outcome.OTHER_SCHEDULER
        if self.error:
            return Outcome.ERROR
        if self.pre_enqueue.code is not Code.SUCCESS:
            return Outcome.GATED
        return Outcome.SCHEDULED if self.best else Outcome.UNSCHEDULABLE

    @property
    def event_message(self) -> str:
        """The message of the event that kube-scheduler writes; empty for a pod that it does not try."""
        return self.message if self.outcome is not Outcome.GATED else ""

    @property
    def schedulable(self) -> bool:
        """True if the pod would be scheduled."""
        return self.outcome is Outcome.SCHEDULED

    def pick(self, seed: int | None = None) -> str | None:
        """Return the node to which the pod is scheduled.

        Parameters
        ----------
        seed : int or None
            The seed of the random choice among several best nodes, which makes it repeatable.

        Returns
        -------
        str or None
            ``None`` if the pod is not schedulable, or if there are several best nodes and no seed.
        """
        return pick_random_node(self.best, seed) if self.schedulable else None

    @property
    def preemption(self) -> "PreemptionResult | None":
        """The result of preemption; ``None`` if preemption did not run."""
        if self.other_scheduler or (self.post_filter is None and not self.error):
            return None
        # Most pods fit somewhere and need no preemption.
        from kschedctl.scheduler.preemption.result import PreemptionResult

        return self.state.read(PreemptionResult)

    @property
    def victims(self) -> Mapping[str, tuple[str, ...]]:
        """The victims per node that preemption may nominate: ``namespace/name``, sorted."""
        preemption, pods = self.preemption, self.cluster.pods
        if preemption is None:
            return {}
        victims = {node: preemption.candidate(node).victims for node in preemption.nominated}
        return {node: tuple(sorted(pods.key(victim.pod) for victim in found)) for node, found in victims.items()}

    @property
    def not_modelled(self) -> tuple[NotModelled, ...]:
        """Features that are not modelled and may change the answer."""
        return tuple(self.state.not_modelled)

    def node(self, name: str) -> NodeVerdict:
        """Return the verdict on a node.

        Raises
        ------
        InputError
            If the cluster has no node of that name. The error suggests similar names.
        """
        return self.verdict(self.cluster.nodes.find(name))

    def verdict(self, row: int) -> NodeVerdict:
        """Return the verdict on the node in a row."""
        name = self.cluster.nodes.names[row]
        if self.statuses is None:
            return NodeVerdict(name, self.pre_filter.status if self.pre_filter is not None else self.pre_enqueue, ())
        return NodeVerdict(name, self.statuses.status(row), self.statuses.reasons(row))

    def __repr__(self) -> str:
        end = f"{self.outcome} to {listed(self.best, 'or')}" if self.schedulable else str(self.outcome)
        feasible = len(self.statuses.feasible) if self.statuses is not None else 0
        return f"<Decision {self.pod.key}: {end}, fits on {feasible} of {counted(len(self.cluster.nodes), 'node')}>"


class DeferredDecision:
    """A decision that is made when it is first read."""

    def __init__(self, decide: Callable[[], Decision]) -> None:
        self._decide = decide

    @cached_property
    def decision(self) -> Decision:
        return self._decide()


def pick_random_node(nodes: tuple[str, ...], seed: int | None) -> str | None:
    """Return a random one of the tied nodes.

    Returns: ``None`` if there are no nodes, or several nodes and no seed.
    """
    if len(nodes) == 1:
        return nodes[0]
    return random.Random(seed).choice(nodes) if nodes and seed is not None else None


#: No search ends before it has found so many feasible nodes (upstream ``minFeasibleNodesToFind``).
MIN_FEASIBLE_NODES_TO_FIND: Final = 100
