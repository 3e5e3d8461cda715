"""The multi-step answer: a simulation to its end, and as a placement what it has come to."""

from __future__ import annotations

from collections import Counter

from kschedctl.optimum.goals import Placement
from kschedctl.optimum.question import Question
from kschedctl.simulate.pods import pod_at
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.timeline import Happening


def run_to_end(simulation: Simulation) -> bool:
    """Let a simulation come to its end; whether there is one.

    Where a pod evicts others again and again, as they come back before its turn, it is given up.
    """
    for _ in simulation:
        pass
    return not simulation.restless


def placement_of(question: Question, simulation: Simulation) -> Placement:
    """Who is placed in the end that waited or came again, and who had to leave.

    Parameters
    ----------
    question : Question
        Posed over the cluster that the simulation began with.
    simulation : Simulation
        It has come to its end.
    """
    start, end = question.start.cluster.pods, simulation.cluster.pods
    evicted = {entry.pod for entry in simulation.timeline if entry.event is Happening.PREEMPTED}
    came = {entry.pod for entry in simulation.timeline if entry.event is Happening.SCHEDULED}
    waiting = {pod.key: number for number, kind in enumerate(question.kinds) for pod in kind.pods}
    leaving: Counter[int] = Counter()
    for number, occupants in enumerate(question.occupants):
        gone = sum(start.key(index) in evicted for index in occupants.pods)
        if gone:
            leaving[number] = gone
    placed: Counter[tuple[int, int]] = Counter()
    for key in came:
        namespace, _, name = key.partition("/")
        index = end.index.get((namespace, name))
        if index is not None and end.node_row[index] >= 0:
            # A pod that was tried with other priorities or requests is still of its kind.
            kind = waiting.get(key, -1)
            if kind < 0:
                kind = question.kind_number(pod_at(simulation.cluster, index))
            if kind >= 0:
                placed[kind, int(end.node_row[index])] += 1
    return Placement(dict(placed), dict(leaving))
