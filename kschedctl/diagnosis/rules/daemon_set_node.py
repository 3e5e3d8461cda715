"""A DaemonSet's pod whose node is full.

The controller of a DaemonSet makes one pod per node and ties it to that node, so room on other nodes and new nodes do
not help. Operators give the DaemonSet a PriorityClass, so that its pods may evict others on their nodes, or move a pod
off the node. They do not take the tie to the node away.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.rules import obstacles
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.policies import PriorityClass
from kschedctl.scheduler.framework.remedy import Risk

_FIT = "NodeResourcesFit"


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the full node, and a higher priority as the cure if the cluster has no PriorityClass to try."""
    if not situation.filtered or not situation.is_of_daemon_set or int(situation.in_reach.sum()) != 1:
        return
    others = [plugin for plugin in situation.rejected if plugin != _FIT]
    node = situation.in_reach & situation.rejected_by(_FIT) & ~situation.rejected_by(*others)
    short = [name for name in situation.requests if (situation.short_of(name) & node).any()]
    if not short or any(int(situation.offered(name)[node][0]) < situation.requests[name] for name in short):
        return
    base = next(obstacles.check(situation))
    own = situation.pod.spec.priority or 0
    kind, namespace, name = situation.workload
    where = situation.names(node)[0]
    advice = Advice(
        summary=f"give {kind} {namespace}/{name} a PriorityClass above {own}, so that its pods evict others on {where}",
        risk=Risk.EVICTION,
        untried="the snapshot has no PriorityClass of a higher value",
        command="# kubectl create priorityclass NAME --value=1000000, and priorityClassName in the DaemonSet",
    )
    higher = any(each.value > own for each in situation.cluster.list(PriorityClass))
    higher |= situation.cluster.is_forbidden(PriorityClass)
    yield Diagnosis(
        rule="daemon-set-node-full",
        cause=base.cause,
        evidence=(f"{kind} {namespace}/{name} makes one pod per node: this one is for {where}", *base.evidence),
        advice=() if higher else (advice,),
    )
