"""The stored form of a pod: a record of its own, and the class that it shares with other pods."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from kschedctl.objects.meta import Labels, ObjectMeta
from kschedctl.objects.pod import Pod, PodSpec, PodStatus

#: Node rows of pods without a node (``PENDING``) and of pods whose node is not in the snapshot (``LOST``).
PENDING: Final = -1
LOST: Final = -2
#: The start time of a pod that has not started; later than any real time.
NOT_STARTED: Final = 2**63 - 1

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class PodClass(msgspec.Struct, frozen=True):
    """A class of pods with the same namespace, labels, spec (as far as other pods depend on it) and reported resources.

    Attributes
    ----------
    pod : Pod
        A pod of the class without a name, defaulted.
    terminating : bool
        True if the pods are being deleted.
    """

    pod: Pod
    terminating: bool

    @property
    def namespace(self) -> str:
        """The namespace of the pods."""
        return self.pod.metadata.namespace

    @property
    def labels(self) -> Labels:
        """The labels of the pods."""
        return self.pod.metadata.labels


class PodRecord(msgspec.Struct, frozen=True):
    """A pod of the snapshot; the data that it shares with others is in its class and its spec."""

    metadata: ObjectMeta
    class_id: int
    spec: PodSpec
    node_name: str
    status: PodStatus

    @property
    def name(self) -> tuple[str, str]:
        """The pod's namespace and name."""
        return self.metadata.namespace, self.metadata.name

    @property
    def priority(self) -> int:
        """The value of ``spec.priority``, 0 without one."""
        return self.spec.priority or 0

    @property
    def start_time(self) -> int:
        """The value of ``status.startTime`` in microseconds since 1970, or ``NOT_STARTED``."""
        time = self.status.start_time
        if time is None:
            return NOT_STARTED
        since = time - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

    def node_row(self, rows: Mapping[str, int]) -> int:
        """Return the row of the pod's node; ``PENDING`` without a node, ``LOST`` if the node does not exist."""
        return rows.get(self.node_name, LOST) if self.node_name else PENDING

    def nominated_row(self, rows: Mapping[str, int]) -> int:
        """Return the row of a pending pod's nominated node; ``PENDING`` without one."""
        return rows.get(self.status.nominated_node_name, PENDING) if not self.node_name else PENDING
