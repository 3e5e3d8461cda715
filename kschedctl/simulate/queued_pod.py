"""A pod in the scheduling queue, with what the queue knows of it (upstream ``QueuedPodInfo``)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime

from kschedctl.api.pod import Pod


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod in the queue.

    Attributes
    ----------
    pod : Pod
        The pod as it is now.
    timestamp : datetime
        When it came, or when its last attempt failed.
    attempts : int
        How often it was tried.
    unschedulable_count : int
        How often plugins turned it away, which makes its back-off longer.
    consecutive_errors : int
        How often in a row it failed without a plugin to blame.
    unschedulable_plugins, pending_plugins : set of str
        The plugins that turned it away in the last attempt; those that wait for something themselves.
    gating_plugin : str
        The PreEnqueue plugin that holds it back; empty where none does.
    backoff_expiration : datetime or None
        When its back-off ends; ``None`` where that is still to be worked out.
    signature : hashable or None
        What batches go by (``framework.signature``).
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

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return self.pod.key

    @property
    def rejectors(self) -> set[str]:
        """The plugins whose events the pod waits for."""
        return self.unschedulable_plugins | self.pending_plugins
