"""Pods of one workload that are answered alike, as one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import msgspec

from kschedctl.cli.manifests import Asked
from kschedctl.cli.provenance import provenance
from kschedctl.face import SchedulingCluster
from kschedctl.report.explain.answer import explanation, node_data
from kschedctl.report.explain.data import Explanation, NodeData, WorkloadData
from kschedctl.report.render.plain import plain
from kschedctl.report.workload import T, standing_for
from kschedctl.scheduler.decision import Decision

Count = Callable[[SchedulingCluster, Sequence[Asked]], int | None]


@dataclass(slots=True)
class GroupAnswer:
    """The decision for a pod, and those of its workload that it stands for, itself among them.

    ``explain`` makes the answer of another decision for the pod, after a change that it is given in words. Of the pods
    of a DaemonSet ``own_nodes`` has what is said of the node that each is for.
    """

    asked: Asked
    decision: Decision
    explanation: Explanation
    explain: Callable[[Decision, str], Explanation]
    alike: list[Asked] = field(default_factory=list)
    workload: WorkloadData | None = None
    own_nodes: list[NodeData] = field(default_factory=list)

    def standing(self, answer: T) -> T:
        """The answer for the pod as the one for its workload, where it has one."""
        return answer if self.workload is None else standing_for(answer, self.workload)


def answers(
    cluster: SchedulingCluster, asked: Iterable[Asked], seed: int | None, count: Count | None = None
) -> Iterator[GroupAnswer]:
    """Decide for pods, and bring those of one workload together that get the same answer.

    Parameters
    ----------
    asked : iterable of Asked
        The pods; those of one workload after each other.
    seed : int or None
        Picks one of the nodes that chance decides among.
    count : callable, optional
        Says how many of a workload's pods fit one after another.

    Notes
    -----
    The pods of a DaemonSet, each for a node of its own, are alike where that node says the same, whatever the numbers
    behind it; other pods where all is the same but the names.
    """
    for workload, group in groupby(asked, key=lambda one: one.workload):
        members = list(group)
        if workload is None:
            for one in members:
                decision, explain = _decided(cluster, one, seed)
                yield GroupAnswer(one, decision, explain(decision, ""), explain)
            continue
        found: dict[object, GroupAnswer] = {}
        for one in members:
            decision, explain = _decided(cluster, one, seed)
            told = None if one.node else explain(decision, "")
            key = _on_its_node(decision, one.node) if told is None else _but_for_name(told, one)
            if key not in found:
                found[key] = GroupAnswer(one, decision, told or explain(decision, ""), explain)
            found[key].alike.append(one)
            if one.node:
                found[key].own_nodes.append(node_data(decision, cluster.nodes.row[one.node]))
        placed = count(cluster, members) if count is not None else None
        for answered in found.values():
            names = tuple(one.pod.name for one in answered.alike)
            nodes = tuple(one.node for one in answered.alike if one.node)
            whom = msgspec.structs.replace(workload, pods=names, nodes=nodes, placed=placed)
            answered.workload = whom
            yield answered


def _decided(
    cluster: SchedulingCluster, one: Asked, seed: int | None
) -> tuple[Decision, Callable[[Decision, str], Explanation]]:
    """The decision, and what makes an explanation of it, or of another after a change; it takes longer than both."""
    admitted = cluster.admit(one.pod, where=one.where)
    decision = cluster.decide(admitted.pod)
    rests_on = provenance(cluster, cluster.missing(one.pod, decision), pod=one.pod)
    node_name = cluster.node_name(one.pod)

    def explain(decided: Decision, change: str) -> Explanation:
        basis = replace(rests_on, changes=(*rests_on.changes, change)) if change else rests_on
        return explanation(decided, basis, node_name=node_name, seed=seed, admitted=admitted)

    return decision, explain


def _but_for_name(told: Explanation, one: Asked) -> object:
    """All that a pod is told, without its name, which is part of those of its claims as well."""
    return str(plain(told)).replace(one.pod.name, "")


def _on_its_node(decision: Decision, node: str) -> tuple[object, ...]:
    """What a DaemonSet's pod is told about its node, but for numbers."""
    verdict = decision.node(node)
    preemption = decision.preemption
    return (
        decision.error,
        decision.pre_enqueue,
        decision.best == (node,),
        verdict.status,
        tuple((plugin, tuple(reason.text for reason in reasons)) for plugin, reasons in verdict.reasons),
        decision.message,
        None if preemption is None else bool(preemption.nominated),
    )
