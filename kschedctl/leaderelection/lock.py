"""Where the record of an election is kept, as candidates use it (client-go ``resourcelock.Interface``)."""

from __future__ import annotations

from typing import Protocol

from kschedctl.leaderelection.record import LeaderElectionRecord
from kschedctl.leaderelection.steps import Steps


class LockError(Exception):
    """A request to the lock failed, or nothing is known of it; the text says why."""


class LockNotFoundError(LockError):
    """There is no record yet."""


class ConflictError(LockError):
    """Somebody else has changed the record since it was last read, or made one."""


class Lock(Protocol):
    """The lock of one candidate.

    Every request may take its time, and is given up at a moment of the candidate's clock.
    """

    @property
    def identity(self) -> str:
        """Who the candidate is."""

    def describe(self) -> str:
        """Which lock it is, such as ``kube-system/kube-scheduler``."""

    def record_event(self, text: str) -> None:
        """Tell that something happened to the candidate, such as ``became leader``."""

    def get(self, until: float) -> Steps[LeaderElectionRecord]:
        """Read the record; raises `LockError`."""

    def create(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Make the record where there is none; raises `LockError`."""

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Change the record, unless it has changed since the candidate last saw it; raises `LockError`."""
