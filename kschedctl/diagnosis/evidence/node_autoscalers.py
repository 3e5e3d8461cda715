"""The autoscaler of nodes: whether it would add a node for a pod, as a clause and as cures."""

from collections.abc import Iterator
from typing import Final

from kschedctl.autoscaler.expansion import Expansion
from kschedctl.diagnosis.diagnosis import Advice, Situation
from kschedctl.diagnosis.evidence.events import events_about, one_line
from kschedctl.objects.karpenter import NodePool
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.remedy import Remedy, created
from kschedctl.scheduler.framework.risk import RemedyScope, Risk

#: The family of changes after which an autoscaler adds a node.
FAMILY: Final = "autoscaler"


def has_autoscaler(situation: Situation) -> bool:
    """Report whether an autoscaler of nodes is to be asked."""
    return bool(situation.cluster.list(NodePool))


def expansion_of(situation: Situation) -> Expansion | None:
    """Return an autoscaler's answer for a pod that no node takes; ``None`` if there is no autoscaler.

    An autoscaler does not look at a pod for which preemption makes room.
    """
    decision = situation.decision
    preempts = decision.preemption is not None and bool(decision.preemption.nominated)
    if not situation.filtered or preempts or not has_autoscaler(situation):
        return None
    from kschedctl.autoscaler.karpenter.expansion import expansion

    return expansion(situation.cluster, situation.pod)


def words_of(situation: Situation, found: Expansion) -> str:
    """Return an autoscaler's answer as a clause, with its own Event where that says otherwise."""
    pod = situation.pod
    events = events_about(situation.cluster, Pod.__name__, pod.namespace, pod.name)
    own = next((each for each in events if found.autoscaler.lower() in each.source.component.lower()), None)
    if found.offer is None or own is None or own.reason != "FailedScheduling":
        return found.words
    seen = f" of {own.seen:%H:%M} UTC" if own.seen is not None else ""
    differs = f"its own Event{seen} says otherwise, for reasons that the snapshot does not show"
    return f"{found.words}, if the cloud has it; {differs}: {one_line(own.message)}"


def remedies_of(found: Expansion) -> Iterator[Remedy]:
    """Yield the wait for the node that an autoscaler adds, or the changes after which it adds one."""
    if found.offer is not None:
        yield Remedy(
            summary=f"wait: {found.autoscaler} adds {found.offer.words}",
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
        yield Advice(summary=each.summary, risk=Risk.MISTAKE, untried=untried, command=each.command)
