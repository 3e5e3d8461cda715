"""What comes after a preemption: when the pod can start, and where its victims could go."""

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
from kschedctl.workloads.made_pods import MadePod
from kschedctl.workloads.replacement import fresh_pod

#: What an API server writes into a pod that does not say.
_DEFAULT_GRACE_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class VictimFate:
    """What becomes of a victim.

    Attributes
    ----------
    pod : int
        Its index in ``Cluster.pods``.
    grace_seconds : int
        How long it may take to stop.
    owner : OwnerReference or None
        The controller that makes a new pod in its place; ``None`` where the pod is gone for good.
    bound_to_node : bool
        Whether it belongs to a DaemonSet, whose new pod can only run on the same node.
    replacement : Decision or None
        Where the new pod would go with the preemptor in place; ``None`` without a controller.
    """

    pod: int
    grace_seconds: int
    owner: OwnerReference | None
    bound_to_node: bool
    replacement: Decision | None


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What follows when a candidate is taken.

    Attributes
    ----------
    node : str
        The node that the pod is nominated to.
    wait_seconds : int
        How long the pod waits at the most: the longest grace period of a victim.
    victims : tuple of VictimFate
        The victims, the most important first.
    """

    node: str
    wait_seconds: int
    victims: tuple[VictimFate, ...]


def aftermath(scheduler: Scheduler, decision: Decision, candidate: Candidate) -> Aftermath:
    """Work out what follows when a candidate is taken.

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
    """How long a pod may take to stop."""
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
