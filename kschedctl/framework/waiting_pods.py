"""Pods that a Permit plugin lets wait: who still has to allow them, and until when (upstream ``waitingPodsMap``).

Nothing here knows the time: whoever runs the binding cycles says how many seconds its clock (``kschedctl.clock``)
shows, and takes what is settled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kschedctl.api.duration import Duration
from kschedctl.api.pod import Pod
from kschedctl.framework.status import SUCCESS, Code, Status
from kschedctl.workloads.template import uid_of


@dataclass(frozen=True, slots=True)
class _Timer:
    """Until when a plugin lets a pod wait, and for how many seconds in all."""

    at: float
    seconds: float


class WaitingPod:
    """A pod that waits for plugins to allow it; the first that turns it away settles it.

    Attributes
    ----------
    pod : Pod
        The pod, with the node that it is meant for in ``spec.nodeName``.
    """

    def __init__(self, pod: Pod, waits: Mapping[str, float], now: float) -> None:
        self.pod = pod
        self._timers = {name: _Timer(now + seconds, seconds) for name, seconds in waits.items()}
        self._status: Status | None = None

    @property
    def uid(self) -> str:
        """What the pod is found under: its uid, or the stand-in for one that it has not got yet."""
        return uid_of(self.pod)

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        """The plugins that have not allowed it yet, in the profile's order."""
        return tuple(self._timers)

    @property
    def status(self) -> Status | None:
        """What came of it; ``None`` while it waits."""
        return self._status

    @property
    def deadline(self) -> float | None:
        """When the first of its time-outs ends the waiting; ``None`` once it is settled."""
        return None if self._status else min((timer.at for timer in self._timers.values()), default=None)

    def allow(self, plugin: str) -> None:
        """Take a plugin off those that are waited for; with the last one gone the pod goes on."""
        self._timers.pop(plugin, None)
        if not self._timers:
            self._settle(SUCCESS)

    def reject(self, plugin: str, message: str) -> bool:
        """Turn the pod away as unschedulable.

        Returns
        -------
        bool
            Whether that settled it: what was settled before stays as it is.
        """
        return self._settle(Status(Code.UNSCHEDULABLE, (message,), plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """Turn the pod away without calling it unschedulable: it is tried again.

        Returns
        -------
        bool
            Whether that settled it.
        """
        return self._settle(Status(Code.ERROR, (f"waiting on permit for pod: {message}",), plugin))

    def time_out(self) -> None:
        """Turn the pod away in the name of the plugin whose time is up first."""
        name, timer = min(self._timers.items(), key=lambda item: item[1].at)
        lasted = Duration(round(timer.seconds * 1e9))
        self.reject(name, f"rejected due to timeout after waiting {lasted} at plugin {name}")

    def _settle(self, status: Status) -> bool:
        if self._status is not None:
            return False
        self._status = status
        return True


class WaitingPods:
    """All pods that wait, of every profile, in the order in which they began to."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[WaitingPod]:
        """The pods that are waiting; plugins may settle some of them meanwhile."""
        return iter(tuple(self._pods.values()))

    def get(self, uid: str) -> WaitingPod | None:
        """The waiting pod of a uid, or of the stand-in for it."""
        return self._pods.get(uid)

    def add(self, pod: Pod, waits: Mapping[str, float], now: float) -> WaitingPod:
        """Let a pod wait.

        Parameters
        ----------
        pod : Pod
            The pod with its node.
        waits : mapping of str to float
            Per plugin for how many seconds at the most, as ``run_permit`` has it.
        now : float
            When it begins to wait.
        """
        waiting = WaitingPod(pod, waits, now)
        self._pods[waiting.uid] = waiting
        return waiting

    def reject(self, uid: str) -> bool:
        """Turn away a pod that was removed while it waited.

        Returns
        -------
        bool
            Whether one of that uid was waiting.
        """
        waiting = self._pods.get(uid)
        return waiting is not None and waiting.reject("", "removed")

    @property
    def next_due(self) -> float | None:
        """When the next time-out ends; ``None`` where no pod waits."""
        deadlines = (waiting.deadline for waiting in self._pods.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def due(self, now: float) -> None:
        """End the waiting of all whose time is up, the first first.

        What plugins do about one that timed out may settle the next: to give them the chance, go from one
        ``next_due`` to the other.
        """
        waiting = [(pod.deadline, pod) for pod in self._pods.values()]
        late = [(deadline, pod) for deadline, pod in waiting if deadline is not None and deadline <= now]
        for _, pod in sorted(late, key=lambda entry: entry[0]):
            pod.time_out()

    def settled(self) -> list[tuple[Pod, Status]]:
        """Take out the pods that no longer wait, in the order in which they began to.

        Returns
        -------
        list of (Pod, Status)
            Success where the pod goes on to be bound; else why it does not, with the plugin that turned it away.
        """
        done = [(uid, pod) for uid, pod in self._pods.items() if pod.status is not None]
        for uid, _ in done:
            del self._pods[uid]
        return [(pod.pod, pod.status) for _, pod in done if pod.status is not None]
