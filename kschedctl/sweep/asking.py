"""Asking the question of a plan of one case's cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.cluster.records import PENDING
from kschedctl.errors import ManifestError
from kschedctl.face import SchedulingCluster
from kschedctl.framework.cycle_state import NotModelled
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.missing import Missing, not_read, require_listed
from kschedctl.scheduler.pending import pending_pods
from kschedctl.simulate.attempt import Attempt
from kschedctl.simulate.choice import by_seed, first_by_name
from kschedctl.simulate.drain import DrainedNode, DrainOptions, drain
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.timeline import Happening
from kschedctl.snapshot.pod_choice import is_manifest
from kschedctl.snapshot.reading import read_manifest
from kschedctl.sweep.measuring import Answered
from kschedctl.sweep.plan import Ask
from kschedctl.whatif.targets import find_kind, find_nodes
from kschedctl.whatif.values import split_target
from kschedctl.workloads.pods import WORKLOADS

_DRAIN: Final = DrainOptions(ignore_daemon_sets=True, force=True, delete_empty_dir_data=True)


def ask(question: Ask, cluster: SchedulingCluster, of: Sequence[str], seed: int | None) -> Answered:
    """Ask a question.

    Parameters
    ----------
    question : Ask
        Which.
    of : sequence of str
        What it is about.
    seed : int or None
        Draws among equal nodes; ``None`` for the first by name.

    Raises
    ------
    KschedctlError
        Where it cannot be answered.
    """
    require_listed(cluster.cluster, "Pod")
    return _QUESTIONS[question](cluster, of, seed)


def _simulate(cluster: SchedulingCluster, of: Sequence[str], seed: int | None) -> Answered:
    simulation = cluster.simulate(choose=first_by_name if seed is None else by_seed(seed))
    attempts = list(simulation)
    happened = [entry.event for entry in simulation.timeline]
    placed, waiting = happened.count(Happening.SCHEDULED), _waiting(simulation)
    return Answered(
        cluster=simulation.cluster,
        release=cluster.release_choice.release,
        own={
            "pods": placed + waiting,
            "placed": placed,
            "waiting": waiting,
            "evicted": happened.count(Happening.PREEMPTED),
            "attempts": len(attempts),
            "seconds": (simulation.now() - simulation.began).total_seconds(),
        },
        pods=tuple(simulation.met.values()),
        doubts=_doubts(cluster, (attempt.decision for attempt in attempts)),
    )


def _waiting(simulation: Simulation) -> int:
    pods = simulation.cluster.pods
    rows = (pods.node_row == PENDING).nonzero()[0].tolist()
    return sum(simulation.scheduler.knows(pods.pod(index)) for index in rows)


def _explain(cluster: SchedulingCluster, of: Sequence[str], seed: int | None) -> Answered:
    decisions: list[Decision] = []
    missing: list[Missing] = []
    for over, pod in _asked(cluster, of):
        decision = over.explain(pod)
        decisions.append(decision)
        missing += over.missing(pod, decision)
    scores = [
        int(decision.scores.total.max()) for decision in decisions if decision.scores and len(decision.scores.total)
    ]
    return Answered(
        cluster=cluster.cluster,
        release=cluster.release_choice.release,
        own={
            "pods": len(decisions),
            "placed": sum(decision.schedulable for decision in decisions),
            "waiting": sum(not decision.schedulable for decision in decisions),
            "feasibleNodes": min((_n_feasible(decision) for decision in decisions), default=None),
            "score": sum(scores) / len(scores) if scores else None,
        },
        pods=tuple(decision.pod.metadata for decision in decisions),
        doubts=_doubts(cluster, decisions, missing),
    )


def _n_feasible(decision: Decision) -> int:
    return len(decision.statuses.feasible) if decision.statuses is not None else 0


def _capacity(cluster: SchedulingCluster, of: Sequence[str], seed: int | None) -> Answered:
    asked = list(_asked(cluster, of))
    if len(asked) != 1:
        raise ManifestError(f"capacity is asked of one pod, not of {len(asked)}", where=", ".join(of))
    ((over, written),) = asked
    pod = over.admit(written).pod
    fresh = replace(pod, spec=replace(pod.spec, node_name=""), status=type(pod.status)())

    def copy(number: int) -> Pod:
        # A name that no pod can have, so that it is nobody else's.
        metadata = replace(fresh.metadata, name=f"{fresh.metadata.name}+{number + 1}", uid="")
        return replace(fresh, metadata=metadata)

    found = over.capacity(copy)
    return Answered(
        cluster=cluster.cluster,
        release=cluster.release_choice.release,
        own={"copies": found.total, "nodesTaking": int((found.counts > 0).sum())},
        pods=(pod.metadata,),
        doubts=_doubts(cluster, [found.next], over.missing(written)),
    )


def _drain(cluster: SchedulingCluster, of: Sequence[str], seed: int | None) -> Answered:
    names = cluster.nodes.names
    nodes = list(dict.fromkeys(names[row] for each in of for row in find_nodes(cluster.cluster, each)))
    simulation = cluster.simulate(choose=first_by_name if seed is None else by_seed(seed))
    # What becomes of pods that wait already is not the drain's doing.
    attempts = list(simulation)
    began = simulation.now()
    drained: list[DrainedNode] = []
    for step in drain(simulation, nodes, _DRAIN):
        if isinstance(step, Attempt):
            attempts.append(step)
        else:
            drained.append(step)
    return Answered(
        cluster=simulation.cluster,
        release=cluster.release_choice.release,
        own={
            "drained": sum(node.drained for node in drained),
            "evicted": sum(len(node.evicted) for node in drained),
            "blocked": sum(len(node.blocked) for node in drained),
            "waiting": _waiting(simulation),
            "seconds": (simulation.now() - began).total_seconds(),
        },
        pods=tuple(simulation.met.values()),
        doubts=_doubts(cluster, (attempt.decision for attempt in attempts)),
    )


_QUESTIONS: Final[Mapping[Ask, Callable[[SchedulingCluster, Sequence[str], int | None], Answered]]] = {
    Ask.SIMULATE: _simulate,
    Ask.EXPLAIN: _explain,
    Ask.CAPACITY: _capacity,
    Ask.DRAIN: _drain,
}


def _asked(cluster: SchedulingCluster, of: Sequence[str]) -> Iterator[tuple[SchedulingCluster, Pod]]:
    """The pods that are meant, each with the cluster that has what comes with it."""
    if not of:
        for index in pending_pods(cluster.cluster):
            pod = cluster.pods.pod(index)
            if pod.spec.scheduler_name in cluster.configuration.profiles:
                yield cluster, pod
    for text in of:
        if is_manifest(text):
            for obj, _ in read_manifest(text):
                yield from _made(cluster, obj)
        elif text.count("/") > 1:
            yield from _made(cluster, _workload(cluster, text))
        else:
            yield cluster, cluster.find(text)


def _made(cluster: SchedulingCluster, obj: ApiObject) -> Iterator[tuple[SchedulingCluster, Pod]]:
    if isinstance(obj, WORKLOADS):
        made = cluster.pods_of(obj, where=obj.ref)
        over = cluster.with_made(made)
        yield from ((over, one.pod) for one in made)


def _workload(cluster: SchedulingCluster, text: str) -> ApiObject:
    word, name, namespace = split_target(text, "")
    kind = find_kind(word)
    found = cluster.cluster.get(kind, name, namespace)
    if found is None or not isinstance(found, WORKLOADS):
        raise ManifestError(f"the snapshot has no {kind.__name__} {namespace}/{name}")
    return found


def _doubts(
    cluster: SchedulingCluster, decisions: Iterable[Decision], missing: Iterable[Missing] = ()
) -> tuple[str, ...]:
    """What says that the cluster's own scheduler may answer otherwise."""
    read = cluster.cluster
    # Kinds that may not be listed are missing where the answer depends on them; the others do not matter to it.
    harmless = set(read.not_listed.values())
    lacking = {str(each): None for each in (*not_read(read), *missing)}
    unmodelled: dict[NotModelled, None] = {}
    for decision in decisions:
        unmodelled |= dict.fromkeys(decision.not_modelled)
    every = (
        cluster.release_choice.warning,
        *(warning for warning in read.warnings if warning not in harmless),
        *lacking,
        *(f"not modelled yet: {each.feature} ({each.effect})" for each in unmodelled),
    )
    return tuple(dict.fromkeys(text for text in every if text))
