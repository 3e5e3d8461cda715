"""Runs of sequences with pod groups: stages, each of which begins once the run has come to rest.

A group that is rejected is tried again without end. A run is at rest once everything that is active or in back-off was
tried twice since a pod was last bound or evicted, or something was created or deleted. Where only back-off is left, the
clock advances by whole seconds. A bound pod starts at once; its start time follows the order of creation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace as with_fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from kschedctl.common.errors import InputError, UnsupportedError
from kschedctl.objects.core import Node
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.analyses.batch.cases import read_case_object, read_case_pod
from kschedctl.trials.simulate.attempts import Attempt
from kschedctl.trials.simulate.simulation import Simulation
from kschedctl.trials.simulate.world import SCHEDULER_ALONE, World

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

    def started(self, pod: Pod) -> Pod:
        """Return a bound pod with its start time."""
        start = _FIRST_START + timedelta(seconds=self._numbers.get(pod.key, 0))
        return replace(pod, status=replace(pod.status, start_time=start))

    @property
    def world(self) -> World:
        """The world of such a run: only the scheduler acts, and pods start at once."""
        return with_fields(SCHEDULER_ALONE, kubelet=True, starts=self.started)


class StagedRun:
    """A run with stages.

    Parameters
    ----------
    simulation : Simulation
        The simulation, with the first pods in its queue.
    order : CreationOrder
        The order of creation so far.
    stages : sequence of (objects, names)
        Per stage the objects to create, as data, and those to delete, as kind, namespace and name.
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
        """Yield all attempts."""
        while True:
            if self._is_at_rest():
                if not self._stages:
                    return
                self._run_stage(*self._stages.pop(0))
                continue
            attempts = self._next()
            self._count(attempts)
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

    def _is_at_rest(self) -> bool:
        simulation = self._simulation
        return all(self._idle[simulation.name(entry)] >= _IDLE for entry in simulation.queue.retried)

    def _count(self, attempts: Sequence[Attempt]) -> None:
        first = attempts[0]
        victims = first.group.victims if first.group is not None else first.victims
        if victims or any(attempt.node for attempt in attempts):
            self._idle.clear()
        else:
            self._idle[f"podgroup {first.group.key}" if first.group is not None else first.pod] += 1

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
        elif isinstance(obj, PodGroup):
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
        obj = next((found for of in _types(kind) if (found := simulation.cluster.get(of, name, namespace))), None)
        if isinstance(obj, PodGroup):
            simulation.delete_group(obj)
        elif kind == "Node" and name in simulation.cluster.nodes.row:
            simulation.delete_node(name)
        elif obj is not None:
            simulation.delete_object(obj)
        else:
            raise InputError(f"no {kind} {namespace}/{name} to delete", path=path)


def _types(kind: str) -> list[type[ApiObject]]:
    return [of for (_, name), of in KINDS.items() if name == kind and name != "Node"]
