"""Cases of many pods: a sequence runs to the end of the queue, and all attempts are its answer.

{"id": "...", "objects": [<objects>], "pods": [<pods in the order of their creation>], "config": <optional>,
"choices": {"<namespace/name>": [<node of each attempt>]}, "featureGates": <optional>, "then": [<stages, optional>]}

The clock advances by a millisecond per pod and cycle. Victims are gone at once, and no controller acts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kschedctl.common.clock import VirtualClock
from kschedctl.common.errors import UnsupportedError
from kschedctl.objects.releases.release import Release
from kschedctl.questions.analyses.batch.cases import CaseCluster, read_case_cluster, read_case_pod
from kschedctl.questions.analyses.batch.staged_run import CreationOrder, StagedRun
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.choice import as_recorded, as_recorded_in_groups
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import SCHEDULER_ALONE

#: After 2,000 attempts a case is given up, as its pods preempt each other without end.
MOST_ATTEMPTS: Final = 2000
#: The prefix of the names of groups in ``choices``.
_GROUP: Final = "group "


class ObjectName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object that a stage deletes."""

    kind: str
    name: str
    namespace: str = ""


class Stage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a case that happens once the run has come to rest: first what it creates, then what it deletes."""

    create: tuple[dict[str, Any], ...] = ()
    delete: tuple[ObjectName, ...] = ()


class SequenceCase(CaseCluster, frozen=True):
    """A case of many pods.

    Attributes
    ----------
    pods : tuple of objects
        The pods in the order of their creation.
    choices : mapping of str to tuple
        Per pod the node chosen in each of its attempts, in order; empty for an attempt that found no node. Under
        ``group NAMESPACE/NAME``, per attempt at the group the node of every search.
    feature_gates : mapping of str to bool
        Feature gates that differ from their defaults.
    then : tuple of Stage
        The stages that follow.
    """

    pods: tuple[dict[str, Any], ...] = ()
    choices: dict[str, tuple[str | tuple[str, ...], ...]] = msgspec.field(default_factory=dict)
    feature_gates: dict[str, bool] = msgspec.field(default_factory=dict, name="featureGates")
    then: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True)
class SequenceResult:
    """The result of a case of many pods.

    Attributes
    ----------
    simulation : Simulation
        The simulation in its last state.
    attempts : tuple of Attempt
        All attempts, in order.
    untried : tuple of str
        The case's pods that no attempt tried, ``namespace/name``: gates keep them out of the queue.
    has_groups : bool
        True if the case sets feature gates, so that its answer is also about pod groups.
    """

    simulation: Simulation
    attempts: tuple[Attempt, ...]
    untried: tuple[str, ...]
    has_groups: bool = False


def run_sequence(case: SequenceCase, release: Release, registry: Registry) -> SequenceResult:
    """Run a case to the end of its queue.

    Raises
    ------
    InputError
        If a pod, an object or the configuration is invalid.
    UnsupportedError
        If the queue is not settled after 2,000 attempts, of which one at a group counts once.
    """
    in_groups = {
        key.removeprefix(_GROUP): [tuple(each) for each in value]
        for key, value in case.choices.items()
        if key.startswith(_GROUP)
    }
    one_by_one = {
        key: [str(node) for node in value] for key, value in case.choices.items() if not key.startswith(_GROUP)
    }
    order = CreationOrder()
    simulation = Simulation(
        read_case_cluster(case, release.with_features(case.feature_gates), registry),
        clock=VirtualClock(),
        choose=as_recorded(one_by_one),
        choose_in_group=as_recorded_in_groups(in_groups),
        world=order.world if case.feature_gates else SCHEDULER_ALONE,
    )
    pods = [read_case_pod(pod, f"pods[{i}]") for i, pod in enumerate(case.pods)]
    for pod in pods:
        order.note(pod)
    simulation.enqueue_pending()
    simulation.create(pods)
    stages = [(stage.create, [(each.kind, each.namespace, each.name) for each in stage.delete]) for stage in case.then]
    attempts: list[Attempt] = []
    n_attempts = 0
    for attempt in StagedRun(simulation, order, stages).run() if case.feature_gates else simulation.run():
        # An attempt at a group counts once, for all of its members.
        n_attempts += attempt.group is None or not attempts or attempt.group is not attempts[-1].group
        if n_attempts > MOST_ATTEMPTS:
            raise UnsupportedError("does not settle", hint="pods preempt each other endlessly")
        attempts.append(attempt)
    tried = {attempt.pod for attempt in attempts}
    tried |= {key for attempt in attempts if attempt.group is not None for key in attempt.group.skipped}
    untried = tuple(pod.key for pod in pods if pod.key not in tried)
    return SequenceResult(simulation, tuple(attempts), untried, bool(case.feature_gates))
