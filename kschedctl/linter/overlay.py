"""The snapshot's interface for rules; ``kschedctl.linter.cluster`` implements it, and imports the whole engine."""

from __future__ import annotations

from typing import Any, Protocol

from kschedctl.api.pod import PodAffinityTerm
from kschedctl.linter.pods import TemplatePart, WorkloadPods


class ClusterQueries(Protocol):
    """A snapshot with the manifests applied."""

    @property
    def is_openshift(self) -> bool:
        """True if a node has a label of OpenShift."""

    def has_taint(self, key: str) -> bool:
        """Report whether any node has a taint of a key."""

    def has_pods_of(self, part: TemplatePart[PodAffinityTerm], owner: WorkloadPods) -> bool:
        """Report whether the selector of a pod affinity term may match a pod of the snapshot."""

    def budget_has_pods(self, selector: Any, namespace: str) -> bool:
        """Report whether a selector may match a pod of the snapshot in a namespace."""

    def has_object(self, type_: str, name: str, namespace: str) -> bool | None:
        """Report whether an object of a group and kind is in the snapshot; ``None`` if it may not have the kind."""
