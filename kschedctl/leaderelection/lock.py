"""The interface of locks, which store the record of an election (client-go ``resourcelock.Interface``)."""

from __future__ import annotations

from typing import Protocol

from kschedctl.common.findings import shortened
from kschedctl.leaderelection.record import LeaderElectionRecord
from kschedctl.leaderelection.steps import Steps


class LockError(Exception):
    """A failed request to the lock, or one with an unknown outcome; the message gives the reason."""


class LockNotFoundError(LockError):
    """A request for a record that does not exist."""


class ConflictError(LockError):
    """A write that conflicts with a write of another client since the record was last read."""


class Lock(Protocol):
    """The lock of one candidate.

    A request may take time. It is abandoned at the time ``until``, by the candidate's clock.
    """

    @property
    def identity(self) -> str:
        """The identity of the candidate."""

    def describe(self) -> str:
        """Return the name of the lock, such as ``kube-system/kube-scheduler``."""

    def record_event(self, text: str) -> None:
        """Record an event of the candidate, such as ``became leader``."""

    def get(self, until: float) -> Steps[LeaderElectionRecord]:
        """Read the record.

        Raises
        ------
        LockError
            If the request fails.
        """

    def create(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Create the record.

        Raises
        ------
        LockError
            If the request fails or a record exists.
        """

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Update the record.

        Raises
        ------
        LockError
            If the request fails or the record has changed since the candidate last saw it.
        """


def same_identity_warning(lock: Lock) -> str:
    """Return a warning that another process holds a lock under the same identity."""
    return (
        f"warning: {lock.describe()} is held under the identity of this process, {shortened(lock.identity, 80)}, but "
        "was renewed by another one: both may lead at once. Give each copy an --identity of its own; after a restart "
        "with the same identity, ignore this"
    )
