"""A leader election and its state, as answers show it."""

from enum import StrEnum
from typing import Annotated

import msgspec

from kschedctl.common.findings import ObjectRef


class ElectionCandidate(msgspec.Struct, frozen=True, rename="camel"):
    """A candidate of a coordinated election."""

    name: Annotated[str, "The name of the LeaseCandidate."]
    binary_version: Annotated[str, "The version of the candidate's binary; empty if it reports none."]
    emulation_version: Annotated[str, "The version that the candidate emulates; empty if it reports none."]
    strategy: Annotated[str, "The strategy of the election that the candidate prefers; empty if it reports none."]
    renewed_ago: Annotated[float | None, "The time from the last renewal to the snapshot, in seconds; null if unknown."]
    preferred: Annotated[bool, "True if this candidate would be elected at the moment."] = False


class ElectionState(StrEnum):
    """The state of an election when the snapshot was taken."""

    #: The holder renews the lease.
    LED = "led"
    #: The lease is valid, but its holder has not renewed it for more than two retry periods.
    LATE = "late"
    #: The lease has expired, and a waiting candidate can still be about to acquire it.
    EXPIRED = "expired"
    #: The lease expired so long ago that a waiting candidate would have acquired it.
    OVERDUE = "overdue"
    RELEASED = "released"
    NEVER_HELD = "neverHeld"
    #: The renewal is dated after the snapshot, so that nothing is known about its age.
    CLOCK_AHEAD = "clockAhead"
    UNKNOWN = "unknown"


class Election(msgspec.Struct, frozen=True, rename="camel"):
    """A leader election and its state."""

    name: Annotated[str, "The object with the election record, as namespace/name."]
    kind: Annotated[
        str, "The kind of the object with the election record: Lease, or in old clusters ConfigMap or Endpoints."
    ]
    holder: Annotated[str, "The identity of the leader; empty if the lease was released."]
    pod: Annotated[str, "The pod with that identity, as namespace/name; empty if there is none."]
    node: Annotated[str, "The node that the leader runs on; empty if unknown."]
    lease_duration_seconds: Annotated[int, "The duration of the lease, in seconds."]
    acquired_ago: Annotated[
        float | None, "The time from the acquisition of the lease to the snapshot, in seconds; null if unknown."
    ]
    renewed_ago: Annotated[float | None, "The time from the last renewal to the snapshot, in seconds; null if unknown."]
    transitions: Annotated[int, "The number of changes of the leader."]
    expired: Annotated[bool | None, "True if the lease had expired when the snapshot was taken; null if unknown."]
    earliest: Annotated[
        float | None,
        "The shortest time until another candidate leads if the holder dies with the snapshot, in seconds; null "
        "if unknown, or if a waiting candidate would have led before the snapshot.",
    ]
    latest: Annotated[
        float | None,
        "The longest such time, in seconds, provided that a candidate is waiting for the lease; null like earliest.",
    ]
    state: Annotated[
        ElectionState,
        "The state: led; late, if the holder has not renewed for more than two retry periods; expired; overdue, "
        "if the lease has expired and no candidate waits for it; released; neverHeld; clockAhead, if the renewal "
        "is dated after the snapshot; unknown without times.",
    ]
    gone: Annotated[
        bool,
        "True if the holder does not run any more: its pod was created again after the last renewal, or is missing "
        "while the snapshot has another pod of its workload.",
    ] = False
    waiting: Annotated[
        tuple[str, ...],
        "The other candidates that the snapshot shows: pods of the holder's workload, as namespace/name, "
        "LeaseCandidates, or other nodes of the control plane.",
    ] = ()
    unready: Annotated[
        tuple[str, ...],
        "The pods of the holder's workload, as namespace/name, that cannot lead: pending, or not ready. The holder's "
        "pod is one of them if it is not ready.",
    ] = ()
    strategy: Annotated[str, "The strategy of a coordinated election; empty for other elections."] = ""
    preferred_holder: Annotated[str, "The preferred holder of a coordinated election; empty if there is none."] = ""
    candidates: Annotated[tuple[ElectionCandidate, ...], "The candidates of a coordinated election."] = ()

    @property
    def ref(self) -> ObjectRef:
        """The object with the election record."""
        namespace, _, name = self.name.partition("/")
        return ObjectRef(self.kind, name, namespace)

    @property
    def led(self) -> bool:
        """True if there was a leader when the snapshot was taken, as far as is known."""
        return bool(self.holder) and not self.expired
