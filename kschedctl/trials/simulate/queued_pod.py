"""A pod in the scheduling queue, with the queue's record of it (upstream ``QueuedPodInfo``)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime

from kschedctl.objects.pod import Pod


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod in the scheduling queue.

    Attributes
    ----------
    pod : Pod
        The current pod.
    timestamp : datetime
        The time at which the pod arrived, or at which its last attempt failed.
    attempts : int
        The number of scheduling attempts.
    unschedulable_count : int
        The number of attempts that plugins rejected; each lengthens the back-off.
    consecutive_errors : int
        The number of consecutive attempts that failed with an error instead of a rejection.
    unschedulable_plugins, pending_plugins : set of str
        The plugins that rejected the last attempt; ``pending_plugins`` are those that returned the status Pending
        because they wait for an event.
    gating_plugin : str
        The PreEnqueue plugin that gates the pod; empty if none does.
    backoff_expiration : datetime or None
        The end of the back-off; ``None`` if it has not been computed.
    signature : hashable or None
        The key by which pods are batched (``framework.signature``); ``None`` if the pod cannot be batched.
    number : int
        The number of the pod in the order of arrival.
    """

    pod: Pod
    timestamp: datetime
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    gating_plugin: str = ""
    backoff_expiration: datetime | None = None
    signature: Hashable | None = None
    number: int = 0

    @property
    def members(self) -> list[QueuedPodInfo]:
        """The pod itself, as the only member of its entry in the queue."""
        return [self]

    @property
    def size(self) -> int:
        """The number of pods of the entry: 1."""
        return 1

    @property
    def sorted_as(self) -> Pod:
        """The pod that stands for the entry in the order of the queue."""
        return self.pod

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return self.pod.key

    @property
    def rejectors(self) -> set[str]:
        """The plugins whose events can make the pod schedulable."""
        return self.unschedulable_plugins | self.pending_plugins
