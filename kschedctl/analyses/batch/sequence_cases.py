"""Cases of many pods: a sequence runs to the end of the queue, and all attempts are its answer.

{"id": "...", "objects": [<objects>], "pods": [<pods in the order of their creation>], "config": <optional>,
"choices": {"<namespace/name>": [<node of each attempt>]}}

The clock advances by a millisecond per pod and cycle. Victims are gone at once, and no controller acts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kschedctl.analyses.batch.cases import CaseCluster, read_case_cluster, read_case_pod
from kschedctl.clock import VirtualClock
from kschedctl.errors import UnsupportedError
from kschedctl.framework.registry import Registry
from kschedctl.releases.release import Release
from kschedctl.simulate.attempt import Attempt
from kschedctl.simulate.choice import as_recorded
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.world import SCHEDULER_ALONE

#: After 2,000 attempts a case is given up, as its pods preempt each other without end.
MOST_ATTEMPTS: Final = 2000


class SequenceCase(CaseCluster, frozen=True):
    """A case of many pods.

    Attributes
    ----------
    pods : tuple of objects
        The pods in the order of their creation.
    choices : mapping of str to tuple of str
        Per pod the node chosen in each of its attempts, in order; empty for an attempt that found no node.
    """

    pods: tuple[dict[str, Any], ...] = ()
    choices: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SequenceResult:
    """The result of a case of many pods.

    Attributes
    ----------
    simulation : Simulation
        The simulation in its last state.
    attempts : tuple of Attempt
        All scheduling cycles, in order.
    untried : tuple of str
        The case's pods that no cycle tried, ``namespace/name``: gates keep them out of the queue.
    """

    simulation: Simulation
    attempts: tuple[Attempt, ...]
    untried: tuple[str, ...]


def run_sequence(case: SequenceCase, release: Release, registry: Registry) -> SequenceResult:
    """Run a case to the end of its queue.

    Raises
    ------
    InputError
        If a pod, an object or the configuration is invalid.
    UnsupportedError
        If the queue is not settled after 2,000 attempts.
    """
    simulation = Simulation(
        read_case_cluster(case, release, registry),
        clock=VirtualClock(),
        choose=as_recorded(case.choices),
        world=SCHEDULER_ALONE,
    )
    pods = [read_case_pod(pod, f"pods[{i}]") for i, pod in enumerate(case.pods)]
    simulation.enqueue_pending()
    simulation.create(pods)
    attempts: list[Attempt] = []
    for attempt in simulation.run():
        if len(attempts) == MOST_ATTEMPTS:
            raise UnsupportedError("does not settle", hint="pods preempt each other endlessly")
        attempts.append(attempt)
    tried = {attempt.pod for attempt in attempts}
    return SequenceResult(simulation, tuple(attempts), tuple(pod.key for pod in pods if pod.key not in tried))
