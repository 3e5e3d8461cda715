"""The analysis behind ``preempt``: the pods that would be evicted for each of some pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from msgspec import structs

from kschedctl.questions.analyses.explain.grouping import DecidedPod, decide_together
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.pod_cures import pod_cures
from kschedctl.questions.analyses.pod_groups.members import with_new_members
from kschedctl.questions.analyses.preempt.answer import PreemptionView, preemption_answer
from kschedctl.questions.analyses.subjects import PodSubject
from kschedctl.questions.answers.preempt import Preemption, Result
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.aftermath import aftermath
from kschedctl.trials.simulate.simulated_cluster import queue_order

#: The number of cures for a pod for which preemption does not help.
_MOST_CURES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptRequest:
    """A question about the evictions for pods.

    Attributes
    ----------
    pods : tuple of PodSubject
        The pods; those of one workload follow each other.
    min_candidate_nodes : int or None
        The number of candidates after which the search ends, as in large clusters; ``None`` to search all nodes.
    offset : int
        The row of the node at which the search begins; kube-scheduler draws it at random.
    seed : int or None
        The seed of the random choice between equally good nodes; ``None`` to choose none.
    """

    pods: tuple[PodSubject, ...]
    min_candidate_nodes: int | None = None
    offset: int = 0
    seed: int | None = None


def in_queue_order(pods: list[PodSubject]) -> list[PodSubject]:
    """Return pods in the scheduler's queue order: the highest priority first, then the oldest."""
    return sorted(pods, key=lambda one: queue_order(one.pod))


def preempt(cluster: LoadedCluster, request: PreemptRequest, handle: AnalysisHandle) -> tuple[Preemption, ...]:
    """Report the pods that each pod would evict; pods of a workload with equal answers share one."""
    view = PreemptionView(min_candidate_nodes=request.min_candidate_nodes, offset=request.offset, seed=request.seed)
    cluster, pods = with_new_members(cluster, request.pods)
    every = decide_together(cluster, handle.track(pods, "evaluating pods"), request.seed)
    return tuple(_answer(cluster, decided, view) for decided in every)


def _answer(cluster: LoadedCluster, decided: DecidedPod, view: PreemptionView) -> Preemption:
    decision = decided.decision
    scheduler = cluster.scheduler.moved(decision.cluster)
    answer = preemption_answer(
        decision, decided.explanation(), view, lambda candidate: aftermath(scheduler, decision, candidate)
    )
    if answer.verdict.result in (Result.NOT_HELPFUL, Result.NOT_ELIGIBLE, Result.DISABLED):
        answer = structs.replace(answer, cures=tuple(pod_cures(decision, _MOST_CURES)))
    return decided.standing(answer)
