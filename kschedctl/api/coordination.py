"""Leases, and the candidates of coordinated election (coordination.k8s.io); and what elections had before."""

from __future__ import annotations

from typing import Final

import msgspec

from kschedctl.api.meta import ApiObject, ApiStruct, Int32, Time

#: The annotation in which elections kept their record before there were Leases.
LEADER_ANNOTATION: Final = "control-plane.alpha.kubernetes.io/leader"
#: Where every node has a Lease for its heartbeats, which is no election.
NODE_LEASES: Final = "kube-node-lease"


class LeaseSpec(ApiStruct, frozen=True):
    holder_identity: str = ""
    lease_duration_seconds: Int32 = 0
    acquire_time: Time | None = None
    renew_time: Time | None = None
    lease_transitions: Int32 = 0
    strategy: str = ""
    preferred_holder: str = ""


class Lease(ApiObject, frozen=True, kw_only=True):
    spec: LeaseSpec = LeaseSpec()


class LeaseCandidateSpec(ApiStruct, frozen=True):
    lease_name: str = ""
    ping_time: Time | None = None
    renew_time: Time | None = None
    binary_version: str = ""
    emulation_version: str = ""
    strategy: str = ""


class LeaseCandidate(ApiObject, frozen=True, kw_only=True):
    spec: LeaseCandidateSpec = LeaseCandidateSpec()


class LockRecord(ApiStruct, frozen=True):
    """The record of an election as an annotation has it."""

    holder_identity: str = ""
    lease_duration_seconds: Int32 = 0
    acquire_time: Time | None = None
    renew_time: Time | None = None
    leader_transitions: Int32 = 0


def lock_record(text: str) -> LockRecord | None:
    """The record in an annotation; ``None`` where it is none.

    Examples
    --------
    >>> record = lock_record('{"holderIdentity":"cp-1_7f","leaseDurationSeconds":15,"renewTime":null}')
    >>> record.holder_identity, lock_record("cp-1") is None
    ('cp-1_7f', True)
    """
    try:
        return msgspec.json.decode(text, type=LockRecord)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


class ConfigMap(ApiObject, frozen=True, kw_only=True):
    """A ConfigMap with the record of an election; what it holds is not read."""


class Endpoints(ApiObject, frozen=True, kw_only=True):
    """Endpoints with the record of an election; what they hold is not read."""
