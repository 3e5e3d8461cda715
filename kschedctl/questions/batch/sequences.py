"""Cases of many pods: a sequence runs to the end of the queue, and all attempts are its answer.

{"id": "...", "objects": [<objects>], "pods": [<pods in the order of their creation>], "config": <optional>,
"choices": {"<namespace/name>": [<node of each attempt>]}, "featureGates": <optional>, "then": [<stages, optional>]}

The clock advances by a millisecond per pod and cycle. Victims are gone at once, and no controller acts.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.pod_group_trees import Group
from kschedctl.cluster.records import PENDING
from kschedctl.common.clock import VirtualClock
from kschedctl.common.errors import InputError, UnsupportedError
from kschedctl.objects.core import Condition, Node
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.questions.batch.cases import (
    Answer,
    CaseCluster,
    read_case_cluster,
    read_case_object,
    read_case_pod,
    status_data,
)
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.simulate.attempts import Attempt, GroupAttempt
from kschedctl.trials.simulate.choice import as_recorded, as_recorded_in_groups
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import SCHEDULER_ALONE, World

# Runs of sequences with pod groups: stages, each of which begins once the run has come to rest.
#
# A group that is rejected is tried again without end. A run is at rest once everything that is active or in back-off
# was tried twice since a pod was last bound or evicted, or something was created or deleted. Where only back-off is
# left, the clock advances by whole seconds. A bound pod starts at once; its start time follows the order of creation.

_FIRST_START: Final = datetime(2026, 2, 1, tzinfo=UTC)
#: The number of idle attempts at each entry after which a run is at rest.
_IDLE: Final = 2
#: The longest time that a run waits for back-off in all, in seconds.
_LONGEST_WAIT: Final = 3000


class CreationOrder:
    """The order in which a case creates its pods, from which their start times follow."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def note(self, pod: Pod) -> None:
        """Record that a pod is created."""
        self._numbers[pod.key] = len(self._numbers)

    def number(self, key: str) -> int:
        """Return the place of a pod in the order of creation, by its ``namespace/name``."""
        return self._numbers.get(key, -1)

    def started(self, pod: Pod) -> Pod:
        """Return a bound pod with its start time."""
        start = _FIRST_START + timedelta(seconds=max(self.number(pod.key), 0))
        return replace(pod, status=replace(pod.status, start_time=start))

    @property
    def world(self) -> World:
        """The world of such a run: only the scheduler acts, and pods start at once."""
        return with_fields(SCHEDULER_ALONE, kubelet=True, starts=self.started)


class StagedRun:
    """A run with stages.

    Args:
        simulation: The simulation, with the first pods in its queue.
        order: The order of creation so far.
        stages: Per stage the objects to create, as data, and those to delete, as kind, namespace and name.
    """

    def __init__(
        self,
        simulation: Simulation,
        order: CreationOrder,
        stages: Sequence[tuple[Sequence[dict[str, Any]], Sequence[tuple[str, str, str]]]],
    ) -> None:
        self._simulation = simulation
        self._order = order
        self._stages = list(stages)
        self._idle: Counter[str] = Counter()
        self._waited = 0
        self._number = 0

    def run(self) -> Iterator[Attempt]:
        while True:
            simulation = self._simulation
            if all(self._idle[simulation.name(entry)] >= _IDLE for entry in simulation.queue.retried):
                if not self._stages:
                    return
                self._run_stage(*self._stages.pop(0))
                continue
            attempts = self._next()
            first = attempts[0]
            victims = first.group.victims if first.group is not None else first.victims
            if victims or any(attempt.node for attempt in attempts):
                self._idle.clear()
            else:
                self._idle[first.group.entity if first.group is not None else first.pod] += 1
            yield from attempts

    def _next(self) -> tuple[Attempt, ...]:
        attempts = self._simulation.step()
        while not attempts:
            if self._waited == _LONGEST_WAIT:
                raise UnsupportedError("does not settle", hint="the queue gives nothing out")
            if not self._simulation.queue.can_pop:
                self._waited += 1
                self._simulation.pass_second()
            if self._simulation.queue.can_pop:
                attempts = self._simulation.step()
        return attempts

    def _run_stage(self, created: Sequence[dict[str, Any]], deleted: Sequence[tuple[str, str, str]]) -> None:
        self._idle.clear()
        path = f"then[{self._number}]"
        self._number += 1
        for i, data in enumerate(created):
            self._create(data, f"{path}.create[{i}]")
        for i, (kind, namespace, name) in enumerate(deleted):
            self._delete(kind, namespace, name, f"{path}.delete[{i}]")

    def _create(self, data: dict[str, Any], path: str) -> None:
        if data.get("kind") == "Pod":
            pod = read_case_pod(data, path)
            self._order.note(pod)
            self._simulation.create([pod])
            return
        obj = read_case_object(data, path)
        if isinstance(obj, Node):
            self._simulation.change_node(obj)
        elif isinstance(obj, PodGroup | CompositePodGroup):
            self._simulation.create_group(obj)
        elif obj is not None:
            self._simulation.create_object(obj)

    def _delete(self, kind: str, namespace: str, name: str, path: str) -> None:
        simulation = self._simulation
        pods = simulation.cluster.pods
        if kind == "Pod":
            index = pods.index.get((namespace, name))
            if index is not None:
                simulation.remove(simulation.pod(index))
            return
        obj = next(
            (
                found
                for (_, own), of in KINDS.items()
                if own == kind != "Node" and (found := simulation.cluster.get(of, name, namespace))
            ),
            None,
        )
        if isinstance(obj, PodGroup | CompositePodGroup):
            simulation.delete_group(obj)
        elif kind == "Node" and name in simulation.cluster.nodes.row:
            simulation.delete_node(name)
        elif obj is not None:
            simulation.delete_object(obj)
        else:
            raise InputError(f"no {kind} {namespace}/{name} to delete", path=path)


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
    """A case of many pods."""

    #: The pods in the order of their creation.
    pods: tuple[dict[str, Any], ...] = ()
    #: Per pod the node chosen in each of its attempts, in order; empty for an attempt that found no node. Under
    #: ``group NAMESPACE/NAME``, per attempt at the group the node of every search.
    choices: dict[str, tuple[str | tuple[str, ...], ...]] = msgspec.field(default_factory=dict)
    #: Feature gates that differ from their defaults.
    feature_gates: dict[str, bool] = msgspec.field(default_factory=dict, name="featureGates")
    #: The stages that follow.
    then: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True)
class SequenceResult:
    """The result of a case of many pods."""

    #: The simulation in its last state.
    simulation: Simulation
    #: All attempts, in order.
    attempts: tuple[Attempt, ...]
    #: The case's pods that no attempt tried, ``namespace/name``: gates keep them out of the queue.
    untried: tuple[str, ...]
    order: CreationOrder
    #: True if the case sets feature gates, so that its answer is also about pod groups.
    has_groups: bool = False


def run_sequence(case: SequenceCase, release: Release, registry: Registry) -> SequenceResult:
    """Run a case to the end of its queue.

    Raises InputError if a pod, an object or the configuration is invalid.
    Raises UnsupportedError if the queue is not settled after 2,000 attempts, of which one at a group counts once.
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
    return SequenceResult(simulation, tuple(attempts), untried, order, bool(case.feature_gates))


# The result of a sequence as a recorded answer: its attempts in order, and the node of every pod at the end.


def sequence_answer(case_id: str, played: SequenceResult) -> Answer:
    """Return the answer to a case of many pods."""
    pods = played.simulation.cluster.pods
    out: Answer = {
        "id": case_id,
        "attempts": _attempts(played),
        "pods": {pods.key(i): record.node_name for i, record in enumerate(pods.records)},
    }
    nominations = {
        pods.key(i): record.status.nominated_node_name
        for i, record in enumerate(pods.records)
        if record.status.nominated_node_name and not record.node_name
    }
    if nominations:
        out["nominations"] = nominations
    if played.untried:
        out["gated"] = list(played.untried)
    if played.has_groups:
        cluster = played.simulation.cluster
        groups: list[Group] = [*cluster.list(PodGroup), *cluster.list(CompositePodGroup)]
        out["groups"] = {group.key: [_condition(each) for each in group.status.conditions] for group in groups}
        out["held"] = _held(played)
    notes = list(dict.fromkeys(str(note) for attempt in played.attempts for note in attempt.search.not_modelled))
    if notes:
        out["notModelled"] = notes
    return out


def _attempts(played: SequenceResult) -> list[dict[str, Any]]:
    """Return the attempts as data, those of the members of a group together."""
    out = []
    for _, members in groupby(played.attempts, key=lambda attempt: id(attempt.group) if attempt.group else id(attempt)):
        of_one = list(members)
        first = of_one[0].group
        if first is not None and first.decision is not None and first.decision.group.is_tree:
            # The members of a tree are in the order of their first search, and those without one in that of creation.
            searches = list(dict.fromkeys(pod for pod, _ in first.picks))
            place = {pod: (0, i) for i, pod in enumerate(searches)}
            of_one.sort(key=lambda each: place.get(each.pod, (1, played.order.number(each.pod))))
        out.append(_attempt(of_one[0]) if first is None else _group_attempt(first, of_one))
    return out


def _attempt(attempt: Attempt) -> dict[str, Any]:
    said = {
        "pod": attempt.pod,
        "node": attempt.node,
        "message": attempt.message,
        "nominated": attempt.nominated,
        "victims": list(attempt.victims),
    }
    return {name: value for name, value in said.items() if value}


def _group_attempt(group: GroupAttempt, members: Sequence[Attempt]) -> dict[str, Any]:
    said = {
        "group": group.key,
        "outcome": str(group.outcome),
        "condition": _condition(group.condition) if group.condition is not None else None,
        "conditions": {key: _condition(each) for key, each in group.conditions.items()},
        "members": [
            *({name: value for name, value in _attempt(member).items() if name != "victims"} for member in members),
            *({"pod": key} for key in group.skipped),
        ],
        "picks": group.picks,
        "victims": list(group.victims),
    }
    return {name: value for name, value in said.items() if value}


def _condition(condition: Condition) -> dict[str, str]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }


def _held(played: SequenceResult) -> dict[str, Answer]:
    """Return the status of the pods that PreEnqueue holds back at the end."""
    scheduler, pods = played.simulation.scheduler, played.simulation.cluster.pods
    out = {}
    for index in np.flatnonzero(pods.node_row == PENDING).tolist():
        pod = pods.pod(index)
        if scheduler.knows(pod):
            status = scheduler.framework(pod.spec.scheduler_name).run_pre_enqueue(pod)
            if status.code is not Code.SUCCESS:
                out[pod.key] = status_data(status)
    return out
