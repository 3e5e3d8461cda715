"""The autoscaler of nodes: whether it would add a node for a pod, as a clause and as cures."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kschedctl.autoscaler.expansion import Expansion
from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.diagnosis import Advice, Situation
from kschedctl.diagnosis.evidence.events import events_about, one_line
from kschedctl.objects.event import Event
from kschedctl.objects.karpenter import NodePool
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.remedy import Remedy, created
from kschedctl.scheduler.framework.risk import RemedyScope, Risk

if TYPE_CHECKING:
    from kschedctl.autoscaler.cluster_autoscaler.scale_up import ScaleUp

KARPENTER: Final = "Karpenter"
CLUSTER_AUTOSCALER: Final = "Cluster Autoscaler"
#: The family of changes after which an autoscaler adds a node.
FAMILY: Final = "autoscaler"
#: The reasons of Karpenter's and Cluster Autoscaler's Events about a pod for which they add no node.
_REFUSALS: Final = frozenset({"FailedScheduling", "NotTriggerScaleUp"})


def name_of(cluster: Cluster) -> str:
    """Return the autoscaler of a cluster's nodes that is to be asked; empty if none is known."""
    from kschedctl.autoscaler.cluster_autoscaler.scale_up import scale_up_of

    if cluster.list(NodePool):
        return KARPENTER
    return CLUSTER_AUTOSCALER if scale_up_of(cluster) is not None else ""


def expansion_of(situation: Situation) -> Expansion | None:
    """Return an autoscaler's answer for a pod that no node takes; ``None`` if none is known well enough to answer.

    An autoscaler does not look at a pod for which preemption makes room.
    """
    decision, cluster, pod = situation.decision, situation.cluster, situation.pod
    preempts = decision.preemption is not None and bool(decision.preemption.nominated)
    if not situation.filtered or preempts:
        return None
    if cluster.list(NodePool):
        from kschedctl.autoscaler.karpenter.expansion import expansion

        return expansion(cluster, pod)
    scale_up = _scale_up(situation)
    if scale_up is None:
        return None
    found = scale_up.expansion(decision.framework, pod)
    # Of groups whose sizes only it knows, its Event tells more.
    return None if found.is_open and _own_event(situation, found) is not None else found


def _scale_up(situation: Situation) -> "ScaleUp | None":
    from kschedctl.autoscaler.cluster_autoscaler.scale_up import scale_up_of

    return scale_up_of(situation.cluster)


def words_of(situation: Situation, found: Expansion) -> str:
    """Return an autoscaler's answer as a clause, with its own Event where that says otherwise."""
    own = _own_event(situation, found)
    if found.offer is None or own is None:
        return found.words
    seen = f" of {own.seen:%H:%M} UTC" if own.seen is not None else ""
    differs = f"its own Event{seen} says otherwise, for reasons that the snapshot does not show"
    return f"{found.words}, if the cloud has it; {differs}: {one_line(own.message)}"


def _own_event(situation: Situation, found: Expansion) -> Event | None:
    """Return the autoscaler's newest Event about the pod, if it says that no node is added."""
    pod, name = situation.pod, found.autoscaler.lower().replace(" ", "-")
    events = events_about(situation.cluster, Pod.__name__, pod.namespace, pod.name)
    own = next((each for each in events if name in each.source.component.lower()), None)
    return own if own is not None and own.reason in _REFUSALS else None


def remedies_of(found: Expansion) -> Iterator[Remedy]:
    """Yield the wait for the node that an autoscaler adds, or the changes after which it adds one."""
    if found.offer is not None:
        yield Remedy(
            summary=f"wait: {found.autoscaler} adds {found.offer.several(max(len(found.nodes), 1))}",
            scope=RemedyScope.CLUSTER,
            changes=tuple(map(created, found.nodes)),
            risk=Risk.WAIT,
            family=FAMILY,
            command="kubectl get nodes --watch",
        )
    for i, each in enumerate(found.changes):
        yield Remedy(
            summary=f"{each.summary}; {found.autoscaler} then adds {each.offer.words}",
            scope=RemedyScope.CLUSTER,
            changes=(*each.changes, created(each.offer.node)),
            risk=Risk.CAPACITY,
            family=FAMILY,
            within=i,
            command=each.command,
        )


def advice_of(found: Expansion) -> Iterator[Advice]:
    """Yield the repairs without which an autoscaler adds no node."""
    for each in found.repairs:
        untried = f"{found.autoscaler} adds nodes when it is done"
        if each.waits:
            untried = "kube-scheduler tries the pod again then"
        risk = Risk.WAIT if each.waits else Risk.MISTAKE
        yield Advice(summary=each.summary, risk=risk, untried=untried, command=each.command)
