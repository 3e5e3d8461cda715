"""Locks in memory: objects with resource versions, as an API server keeps them, and the lock of a candidate on one."""

from __future__ import annotations

from dataclasses import dataclass, field

from kschedctl.leaderelection.lock import ConflictError, LockError, LockNotFoundError
from kschedctl.leaderelection.record import LeaderElectionRecord
from kschedctl.leaderelection.steps import Steps


@dataclass(frozen=True, slots=True)
class Versioned:
    """A record as of one resource version."""

    record: LeaderElectionRecord
    resource_version: int


@dataclass
class MemoryApi:
    """Keeps records by the name of their lock; what is asked of it happens at once."""

    _objects: dict[str, Versioned] = field(default_factory=dict)
    _version: int = 0

    def get(self, name: str) -> Versioned:
        """The record of a lock.

        Raises
        ------
        LockNotFoundError
            Where there is none.
        """
        try:
            return self._objects[name]
        except KeyError:
            raise LockNotFoundError(f'leases.coordination.k8s.io "{name}" not found') from None

    def create(self, name: str, record: LeaderElectionRecord) -> Versioned:
        """Make a record.

        Raises
        ------
        ConflictError
            Where there is one.
        """
        if name in self._objects:
            raise ConflictError(f'leases.coordination.k8s.io "{name}" already exists')
        return self._write(name, record)

    def update(self, name: str, record: LeaderElectionRecord, resource_version: int) -> Versioned:
        """Change a record as of a version.

        Raises
        ------
        LockNotFoundError
            Where there is none.
        ConflictError
            Where it has changed since.
        """
        if self.get(name).resource_version != resource_version:
            problem = "the object has been modified; please apply your changes to the latest version and try again"
            raise ConflictError(f'Operation cannot be fulfilled on leases.coordination.k8s.io "{name}": {problem}')
        return self._write(name, record)

    def delete(self, name: str) -> None:
        """Take a record away, where there is one."""
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
        Where the record is.
    name : str
        Which one, such as ``kube-system/kube-scheduler``.
    identity : str
        Who the candidate is.

    Attributes
    ----------
    events : list of str
        What it recorded.
    """

    def __init__(self, api: MemoryApi, name: str, identity: str) -> None:
        self._api = api
        self._name = name
        self._identity = identity
        self._seen: int | None = None
        self.events: list[str] = []

    @property
    def identity(self) -> str:
        """Who the candidate is."""
        return self._identity

    def describe(self) -> str:
        """Which lock it is."""
        return self._name

    def record_event(self, text: str) -> None:
        """Keep what happened."""
        self.events.append(f"{self._identity} {text}")

    def get(self, until: float) -> Steps[LeaderElectionRecord]:
        """Read the record."""
        yield from ()
        found = self._api.get(self._name)
        self._seen = found.resource_version
        return found.record

    def create(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Make the record."""
        yield from ()
        self._seen = self._api.create(self._name, record).resource_version

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Change the record as of the version that was last seen."""
        yield from ()
        if self._seen is None:
            raise LockError("lease not initialized, call get or create first")
        self._seen = self._api.update(self._name, record, self._seen).resource_version
