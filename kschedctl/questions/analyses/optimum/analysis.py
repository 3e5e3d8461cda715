"""The analyses behind ``optimum``: the best placement, the cheapest nodes to buy, and the nodes that can be emptied."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.optimum.answer import optimum_answer
from kschedctl.questions.analyses.optimum.buy_answer import purchase_answer
from kschedctl.questions.analyses.optimum.empty_answer import emptied_answer
from kschedctl.questions.analyses.provenance import provenance
from kschedctl.questions.answers.optimum import Emptied, Optimum, Purchased
from kschedctl.trials.completeness import Missing, Part, missing_for_any, not_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.optimum.comparison import compare, find_adjustments
from kschedctl.trials.optimum.consolidation import empty_nodes
from kschedctl.trials.optimum.goals import FinalGoal
from kschedctl.trials.optimum.program import load_solver
from kschedctl.trials.optimum.purchase import Catalog, buy
from kschedctl.trials.simulate.simulated_cluster import pending_pods
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.timeline import TimelineEvent

#: The time limit of the solver, in seconds.
TIME_LIMIT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimumRequest:
    """A question about the best placement of the pending pods.

    Attributes
    ----------
    final : FinalGoal
        The last goal, which decides between placements that are equal in all other goals.
    seconds : float
        The time limit of the solver.
    """

    final: FinalGoal = FinalGoal.SCORES
    seconds: float = TIME_LIMIT


def optimum(cluster: LoadedCluster, request: OptimumRequest, handle: AnalysisHandle) -> Optimum:
    """Find the best placement of all pending pods at once, and compare it with the scheduler's placement one by one.

    Raises
    ------
    InputError
        If the solver is not installed.
    """
    load_solver()
    with handle.busy("looking for the best placement"):
        start = _after_deletions(cluster)
        comparison = compare(start.scheduler, seconds=request.seconds, final=request.final)
        found = find_adjustments(comparison, seconds=request.seconds)
    ended = dict.fromkeys(entry.pod for entry in start.timeline if entry.event is TimelineEvent.DELETED)
    rests_on = provenance(cluster, _missing(cluster, Part.EVICTION), many=True)
    return optimum_answer(comparison, found, rests_on, tuple(ended))


def purchase(
    cluster: LoadedCluster, catalog: Catalog, handle: AnalysisHandle, *, seconds: float = TIME_LIMIT
) -> Purchased:
    """Find the cheapest nodes of a catalog that place every pending pod, with no evictions.

    Raises
    ------
    InputError
        If the solver is not installed.
    """
    load_solver()
    with handle.busy("looking for the cheapest nodes"):
        found = buy(_after_deletions(cluster).scheduler, catalog, seconds=seconds)
    return purchase_answer(cluster.cluster, found, provenance(cluster, _missing(cluster, Part.NEW_NODES), many=True))


def consolidate(cluster: LoadedCluster, handle: AnalysisHandle, *, seconds: float = TIME_LIMIT) -> Emptied:
    """Find the most nodes that can be drained one after another.

    Raises
    ------
    InputError
        If the solver is not installed.
    """
    load_solver()
    with handle.busy("looking for nodes that could be emptied"):
        found = empty_nodes(_after_deletions(cluster).scheduler, seconds=seconds)
    # Every pod of the cluster may have to move.
    missing = (*not_listed(cluster.cluster, Part.EVICTION), *missing_for_any(cluster.cluster, preempts=False))
    return emptied_answer(cluster.cluster, found, provenance(cluster, missing, many=True))


def _missing(cluster: LoadedCluster, part: Part) -> tuple[Missing, ...]:
    """Return the data that is missing for the pending pods, and for another part of the answer."""
    pods = map(cluster.pods.pod, pending_pods(cluster.cluster))
    alike = {(pod.metadata.namespace, id(pod.spec)): pod for pod in pods}
    found = (cluster.missing_for(pod, preempts=False, is_scored=True) for pod in alike.values())
    return tuple(dict.fromkeys((*not_listed(cluster.cluster, part), *(each for missing in found for each in missing))))


def _after_deletions(cluster: LoadedCluster) -> Simulation:
    """Return a simulation in which the pods that are being deleted are gone, and nothing else has happened."""
    simulation = cluster.simulation()
    simulation.clock.run()
    return simulation
