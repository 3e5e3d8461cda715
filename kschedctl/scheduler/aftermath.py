"""What comes after a preemption: when the pod can start, and where its victims could go."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from kschedctl.api.meta import ObjectMeta, OwnerReference
from kschedctl.api.pod import Pod, PodStatus
from kschedctl.preemption.evaluator import Candidate
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.scheduler import Scheduler


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
    after = Scheduler(
        cluster.with_pods(removed=[victim.pod for victim in candidate.victims], added=[preemptor]),
        scheduler.release,
        scheduler.configuration,
        scheduler.registry,
    )
    fates = tuple(_fate(scheduler, after, victim.pod) for victim in candidate.victims)
    return Aftermath(candidate.node, max((fate.grace_seconds for fate in fates), default=0), fates)


def _fate(scheduler: Scheduler, after: Scheduler, index: int) -> VictimFate:
    pods = scheduler.cluster.pods
    spec = pods.records[index].spec
    owner = pods.owner(index)
    pod = pods.pod(index)
    return VictimFate(
        index,
        30 if spec.termination_grace_period_seconds is None else spec.termination_grace_period_seconds,
        owner,
        owner is not None and owner.kind == "DaemonSet",
        after.explain(_fresh(pod)) if owner is not None and scheduler.knows(pod) else None,
    )


def _fresh(pod: Pod) -> Pod:
    """The pod that a controller makes in place of one that is gone."""
    old = pod.metadata
    metadata = ObjectMeta(
        name=old.name, namespace=old.namespace, labels=old.labels, owner_references=old.owner_references
    )
    return Pod(metadata=metadata, spec=pod.spec, status=PodStatus(phase="Pending"))
