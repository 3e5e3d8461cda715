"""The consequences of a preemption: when the pod can start, and where its victims can be scheduled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from kschedctl.api.meta import OwnerReference
from kschedctl.api.pod import PodSpec
from kschedctl.plugins.dynamic_resources.allocation import with_allocated_claims
from kschedctl.preemption.result import Candidate
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.scheduler import Scheduler
from kschedctl.whatif.pods import move_pods
from kschedctl.workloads.claims import with_own_claims
from kschedctl.workloads.created_pods import MadePod
from kschedctl.workloads.replacement import fresh_pod

#: The default that an API server writes into a pod without terminationGracePeriodSeconds.
_DEFAULT_GRACE_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class VictimFate:
    """The outcome for a preemption victim.

    Attributes
    ----------
    pod : int
        Its index in ``Cluster.pods``.
    grace_seconds : int
        The seconds that the pod may take to stop.
    owner : OwnerReference or None
        The controller that recreates the pod; ``None`` if no controller does.
    bound_to_node : bool
        True if the pod belongs to a DaemonSet, whose new pod can only run on the same node.
    replacement : Decision or None
        The decision for the recreated pod with the preemptor in place; ``None`` without a controller, and for another
        scheduler's pod.
    """

    pod: int
    grace_seconds: int
    owner: OwnerReference | None
    bound_to_node: bool
    replacement: Decision | None


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The consequences of taking a preemption candidate.

    Attributes
    ----------
    node : str
        The node to which the pod is nominated.
    wait_seconds : int
        The longest time that the pod waits, in seconds: the longest grace period of a victim.
    victims : tuple of VictimFate
        The victims, the most important first.
    """

    node: str
    wait_seconds: int
    victims: tuple[VictimFate, ...]


def aftermath(scheduler: Scheduler, decision: Decision, candidate: Candidate) -> Aftermath:
    """Compute the consequences of taking a preemption candidate.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler that decided.
    decision : Decision
        The decision that led to preemption.
    candidate : Candidate
        The node and its victims.
    """
    cluster = scheduler.cluster
    preemptor = replace(decision.pod, spec=replace(decision.pod.spec, node_name=candidate.node))
    row = cluster.nodes.row[candidate.node]
    moved = move_pods(
        with_allocated_claims(cluster, decision.pod, decision.state, row),
        removed=[victim.pod for victim in candidate.victims],
    )
    after = scheduler.moved(moved.cluster.with_pods(added=[preemptor]))
    fates = tuple(_fate(scheduler, after, victim.pod) for victim in candidate.victims)
    return Aftermath(candidate.node, max((fate.grace_seconds for fate in fates), default=0), fates)


def grace_seconds(spec: PodSpec) -> int:
    """Return the seconds that a pod may take to stop; 30 unless the spec says otherwise."""
    seconds = spec.termination_grace_period_seconds
    return _DEFAULT_GRACE_SECONDS if seconds is None else seconds


def _fate(scheduler: Scheduler, after: Scheduler, index: int) -> VictimFate:
    pods = scheduler.cluster.pods
    owner = pods.owner(index)
    pod = pods.pod(index)
    replacement = None
    if owner is not None and scheduler.knows(pod):
        made = with_own_claims(MadePod(fresh_pod(pod)), after.cluster)
        if made.objects:
            after = scheduler.moved(after.cluster.with_added(made.objects))
        replacement = after.decide(made.pod)
    return VictimFate(
        index,
        grace_seconds(pods.records[index].spec),
        owner,
        owner is not None and owner.kind == "DaemonSet",
        replacement,
    )
