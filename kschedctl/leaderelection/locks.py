"""The record of an election, and the locks that store it: in memory, and on a Lease (client-go ``resourcelock``)."""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from uuid import uuid4

import msgspec

from kschedctl.common.clock import Clock
from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.common.findings import shortened
from kschedctl.common.text.json_text import decoded_json
from kschedctl.leaderelection.settings import Steps
from kschedctl.objects.coordination import LeaseSpec
from kschedctl.objects.names import subdomain_problems
from kschedctl.sources.live.api_server import ObjectClient
from kschedctl.sources.live.failures import ConflictingError, NotServedError

# The record of an election, which all candidates share through a lock (client-go ``LeaderElectionRecord``).

Raw = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionRecord:
    """The shared state of an election."""

    #: The identity of the leader; empty after a release, when any candidate may take over.
    holder_identity: str = ""
    #: The time, in seconds, that other candidates wait after they last saw the record change.
    lease_duration_seconds: int = 0
    #: The times when the holder acquired the lease and last renewed it, in seconds since the Unix epoch by the
    #: holder's clock; 0 if unknown. No other candidate relies on them.
    acquire_time: float = 0.0
    #: The times when the holder acquired the lease and last renewed it, in seconds since the Unix epoch by the
    #: holder's clock; 0 if unknown. No other candidate relies on them.
    renew_time: float = 0.0
    #: The number of times that the lease changed its holder.
    leader_transitions: int = 0
    #: The strategy of a coordinated election, such as ``OldestEmulationVersion``; empty if the candidates elect
    #: without a coordinator.
    strategy: str = ""
    #: The candidate for which the holder of a coordinated election must give up the lease; empty for none.
    preferred_holder: str = ""

    def raw(self) -> Raw:
        """Return the values that are compared to detect a change of the record.

        Times are compared in whole seconds (``metav1.Time``), so the second of two renewals within one second is not
        noticed.
        """
        return (
            self.holder_identity,
            self.lease_duration_seconds,
            int(self.acquire_time),
            int(self.renew_time),
            self.leader_transitions,
            self.strategy,
            self.preferred_holder,
        )


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

        Raises LockError if the request fails.
        """

    def create(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Create the record.

        Raises LockError if the request fails or a record exists.
        """

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Update the record.

        Raises LockError if the request fails or the record has changed since the candidate last saw it.
        """


def same_identity_warning(lock: Lock) -> str:
    """Return a warning that another process holds a lock under the same identity."""
    return (
        f"warning: {lock.describe()} is held under the identity of this process, {shortened(lock.identity, 80)}, but "
        "was renewed by another one: both may lead at once. Give each copy an --identity of its own; after a restart "
        "with the same identity, ignore this"
    )


# Locks in memory: records with resource versions, as in an API server, and the lock of a candidate on a record.


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

        Raises LockNotFoundError if the lock has no record.
        """
        try:
            return self._objects[name]
        except KeyError:
            raise LockNotFoundError(f'leases.coordination.k8s.io "{name}" not found') from None

    def create(self, name: str, record: LeaderElectionRecord) -> Versioned:
        """Create a record.

        Raises ConflictError if the lock has a record.
        """
        if name in self._objects:
            raise ConflictError(f'leases.coordination.k8s.io "{name}" already exists')
        return self._write(name, record)

    def update(self, name: str, record: LeaderElectionRecord, resource_version: int) -> Versioned:
        """Update a record at a resource version.

        Raises LockNotFoundError if the lock has no record.
        Raises ConflictError if the record has another resource version.
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

    events: The recorded events, each with the candidate's identity.

    Args:
        name: The name of the lock, such as ``kube-system/kube-scheduler``.
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
        yield from ()
        self._seen = self._api.create(self._name, record).resource_version

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Update the record at the resource version that was last read or written."""
        yield from ()
        if self._seen is None:
            raise LockError("lease not initialized, call get or create first")
        self._seen = self._api.update(self._name, record, self._seen).resource_version


# The lock of a candidate on a Lease in a real API server (client-go ``LeaseLock``).

_API_VERSION: Final = "coordination.k8s.io/v1"


class LeaseLock:
    """The lock of one candidate. Every request blocks until its response.

    Args:
        recorder: Called with a text for each event of the candidate.
    """

    def __init__(
        self,
        client: ObjectClient,
        namespace: str,
        name: str,
        identity: str,
        clock: Clock,
        recorder: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._clock = clock
        self._recorder = recorder
        self._lease: dict[str, Any] | None = None

    @property
    def identity(self) -> str:
        """The identity of the candidate."""
        return self._identity

    def describe(self) -> str:
        """Return the namespace and name of the Lease as ``NAMESPACE/NAME``."""
        return f"{self._namespace}/{self._name}"

    def record_event(self, text: str) -> None:
        """Pass an event of the candidate to the recorder."""
        self._recorder(f"{self._identity} {text}")

    def get(self, until: float) -> Steps[LeaderElectionRecord]:
        """Read the Lease."""
        yield from ()
        self._lease = self._ask("GET", f"/{self._name}", None, until)
        return record_of(self._lease.get("spec") or {})

    def create(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        yield from ()
        metadata = {"name": self._name, "namespace": self._namespace}
        lease = {"apiVersion": _API_VERSION, "kind": "Lease", "metadata": metadata, "spec": spec_of(record)}
        self._lease = self._ask("POST", "", lease, until)

    def update(self, record: LeaderElectionRecord, until: float) -> Steps[None]:
        """Update the Lease at the resource version that was last read or written."""
        yield from ()
        if self._lease is None:
            raise LockError("lease not initialized, call get or create first")
        self._lease = self._ask("PUT", f"/{self._name}", {**self._lease, "spec": spec_of(record)}, until)

    def _ask(self, method: str, below: str, obj: dict[str, Any] | None, until: float) -> dict[str, Any]:
        seconds = until - self._clock.now()
        if seconds <= 0:
            raise LockError("context deadline exceeded")
        path = f"/apis/{_API_VERSION}/namespaces/{self._namespace}/leases{below}"
        try:
            answer = decoded_json(
                self._client.request(method, path, None if obj is None else json.dumps(obj).encode(), seconds)
            )
        except NotServedError as error:
            raise (LockNotFoundError if method == "GET" else LockError)(error.summary) from None
        except ConflictingError as error:
            raise ConflictError(error.summary) from None
        except KschedctlError as error:
            raise LockError(error.summary) from None
        except ValueError as error:
            raise LockError(f"{self._client.host} does not respond like an API server: {error}") from None
        if not isinstance(answer, dict):
            raise LockError(f"{self._client.host} does not respond with a Lease")
        return answer


def own_identity() -> str:
    """Return a default identity: the host name and a random UUID, so that two candidates on one host differ."""
    return f"{socket.gethostname()}_{uuid4()}"


def lease_name(text: str) -> tuple[str, str]:
    """Parse the namespace and name of a Lease.

    Raises InputError if the text is not ``NAMESPACE/NAME`` with two valid DNS subdomain names.

    >>> lease_name("shop/report")
    ('shop', 'report')
    """
    namespace, slash, name = text.partition("/")
    if not slash or subdomain_problems(namespace) or subdomain_problems(name):
        raise InputError(
            f'"{text}" is not the name of a Lease', path="--lease", hint="NAMESPACE/NAME is expected, in lower case"
        )
    return namespace, name


def record_of(spec: dict[str, Any]) -> LeaderElectionRecord:
    """Convert the spec of a Lease to a record.

    Raises LockError if the spec is not valid.
    """
    try:
        read = msgspec.convert({key: value for key, value in spec.items() if value is not None}, LeaseSpec)
    except msgspec.ValidationError as error:
        raise LockError(f"the Lease has no valid record of an election: {error}") from None
    return LeaderElectionRecord(
        holder_identity=read.holder_identity,
        lease_duration_seconds=read.lease_duration_seconds,
        acquire_time=read.acquire_time.timestamp() if read.acquire_time is not None else 0.0,
        renew_time=read.renew_time.timestamp() if read.renew_time is not None else 0.0,
        leader_transitions=read.lease_transitions,
        strategy=read.strategy,
        preferred_holder=read.preferred_holder,
    )


def spec_of(record: LeaderElectionRecord) -> dict[str, Any]:
    """Convert a record to the spec of a Lease."""
    spec: dict[str, Any] = {
        "holderIdentity": record.holder_identity,
        "leaseDurationSeconds": record.lease_duration_seconds,
        "acquireTime": _micro_time(record.acquire_time),
        "renewTime": _micro_time(record.renew_time),
        "leaseTransitions": record.leader_transitions,
    }
    if record.preferred_holder:
        spec["preferredHolder"] = record.preferred_holder
    if record.strategy:
        spec["strategy"] = record.strategy
    return spec


def _micro_time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
