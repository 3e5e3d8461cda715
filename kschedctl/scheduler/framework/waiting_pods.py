"""Pods waiting at Permit: the plugins that still have to allow them, and their timeouts (upstream ``waitingPodsMap``).

This module has no clock: the caller that runs the binding cycles passes the time of its clock
(``kschedctl.common.clock``), in
seconds, and takes out the settled pods.
"""

from collections.abc import Iterator, Mapping

import msgspec

from kschedctl.controllers.workloads.template import uid_of
from kschedctl.objects.duration import Duration
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status


class _Timer(msgspec.Struct, frozen=True):
    """The time at which a plugin's timeout ends, and its length, both in seconds."""

    at: float
    seconds: float


class WaitingPod:
    """A pod waiting for plugins to allow it; the first rejection settles it.

    Attributes
    ----------
    pod : Pod
        The pod, with its intended node in ``spec.nodeName``.
    """

    def __init__(self, pod: Pod, waits: Mapping[str, float], now: float) -> None:
        self.pod = pod
        self._timers = {name: _Timer(now + seconds, seconds) for name, seconds in waits.items()}
        self._status: Status | None = None

    @property
    def uid(self) -> str:
        """The pod's uid, or its substitute (``uid_of``) if it has none yet."""
        return uid_of(self.pod)

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        """The plugins that have not allowed the pod yet, in the profile's order."""
        return tuple(self._timers)

    @property
    def status(self) -> Status | None:
        """The final status; ``None`` while the pod is waiting."""
        return self._status

    @property
    def deadline(self) -> float | None:
        """The time at which the earliest timeout ends, in seconds; ``None`` once the pod is settled."""
        return None if self._status else min((timer.at for timer in self._timers.values()), default=None)

    def allow(self, plugin: str) -> None:
        """Record that a plugin allows the pod; once all plugins allow it, the pod proceeds to binding."""
        self._timers.pop(plugin, None)
        if not self._timers:
            self._settle(SUCCESS)

    def reject(self, plugin: str, message: str) -> bool:
        """Reject the pod as unschedulable.

        Returns
        -------
        bool
            True if this settled the pod; an already settled pod is unchanged.
        """
        return self._settle(Status(Code.UNSCHEDULABLE, (message,), plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """End the waiting with an error instead of a rejection, so that the pod is retried.

        Returns
        -------
        bool
            True if this settled the pod.
        """
        return self._settle(Status(Code.ERROR, (f"waiting on permit for pod: {message}",), plugin))

    def time_out(self) -> None:
        """Reject the pod on behalf of the plugin whose timeout ends first."""
        name, timer = min(self._timers.items(), key=lambda item: item[1].at)
        lasted = Duration(round(timer.seconds * 1e9))
        self.reject(name, f"rejected due to timeout after waiting {lasted} at plugin {name}")

    def _settle(self, status: Status) -> bool:
        if self._status is not None:
            return False
        self._status = status
        return True


class WaitingPods:
    """All waiting pods, of every profile, in the order in which they began to wait."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[WaitingPod]:
        """Iterate over a copy of the waiting pods, so that plugins may settle pods meanwhile."""
        return iter(tuple(self._pods.values()))

    def get(self, uid: str) -> WaitingPod | None:
        """Return the waiting pod with the given uid or substitute uid."""
        return self._pods.get(uid)

    def add(self, pod: Pod, waits: Mapping[str, float], now: float) -> WaitingPod:
        """Add a waiting pod.

        Parameters
        ----------
        pod : Pod
            The pod with its node.
        waits : mapping of str to float
            The maximum waiting time for each plugin, in seconds, as returned by ``run_permit``.
        now : float
            The time at which the waiting begins, in seconds.
        """
        waiting = WaitingPod(pod, waits, now)
        self._pods[waiting.uid] = waiting
        return waiting

    def reject(self, uid: str) -> bool:
        """Reject a pod that was removed while it was waiting.

        Returns
        -------
        bool
            True if a pod with that uid was waiting and not yet settled.
        """
        waiting = self._pods.get(uid)
        return waiting is not None and waiting.reject("", "removed")

    @property
    def next_due(self) -> float | None:
        """The time at which the next timeout ends, in seconds; ``None`` if no pod is waiting."""
        deadlines = (waiting.deadline for waiting in self._pods.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def due(self, now: float) -> None:
        """Reject all pods whose timeout has ended, in the order of their deadlines.

        Plugins that handle one timeout may settle other waiting pods. To give them the chance, advance from one
        ``next_due`` to the next.
        """
        waiting = [(pod.deadline, pod) for pod in self._pods.values()]
        late = [(deadline, pod) for deadline, pod in waiting if deadline is not None and deadline <= now]
        for _, pod in sorted(late, key=lambda entry: entry[0]):
            pod.time_out()

    def settled(self) -> list[tuple[Pod, Status]]:
        """Remove and return the settled pods, in the order in which they began to wait.

        Returns
        -------
        list of (Pod, Status)
            Success if the pod proceeds to binding; else the reason it does not, with the plugin that rejected it.
        """
        done = [(uid, pod) for uid, pod in self._pods.items() if pod.status is not None]
        for uid, _ in done:
            del self._pods[uid]
        return [(pod.pod, pod.status) for _, pod in done if pod.status is not None]
