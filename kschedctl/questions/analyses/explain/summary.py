"""The summary of an explanation, which is its first line."""

from __future__ import annotations

from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.explain import PodData, PreemptionData, ScoresData, VerdictData
from kschedctl.questions.answers.pod_group import PodGroupData
from kschedctl.questions.answers.search import SearchData
from kschedctl.scheduler.cycle.decision import SearchScope
from kschedctl.scheduler.cycle.outcome import GroupOutcome, Outcome
from kschedctl.scheduler.preemption.evaluator import NEVER, TERMINATING

#: The sentences for pods that are not eligible to preempt, by the reasons of preemption's status.
_INELIGIBLE: Final[dict[tuple[str, ...], str]] = {
    (NEVER,): "It cannot preempt: its preemptionPolicy is Never.",
    (TERMINATING,): "It is pending: a pod evicted for it is still terminating.",
}


def summary(
    pod: PodData,
    verdict: VerdictData,
    *,
    n_nodes: int,
    gate: str,
    scores: ScoresData | None,
    preemption: PreemptionData | None,
    cause: str = "",
    binding: str = "",
    group: PodGroupData | None = None,
    pod_group_name: str = "",
    search: SearchData | None = None,
) -> str:
    """Return the outcome in one or two sentences.

    Parameters
    ----------
    verdict : VerdictData
        The outcome; its own summary is ignored.
    n_nodes : int
        The number of nodes in the cluster.
    gate : str
        The message of the gate that keeps the pod out of the queue.
    preemption : PreemptionData or None
        The result of preemption; ``None`` if it did not run.
    cause : str
        The cause of the diagnosis; empty if there is none.
    binding : str
        The relation of the pod to its node, such as ``runs on n1``; empty for a pending pod.
    group : PodGroupData or None
        The decision for the pod's group; ``None`` for a pod that is tried by itself.
    pod_group_name : str
        The pod's group, whether or not it is tried; empty for none.
    search : SearchData or None
        The search for feasible nodes, if all of its starts were tried.
    """
    if group is not None and verdict.result is Outcome.UNSCHEDULABLE:
        return _of_group(pod, group, cause)
    subject = f"{pod.namespace}/{pod.name}"
    start = f"{subject} {binding}. If rescheduled, it" if binding else subject
    match verdict.result:
        case Outcome.ERROR:
            why = f"{cause}: {verdict.error}" if cause else verdict.error
            if group is not None:
                return f"The {group.title} is not scheduled: kube-scheduler returns an error: {why}."
            return f"kube-scheduler returns an error for {subject}: {why}"
        case Outcome.OTHER_SCHEDULER:
            return f"{subject} is not scheduled{f': {cause}' if cause else ''}."
        case Outcome.GATED:
            alone = "Otherwise" if not pod_group_name else "By itself"
            then = (
                f"{alone} it would fit on {verdict.feasible_nodes} of {counted(n_nodes, 'node')}."
                if verdict.feasible_nodes
                else f"{alone} it would fit on none of {counted(n_nodes, 'node')}."
            )
            return f"{subject} is not tried: {gate}{f'; {cause}' if cause else ''}. {then}"
        case Outcome.UNSCHEDULABLE:
            text = f"{start} fits on none of {counted(n_nodes, 'node')}{f': {cause}' if cause else ''}."
            return f"{text} {_preemption(preemption)}" if preemption is not None else text
    if cause:
        # Only a pod with a node, or about to get one, has a cause although it fits.
        start = f"{subject}: {cause}. It"
        if pod.node_name:
            start = f"{subject} does not start on {pod.node_name}: {cause}. If rescheduled, it"
    of = f"{verdict.feasible_nodes} of {counted(n_nodes, 'node')}"
    with_group = ""
    if group is not None and not pod.node_name:
        with_group = f"The {group.title} is scheduled: {group.count}. "
    where = _destination(pod, verdict, scores) if search is None else _searched(pod, verdict, scores, search)
    return f"{with_group}{start} fits on {of} and is scheduled to {where}."


def _of_group(pod: PodData, group: PodGroupData, cause: str) -> str:
    """Return the sentences for a member of a group that is not scheduled, or only in part."""
    why = f"; {cause}" if cause else ""
    if group.outcome is GroupOutcome.SCHEDULED:
        return f"The {group.title} is scheduled, but without {pod.namespace}/{pod.name}: {group.count}{why}."
    rest = "rest of " if group.is_rest else ""
    text = f"The {rest}{group.title} is not scheduled: {group.count}{why}."
    victims = [key for unit in group.victims for key in unit.pods]
    if victims:
        whom = victims[0] if len(victims) == 1 else counted(len(victims), "pod")
        return f"{text} Preemption helps: it evicts {whom} for the group."
    return text


def _destination(pod: PodData, verdict: VerdictData, scores: ScoresData | None) -> str:
    best = verdict.nodes
    if best == (pod.nominated_node_name,):
        return f"{best[0]}, the node it is nominated to"
    if scores is None or verdict.feasible_nodes == 1:
        return best[0]
    totals = [node.total for node in scores.nodes]
    if verdict.picked is not None and len(best) > 1:
        others = [name for name in best if name != verdict.picked]
        return f"{verdict.picked} (score {totals[0]}, chosen by the seed; also possible: {listed(others)})"
    if len(best) > 1:
        return f"one of {listed(best)} (score {totals[0]} each; kube-scheduler picks at random)"
    return f"{best[0]} (score {totals[0]}, next best {scores.nodes[1].name} with {totals[1]})"


def _searched(pod: PodData, verdict: VerdictData, scores: ScoresData | None, search: SearchData) -> str:
    """Return the nodes that the search leads to, with the reason if all nodes are looked at."""
    match search.scope:
        case SearchScope.SAMPLE:
            return _sampled(verdict, search)
        case SearchScope.NOMINATED:
            extent = "kube-scheduler looks at no other node"
        case SearchScope.ALL_FEASIBLE:
            extent = f"kube-scheduler scores all of them, as it would stop at {search.nodes_to_find}"
        case SearchScope.PRE_FILTER:
            extent = f"its sample of the {search.starts} nodes that PreFilter leaves is not followed"
        case SearchScope.POD_GROUP:
            extent = "samples are not followed for pod groups"
        case SearchScope.ALL_NODES:
            extent = "kube-scheduler looks at all nodes"
    return f"{_destination(pod, verdict, scores)}; {extent}"


def _sampled(verdict: VerdictData, search: SearchData) -> str:
    """Return the nodes that the starts of the search lead to."""
    nodes, of = search.nodes, f"of {counted(search.starts, 'start')}"
    likely = [node.name for node in nodes if node.chance == nodes[0].chance]
    each = " each" if len(likely) > 1 else ""
    starts = f"({nodes[0].starts} {of}{each})"
    if len(nodes) == 1:
        where = f"{nodes[0].name} {starts}"
    elif len(likely) == len(nodes):
        where = f"one of {counted(len(nodes), 'node')}, all equally likely {starts}"
    else:
        where = f"one of {counted(len(nodes), 'node')}, most likely {listed(likely, 'or')} {starts}"
    if verdict.picked is not None and len(nodes) > 1:
        where = f"{verdict.picked}, chosen by the seed as {where}"
    nowhere = f", and nowhere in {search.unscheduled} {of}" if search.unscheduled else ""
    return f"{where}{nowhere}: kube-scheduler stops at {counted(search.nodes_to_find, 'feasible node')}"


def _preemption(preemption: PreemptionData) -> str:
    if not preemption.nominated:
        return _INELIGIBLE.get(preemption.status.reasons, "Preemption would not help.")
    taken = next(candidate for candidate in preemption.candidates if candidate.name == preemption.nominated[0])
    whom = taken.victims[0] if len(taken.victims) == 1 else f"{len(taken.victims)} pods"
    some = "" if taken.pdb_violations == len(taken.victims) else f"{taken.pdb_violations} of them "
    against = f", {some}in violation of a disruption budget" if taken.pdb_violations else ""
    if len(preemption.nominated) > 1:
        whom = counted(len(taken.victims), "pod")
    elif taken.terminating:
        number = "" if len(taken.terminating) == len(taken.victims) else f"{len(taken.terminating)} of them "
        whom += f", {number}already being deleted"
    return f"Preemption would help: {listed(preemption.nominated, 'or')}, evicting {whom}{against}."
