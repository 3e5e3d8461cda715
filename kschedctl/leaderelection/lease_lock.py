"""The lock of a candidate on a Lease in a real API server (client-go ``LeaseLock``)."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

import msgspec

from kschedctl.common.clock import Clock
from kschedctl.common.errors import InputError, KschedctlError
from kschedctl.common.text.json_text import decoded_json
from kschedctl.leaderelection.lock import ConflictError, LockError, LockNotFoundError
from kschedctl.leaderelection.record import LeaderElectionRecord
from kschedctl.leaderelection.steps import Steps
from kschedctl.objects.coordination import LeaseSpec
from kschedctl.objects.names import subdomain_problems
from kschedctl.sources.live.api_server import ObjectClient
from kschedctl.sources.live.failures import ConflictingError, NotServedError

_API_VERSION: Final = "coordination.k8s.io/v1"


class LeaseLock:
    """The lock of one candidate. Every request blocks until its response.

    Parameters
    ----------
    client : ObjectClient
        The client of the API server.
    namespace, name : str
        The namespace and name of the Lease.
    identity : str
        The identity of the candidate.
    clock : Clock
        The candidate's clock.
    recorder : callable
        Called with a text for each event of the candidate.
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
        """Create the Lease."""
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

    Raises
    ------
    InputError
        If the text is not ``NAMESPACE/NAME`` with two valid DNS subdomain names.

    Examples
    --------
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

    Raises
    ------
    LockError
        If the spec is not valid.
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
