"""Leases and LeaseCandidates (coordination.k8s.io), and the lock objects of leader election that preceded them."""

from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.objects.cluster_autoscaler import STATUS_NAME, STATUS_NAMESPACE
from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, Time

#: The annotation that contained the leader election record before Leases existed.
LEADER_ANNOTATION: Final = "control-plane.alpha.kubernetes.io/leader"
#: The namespace of the nodes' heartbeat Leases, which are not leader elections.
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
    """The leader election record in an annotation."""

    holder_identity: str = ""
    lease_duration_seconds: Int32 = 0
    acquire_time: Time | None = None
    renew_time: Time | None = None
    leader_transitions: Int32 = 0


def lock_record(text: str) -> LockRecord | None:
    """Parse the leader election record in an annotation; return ``None`` if it is not a record.

    >>> record = lock_record('{"holderIdentity":"cp-1_7f","leaseDurationSeconds":15,"renewTime":null}')
    >>> record.holder_identity, lock_record("cp-1") is None
    ('cp-1_7f', True)
    """
    try:
        return msgspec.json.decode(text, type=LockRecord)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


class ConfigMapData(ApiStruct, frozen=True):
    """The only key of a ConfigMap's data that is parsed."""

    status: str = ""


class ConfigMap(ApiObject, frozen=True, kw_only=True):
    """A ConfigMap whose annotation may be a leader election record, or that is the status of Cluster Autoscaler."""

    #: Empty unless it is the status of Cluster Autoscaler.
    data: ConfigMapData = ConfigMapData()

    @property
    def is_autoscaler_status(self) -> bool:
        """True for the one ConfigMap in which Cluster Autoscaler reports its node groups."""
        return (self.namespace, self.name) == (STATUS_NAMESPACE, STATUS_NAME)

    def without_other_data(self) -> "ConfigMap":
        """Return the ConfigMap without data, unless it is the status of Cluster Autoscaler."""
        return self if self.is_autoscaler_status else replace(self, data=ConfigMapData())


class Endpoints(ApiObject, frozen=True, kw_only=True):
    """Endpoints whose annotation may be a leader election record; their addresses are not parsed."""
