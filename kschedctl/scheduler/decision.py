"""What kube-scheduler would decide for a pod, with everything that its plugins said."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from kschedctl.api.pod import Pod
from kschedctl.api.wording import counted, listed
from kschedctl.arrays import Int64Array
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.cycle_state import CycleState, NotModelled
from kschedctl.framework.interface import PostFilterResult
from kschedctl.framework.runtime import Framework, PreFilterOutcome
from kschedctl.framework.scoring import Scores
from kschedctl.framework.status import SUCCESS, Code, Reason, Status
from kschedctl.framework.verdicts import NodeStatuses
from kschedctl.preemption.result import PreemptionResult
from kschedctl.releases.release import Release
from kschedctl.scheduler.outcome import Outcome
from kschedctl.whatif.targets import find_node


@dataclass(frozen=True, slots=True, repr=False)
class NodeVerdict:
    """What was said of one node.

    Attributes
    ----------
    node : str
        Its name.
    status : Status
        What kube-scheduler stops at, nominated pods counted; Success where the pod fits.
    reasons : mapping of plugin name to reasons, as a tuple of pairs
        Every filter that turns the node away, in the profile's order; the deciding one first where nominated
        pods decide.
    """

    node: str
    status: Status
    reasons: tuple[tuple[str, tuple[Reason, ...]], ...]

    @property
    def feasible(self) -> bool:
        """Whether the pod fits on the node."""
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
        The profile that decided, over its cluster.
    state : CycleState
        What the plugins kept.
    error : str
        Why the scheduler would give up with an internal error; empty where it would not.
    pre_enqueue : Status
        What keeps the pod out of the queue; Success where nothing does.
    pre_filter : PreFilterOutcome or None
        What PreFilter said; ``None`` where the cycle ended before.
    searched : ndarray of int64
        The rows of the nodes that came into question.
    statuses : NodeStatuses or None
        What the filters said; ``None`` where the cycle ended before.
    scores : Scores or None
        The scores of the feasible nodes.
    best : tuple of str
        The nodes the pod can go to, by name; chance decides among several.
    message : str
        The text of the FailedScheduling event; empty where the pod fits.
    post_filter : PostFilterResult or None
        What PostFilter said, preemption included.
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

    @property
    def cluster(self) -> Cluster:
        """The cluster that was decided over."""
        return self.framework.cluster

    @property
    def release(self) -> Release:
        """The rules that applied."""
        return self.framework.release

    @property
    def outcome(self) -> Outcome:
        """What comes of it. A pod that waits at a gate is not tried, wherever it would fit without."""
        if self.error:
            return Outcome.ERROR
        if self.pre_enqueue.code is not Code.SUCCESS:
            return Outcome.GATED
        return Outcome.SCHEDULED if self.best else Outcome.UNSCHEDULABLE

    @property
    def schedulable(self) -> bool:
        """Whether the pod would be scheduled now."""
        return self.outcome is Outcome.SCHEDULED

    def pick(self, seed: int | None = None) -> str | None:
        """The node that the pod goes to.

        Parameters
        ----------
        seed : int or None
            kube-scheduler draws anew for every pod; a seed makes the draw repeatable.

        Returns
        -------
        str or None
            ``None`` where it goes nowhere, or chance decides and there is no seed.
        """
        return drawn(self.best, seed) if self.schedulable else None

    @property
    def preemption(self) -> PreemptionResult | None:
        """What preemption came to; ``None`` where it was not asked."""
        return self.state.read(PreemptionResult)

    @property
    def victims(self) -> Mapping[str, tuple[str, ...]]:
        """Per node that preemption may take, by name, whom that would evict: ``namespace/name`` in order."""
        preemption, pods = self.preemption, self.cluster.pods
        if preemption is None:
            return {}
        victims = {node: preemption.candidate(node).victims for node in preemption.nominated}
        return {node: tuple(sorted(pods.key(victim.pod) for victim in found)) for node, found in victims.items()}

    @property
    def not_modelled(self) -> tuple[NotModelled, ...]:
        """What bears on the answer and is not modelled."""
        return tuple(self.state.not_modelled)

    def node(self, name: str) -> NodeVerdict:
        """What was said of one node.

        Raises
        ------
        InputError
            Where the cluster has no node of that name, with those that are meant perhaps.
        """
        return self.verdict(find_node(self.cluster, name))

    def verdict(self, row: int) -> NodeVerdict:
        """What was said of the node of a row."""
        name = self.cluster.nodes.names[row]
        if self.statuses is None:
            status = self.pre_filter.status if self.pre_filter is not None else self.pre_enqueue
            return NodeVerdict(name, status, ())
        return NodeVerdict(name, self.statuses.status(row), self.statuses.reasons(row))

    def __repr__(self) -> str:
        end = f"{self.outcome} to {listed(self.best, 'or')}" if self.schedulable else str(self.outcome)
        feasible = len(self.statuses.feasible) if self.statuses is not None else 0
        return f"<Decision {self.pod.key}: {end}, fits on {feasible} of {counted(len(self.cluster.nodes), 'node')}>"


def drawn(nodes: tuple[str, ...], seed: int | None) -> str | None:
    """One of the nodes that chance decides among.

    Parameters
    ----------
    nodes : tuple of str
        Their names.
    seed : int or None
        Makes the draw repeatable.

    Returns
    -------
    str or None
        ``None`` where there is none, or there are several and no seed.
    """
    if len(nodes) == 1:
        return nodes[0]
    return random.Random(seed).choice(nodes) if nodes and seed is not None else None
