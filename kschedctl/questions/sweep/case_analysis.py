"""The analysis of a plan, run on the cluster of one case, with the values that columns need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kschedctl.common.errors import ManifestError
from kschedctl.controllers.workloads.pods import WORKLOADS
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.meta import ApiObject
from kschedctl.questions.analyses.capacity import CapacityRequest, capacity
from kschedctl.questions.analyses.drain.analysis import drain_answer
from kschedctl.questions.analyses.drain.run import DrainRequest, run_drain
from kschedctl.questions.analyses.explain.grouping import decide_together
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.provenance import envelope, provenance
from kschedctl.questions.analyses.simulate import SimulateRequest, run_simulation, simulation_answer
from kschedctl.questions.analyses.subjects import PodSubject, pods_asked_about
from kschedctl.questions.answers.base import Envelope
from kschedctl.questions.answers.explain import WorkloadData
from kschedctl.questions.answers.sweep import Ask
from kschedctl.questions.sweep.measurements import CaseResult
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.sources.snapshot.load import read_manifest
from kschedctl.sources.snapshot.pod_choice import is_manifest
from kschedctl.trials.completeness import require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.drain import DrainOptions
from kschedctl.trials.simulate.simulated_cluster import pending_pods
from kschedctl.trials.whatif.targets import find_kind, split_target

_DRAIN: Final = DrainOptions(ignore_daemon_sets=True, force=True, delete_empty_dir_data=True)


def ask(question: Ask, cluster: LoadedCluster, of: Sequence[str], seed: int | None) -> CaseResult:
    """Run an analysis on a cluster.

    Parameters
    ----------
    of : sequence of str
        The subjects of the analysis: pods, manifests, workloads or nodes.
    seed : int or None
        The seed of the random choice among nodes with equal scores; ``None`` for the first node by name.

    Raises
    ------
    KschedctlError
        If the analysis fails.
    """
    require_listed(cluster.cluster, "Pod")
    cluster.require_nodes()
    return _QUESTIONS[question](cluster, of, seed)


def _simulate(cluster: LoadedCluster, of: Sequence[str], seed: int | None) -> CaseResult:
    request = SimulateRequest(seed=seed)
    run = run_simulation(cluster, request, AnalysisHandle())
    answer = simulation_answer(cluster, request, run, why=False)
    return CaseResult(
        cluster=run.simulation.cluster,
        release=cluster.release_choice.release,
        own={
            "pods": answer.pods,
            "placed": answer.placed,
            "waiting": answer.pods - answer.placed,
            "evicted": len(answer.evicted),
            "attempts": len(answer.attempts),
            "seconds": (run.simulation.now() - run.simulation.began).total_seconds(),
        },
        pods=tuple(run.simulation.met.values()),
        doubts=_doubts(answer),
    )


def _explain(cluster: LoadedCluster, of: Sequence[str], seed: int | None) -> CaseResult:
    over, asked = _asked(cluster, of)
    # Compute decisions only: a full answer also describes the reasons of every node, which takes much longer.
    # Each pod counts, also if pods of a workload have the same answer.
    decided = list(decide_together(over, [replace(one, workload=None) for one in asked], seed))
    decisions = [one.decision for one in decided]
    missing = (each for one in decided for each in one.provenance.missing)
    not_modelled = dict.fromkeys(note for decision in decisions for note in decision.not_modelled)
    scores = [
        int(decision.scores.total.max()) for decision in decisions if decision.scores and len(decision.scores.total)
    ]
    return CaseResult(
        cluster=cluster.cluster,
        release=cluster.release_choice.release,
        own={
            "pods": len(decisions),
            "placed": sum(decision.schedulable for decision in decisions),
            "waiting": sum(not decision.schedulable for decision in decisions),
            "feasibleNodes": min(map(_n_feasible, decisions), default=None),
            "score": sum(scores) / len(scores) if scores else None,
        },
        pods=tuple(decision.pod.metadata for decision in decisions),
        doubts=_doubts(Envelope(**envelope(cluster.cluster, provenance(cluster, missing), not_modelled))),
    )


def _n_feasible(decision: Decision) -> int:
    return len(decision.statuses.feasible) if decision.statuses is not None else 0


def _capacity(cluster: LoadedCluster, of: Sequence[str], seed: int | None) -> CaseResult:
    over, asked = _asked(cluster, of)
    request = CapacityRequest(pods=asked)
    if len(request.copied) != 1:
        raise ManifestError(f"capacity needs one pod, not {len(asked)}", where=", ".join(of))
    (answer,) = capacity(over, request, AnalysisHandle())
    return CaseResult(
        cluster=cluster.cluster,
        release=cluster.release_choice.release,
        own={"copies": answer.copies, "nodesTaking": len(answer.nodes)},
        pods=(over.find(asked[0].pod).metadata,),
        doubts=_doubts(answer),
    )


def _drain(cluster: LoadedCluster, of: Sequence[str], seed: int | None) -> CaseResult:
    request = DrainRequest(nodes=tuple(of), options=_DRAIN, seed=seed)
    run = run_drain(cluster, request, AnalysisHandle())
    answer = drain_answer(cluster, request, run)
    return CaseResult(
        cluster=run.simulation.cluster,
        release=cluster.release_choice.release,
        own={
            "drained": sum(node.drained for node in answer.nodes),
            "evicted": sum(len(node.moved) for node in answer.nodes),
            "blocked": sum(len(node.blocked) for node in answer.nodes),
            "waiting": sum(len(group.pods) for group in answer.waiting),
            "seconds": (run.simulation.now() - run.began).total_seconds(),
        },
        pods=tuple(run.simulation.met.values()),
        doubts=_doubts(answer),
    )


_QUESTIONS: Final[Mapping[Ask, Callable[[LoadedCluster, Sequence[str], int | None], CaseResult]]] = {
    Ask.SIMULATE: _simulate,
    Ask.EXPLAIN: _explain,
    Ask.CAPACITY: _capacity,
    Ask.DRAIN: _drain,
}


def _asked(cluster: LoadedCluster, of: Sequence[str]) -> tuple[LoadedCluster, tuple[PodSubject, ...]]:
    """Return the requested pods, and the cluster with the other objects that their controllers create.

    Without ``of`` these are the pending pods of the configured schedulers. Of a workload of the cluster they are its
    pending pods, and those that its controller has yet to create.
    """
    if not of:
        pending = map(cluster.pods.pod, pending_pods(cluster.cluster))
        profiles = cluster.configuration.profiles
        return cluster, tuple(PodSubject(pod) for pod in pending if pod.spec.scheduler_name in profiles)
    made: list[MadePod] = []
    asked: list[PodSubject] = []

    def make(objects: Iterable[ApiObject]) -> None:
        for obj in objects:
            if isinstance(obj, WORKLOADS):
                new = cluster.pods_of(obj, where=obj.ref)
                made.extend(new)
                asked.extend(PodSubject(one.pod) for one in new)

    for text in of:
        if is_manifest(text):
            make(obj for obj, _ in read_manifest(text).objects)
        elif text.count("/") > 1:
            obj = _workload(cluster, text)
            found = pods_asked_about(cluster, obj)
            name = type(obj).__name__, obj.namespace, obj.name
            workload = WorkloadData(*name, found.wanted, running=len(found.running))
            made.extend(found.missing)
            pods = (*map(cluster.pods.pod, found.pending), *(one.pod for one in found.missing))
            asked.extend(PodSubject(pod, workload=workload) for pod in pods)
        else:
            asked.append(PodSubject(cluster.written_pod(text)[0]))
    return cluster.with_made(made), tuple(asked)


def _workload(cluster: LoadedCluster, text: str) -> ApiObject:
    word, name, namespace = split_target(text, "")
    kind = find_kind(word)
    found = cluster.cluster.get(kind, name, namespace)
    if found is None:
        require_listed(cluster.cluster, kind.__name__, namespace)
    if found is None or not isinstance(found, WORKLOADS):
        raise ManifestError(f"the snapshot has no {kind.__name__} {namespace}/{name}")
    return found


def _doubts(answer: Envelope) -> tuple[str, ...]:
    """Return the reasons why the cluster's own scheduler may decide differently."""
    every = (
        *(answer.doubts or ()),
        *(f"{each.needed_for}: {each.effect}" for each in answer.missing),
        *(f"not modelled: {each.feature}; {each.effect}" for each in answer.not_modelled),
    )
    return tuple(dict.fromkeys(every))
