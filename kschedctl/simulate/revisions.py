"""The pods of a workload while a new revision comes: which are old and new, there and available; made and deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from kschedctl.api.pod import Pod
from kschedctl.simulate.disruption import is_unready
from kschedctl.simulate.pods import pod_at
from kschedctl.simulate.rollout_steps import RolloutStep, Side
from kschedctl.simulate.simulation import Simulation
from kschedctl.simulate.timeline import Happening

#: Of a pod of an ordinal or number, as its controller makes it and admission lets it in.
MakePod = Callable[[int], Pod]
_GOING: Final = frozenset({Happening.PREEMPTED, Happening.EVICTED, Happening.DELETED})
_LONG_AGO: Final = float("-inf")


class Revisions:
    """The pods of one workload in a simulation.

    Parameters
    ----------
    simulation : Simulation
        The cluster at work.
    namespace : str
        Theirs.
    sides : mapping of str to Side
        The revision of each pod that is there, by name.
    min_ready_seconds : int
        How long a new pod is ready before it is available.

    Attributes
    ----------
    steps : list of RolloutStep
        What was done so far.
    lowest : int
        The fewest pods that were available at any time.
    """

    def __init__(
        self, simulation: Simulation, namespace: str, sides: Mapping[str, Side], min_ready_seconds: int = 0
    ) -> None:
        self.simulation = simulation
        self.namespace = namespace
        self.steps: list[RolloutStep] = []
        self._sides = dict(sides)
        self._min_ready_seconds = min_ready_seconds
        self._seen = len(simulation.timeline)
        #: Since when each pod is ready, by the clock.
        self._ready = {pod.name: _LONG_AGO for pod in self.pods() if pod.spec.node_name}
        self.lowest = len(self.available())

    def side(self, name: str) -> Side:
        """The revision of a pod."""
        return self._sides[name]

    def pods(self, side: Side | None = None) -> list[Pod]:
        """The pods that are there, those on their way out included; of both revisions or of one."""
        index = self.simulation.cluster.pods.index
        return [
            pod_at(self.simulation.cluster, index[self.namespace, name])
            for name, own in self._sides.items()
            if (side is None or own is side) and (self.namespace, name) in index
        ]

    def active(self, side: Side | None = None) -> list[Pod]:
        """Those of them that are not on their way out."""
        return [pod for pod in self.pods(side) if pod.metadata.deletion_timestamp is None]

    def available(self, side: Side | None = None) -> list[Pod]:
        """Those of them that are ready, for long enough."""
        return [pod for pod in self.active(side) if self.is_available(pod)]

    def is_available(self, pod: Pod) -> bool:
        """Whether a pod that is not on its way out is ready, for long enough."""
        since = self._ready.get(pod.name)
        if since is None or pod.metadata.deletion_timestamp is not None:
            return False
        # One that was bound before and is pending still waits for its kubelet: nobody knows whether it will run.
        if is_unready(pod) or pod.status.phase == "Pending":
            return False
        return self.simulation.clock.now() >= since + self._min_ready_seconds

    def observe(self) -> None:
        """Take in what happened since the last look."""
        timeline = self.simulation.timeline
        fewer = False
        for entry in timeline[self._seen :]:
            namespace, _, name = entry.pod.partition("/")
            if namespace != self.namespace or name not in self._sides:
                continue
            fewer = fewer or entry.event in _GOING
            if entry.event is Happening.SCHEDULED:
                now = self._ready[name] = self.simulation.clock.now()
                if self._min_ready_seconds:
                    # Nothing else happens when the pod becomes available; the controller is to look then.
                    self.simulation.clock.schedule(now + self._min_ready_seconds, _nothing)
        self._seen = len(timeline)
        if fewer:
            # Looked at anew after every cycle, many pods would take their time squared.
            self.lowest = min(self.lowest, len(self.available()))

    def create(self, pods: Iterable[Pod], side: Side) -> None:
        """Make pods of a revision, as one step."""
        new = list(pods)
        before = len(self.active(side))
        for pod in new:
            self._sides[pod.name] = side
            self._ready.pop(pod.name, None)
        self.simulation.create(new)
        self._ready |= {pod.name: self.simulation.clock.now() for pod in new if pod.spec.node_name}
        self._done(side, before, new)

    def delete(self, pods: Iterable[Pod], side: Side) -> None:
        """Delete pods of a revision, as one step; one that has no node yet is gone at once."""
        gone = list(pods)
        before = len(self.active(side))
        for pod in gone:
            if pod.spec.node_name:
                self.simulation.delete(pod)
            else:
                self.simulation.remove(pod)
        self._done(side, before, gone)

    def _done(self, side: Side, before: int, pods: list[Pod]) -> None:
        after = len(self.active(side))
        keys = tuple(pod.key for pod in pods)
        self.observe()
        available = len(self.available())
        self.lowest = min(self.lowest, available)
        now = self.simulation.now()
        seconds = (now - self.steps[0].time).total_seconds() if self.steps else 0.0
        self.steps.append(RolloutStep(len(self.steps) + 1, now, seconds, side, before, after, keys, available))


def named(pod: Pod, name: str) -> Pod:
    """A pod under another name."""
    return replace(pod, metadata=replace(pod.metadata, name=name))


def _nothing() -> None:
    pass
