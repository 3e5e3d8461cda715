"""Cases of many pods: a sequence runs to the end of the queue, and all attempts are its answer.

{"id": "...", "objects": [<objects>], "pods": [<pods in the order of their creation>], "config": <optional>,
"choices": {"<namespace/name>": [<node of each attempt>]}}

Time goes on by a millisecond per pod and cycle. Victims are gone at once, and no controller acts.
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

#: So many attempts mean that pods preempt each other for ever.
MOST_ATTEMPTS: Final = 2000


class SequenceCase(CaseCluster, frozen=True):
    """One case of many pods.

    Attributes
    ----------
    pods : tuple of objects
        The pods in the order of their creation.
    choices : mapping of str to tuple of str
        Per pod what chance decided in its attempts, in order; empty for an attempt that went nowhere.
    """

    pods: tuple[dict[str, Any], ...] = ()
    choices: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a case of many pods.

    Attributes
    ----------
    simulation : Simulation
        The simulation as it is in the end.
    attempts : tuple of Attempt
        All scheduling cycles, in order.
    untried : tuple of str
        The given pods that no cycle was spent on, ``namespace/name``: gates hold them back.
    """

    simulation: Simulation
    attempts: tuple[Attempt, ...]
    untried: tuple[str, ...]


def run_sequence(case: SequenceCase, release: Release, registry: Registry) -> Played:
    """Run a case to the end of its queue.

    Raises
    ------
    InputError
        Where the case is not one that a scheduler could be given.
    UnsupportedError
        Where it does not come to an end.
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
            raise UnsupportedError("does not settle", hint="pods preempt each other for ever")
        attempts.append(attempt)
    tried = {attempt.pod for attempt in attempts}
    return Played(simulation, tuple(attempts), tuple(pod.key for pod in pods if pod.key not in tried))
