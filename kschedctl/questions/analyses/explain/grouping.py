"""Decisions for the pods of workloads; pods that get the same answer share it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from kschedctl.controllers.admission.changes import Admitted
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.questions.analyses.explain.answer import explanation, node_data
from kschedctl.questions.analyses.provenance import Provenance, provenance
from kschedctl.questions.analyses.subjects import PodSubject
from kschedctl.questions.answers.explain import Explanation, NodeData, WorkloadData
from kschedctl.questions.answers.operands import encode_operands
from kschedctl.questions.answers.workload import T, standing_for
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision, group_of
from kschedctl.trials.loaded_cluster import LoadedCluster

CountPlaced = Callable[[LoadedCluster, Sequence[PodSubject]], tuple[int | None, str]]


class DecidedPod(msgspec.Struct):
    """The decision for a pod, and the pods of its workload that share the answer.

    Attributes
    ----------
    alike : list of PodSubject
        The pods of the workload that share the answer, this one included.
    workload : WorkloadData or None
        The workload with the names of these pods.
    own_nodes : list of NodeData
        For each of these pods of a DaemonSet, the verdict on the node that the pod is for.
    """

    asked: PodSubject
    decision: Decision
    provenance: Provenance
    node_name: str
    seed: int | None
    admitted: Admitted
    alike: list[PodSubject] = msgspec.field(default_factory=list)
    workload: WorkloadData | None = None
    own_nodes: list[NodeData] = msgspec.field(default_factory=list)

    def explanation(self, decision: Decision | None = None, change: str = "") -> Explanation:
        """Return the answer, or that of another ``decision`` for the pod after the change in words."""
        rests_on = self.provenance
        if change:
            rests_on = msgspec.structs.replace(rests_on, changes=(*rests_on.changes, change))
        return explanation(
            decision or self.decision, rests_on, node_name=self.node_name, seed=self.seed, admitted=self.admitted
        )

    def standing(self, answer: T) -> T:
        """Return the answer as the one for the pod's workload, if it has one."""
        return answer if self.workload is None else standing_for(answer, self.workload)


def decide_together(
    cluster: LoadedCluster, asked: Iterable[PodSubject], seed: int | None, count_placed: CountPlaced | None = None
) -> Iterator[DecidedPod]:
    """Decide for pods; pods of one workload with equal answers are yielded as one.

    Parameters
    ----------
    asked : iterable of PodSubject
        The pods; those of one workload follow each other.
    seed : int or None
        The seed of the random choice between equally good nodes.
    count_placed : callable, optional
        A function that counts the pods of a workload that fit one after another, and returns the message of the quota
        that refuses the next one.

    Notes
    -----
    The pods of a DaemonSet, each for a node of its own, share an answer if their nodes get the same reasons, whatever
    the numbers behind them. Other pods share an answer if the answers differ only in names.
    """
    for workload, group in groupby(asked, key=lambda one: one.workload):
        members = list(group)
        if workload is None:
            yield from (_decide(cluster, one, seed) for one in members)
            continue
        found: dict[object, DecidedPod] = {}
        by_kind: dict[object, DecidedPod] = {}
        for one in members:
            kind = cluster.kind(one.pod) if not one.node else one.key
            if kind in by_kind:
                by_kind[kind].alike.append(one)
                continue
            decided = _decide(cluster, one, seed)
            key = _on_its_node(decided.decision, one.node) if one.node else _but_for_name(decided)
            first = by_kind[kind] = found.setdefault(key, decided)
            first.alike.append(one)
            if one.node:
                first.own_nodes.append(node_data(decided.decision, cluster.nodes.row[one.node]))
        in_group = group_of(next(iter(found.values())).decision)
        placed: int | None = None
        refused = ""
        if in_group is not None:
            placed = _placed_in_group(in_group, workload)
        elif count_placed is not None:
            placed, refused = count_placed(cluster, members)
        for decided in found.values():
            names = tuple(one.pod.name for one in decided.alike)
            nodes = tuple(one.node for one in decided.alike if one.node)
            decided.workload = msgspec.structs.replace(
                workload, pods=names, nodes=nodes, placed=placed, refused=refused
            )
            yield decided


def _decide(cluster: LoadedCluster, one: PodSubject, seed: int | None) -> DecidedPod:
    admitted = cluster.admit(one.pod, where=one.where)
    scheduler, node_name = cluster.scheduler, cluster.node_name(one.pod)
    if scheduler.knows(admitted.pod) or node_name:
        decision = cluster.decide_admitted(admitted.pod)
    else:
        decision = scheduler.decide_for_other_scheduler(admitted.pod)
    rests_on = provenance(
        cluster, cluster.missing(one.pod, decision), pod=one.pod, evicts=decision.preemption is not None
    )
    return DecidedPod(one, decision, rests_on, node_name, seed, admitted)


def _placed_in_group(group: PodGroupDecision, workload: WorkloadData) -> int:
    """Return the number of pods of a workload that are scheduled with their group."""
    own = workload.kind, workload.namespace, workload.name
    return sum(bool(each.node) and workload_of(group.cluster, each.pod.metadata) == own for each in group.members)


def _but_for_name(decided: DecidedPod) -> object:
    """Return the answer without the pod's name, which is also part of the names of its claims."""
    text = msgspec.json.encode(decided.explanation(), enc_hook=encode_operands).decode()
    return text.replace(decided.asked.pod.name, "")


def _on_its_node(decision: Decision, node: str) -> tuple[object, ...]:
    """Return the answer for a DaemonSet's pod on its node, without numbers."""
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
