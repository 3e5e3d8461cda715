"""Locks in memory: records with resource versions, as in an API server, and the lock of a candidate on a record."""

from __future__ import annotations

from dataclasses import dataclass, field

from kschedctl.leaderelection.lock import ConflictError, LockError, LockNotFoundError
from kschedctl.leaderelection.record import LeaderElectionRecord
from kschedctl.leaderelection.steps import Steps


@dataclass(frozen=True, slots=True)
class Versioned:
    """A record with its resource version."""

    record: LeaderElectionRecord
    resource_version: int


@dataclass
class MemoryApi:
    """A store of records, by the name of their lock. Requests take no time."""

    _objects: dict[str, Versioned] = field(default_factory=dict)
    _version: int = 0

    def get(self, name: str) -> Versioned:
        """Return the record of a lock.

        Raises
        ------
        LockNotFoundError
            If the lock has no record.
        """
        try:
            return self._objects[name]
        except KeyError:
            raise LockNotFoundError(f'leases.coordination.k8s.io "{name}" not found') from None

    def create(self, name: str, record: LeaderElectionRecord) -> Versioned:
        """Create a record.

        Raises
        ------
        ConflictError
            If the lock has a record.
        """
        if name in self._objects:
            raise ConflictError(f'leases.coordination.k8s.io "{name}" already exists')
        return self._write(name, record)

    def update(self, name: str, record: LeaderElectionRecord, resource_version: int) -> Versioned:
        """Update a record at a resource version.

        Raises
        ------
        LockNotFoundError
            If the lock has no record.
        ConflictError
            If the record has another resource version.
        """
        if self.get(name).resource_version != resource_version:
            problem = "the object has been modified; please apply your changes to the latest version and try again"
            raise ConflictError(f'Operation cannot be fulfilled on leases.coordination.k8s.io "{name}": {problem}')
        return self._write(name, record)

    def delete(self, name: str) -> None:
        """Delete a record if it exists."""
        self._objects.pop(name, None)

    def _write(self, name: str, record: LeaderElectionRecord) -> Versioned:
        self._version += 1
        written = self._objects[name] = Versioned(record, self._version)
        return written


class MemoryLock:
    """The lock of one candidate on a `MemoryApi`.

    Parameters
    ----------
    api : MemoryApi
        The store of the record.
    name : str
        The name of the lock, such as ``kube-system/kube-scheduler``.
    identity : str
        The identity of the candidate.

    Attributes
    ----------
    events : list of str
        The recorded events, each with the candidate's identity.
    """

    def __init__(self, api: MemoryApi, name: str, identity: str) -> None:
        self._api = api
        self._name = name
        self._identity = identity
        self._seen: int | None = None
        self.events: list[str] = []

    @property
    def identity(self) -> str:
        """The identity of the candidate."""
        return self._identity

    def describe(self) -> str:
        """Return the name of the lock."""
        return self._name

    def record_event(self, text: str) -> None:
        """Append an event to ``events``."""
        self.events.append(f"{self._identity} {text}")

    def get(self, until: float) -> Steps[LeaderElectionRecord]:
        """Read the record."""
        yield from ()
        found = self._api.get(self._name)
        self._seen = found.resource_version
        return found.record

    def create(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Create the record."""
        yield from ()
        self._seen = self._api.create(self._name, record).resource_version

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Update the record at the resource version that was last read or written."""
        yield from ()
        if self._seen is None:
            raise LockError("lease not initialized, call get or create first")
        self._seen = self._api.update(self._name, record, self._seen).resource_version
