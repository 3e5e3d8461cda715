"""The snapshot's interface for rules; ``kschedctl.linter.cluster`` implements it, and imports the whole engine."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kschedctl.linter.pods import TemplatePart, WorkloadPods
from kschedctl.objects.core import Node
from kschedctl.objects.pod import PodAffinityTerm
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.policies import PriorityClass


class ClusterQueries(Protocol):
    """A snapshot with the manifests applied."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes."""

    @property
    def shows_group_gates(self) -> bool:
        """True if the feature gates of pod groups are those that the snapshot's objects show to be on."""

    def has_pods_of(self, part: TemplatePart[PodAffinityTerm], owner: WorkloadPods) -> bool:
        """Report whether the selector of a pod affinity term may match a pod of the snapshot."""

    def matches_pods(self, selector: Any, namespace: str) -> bool:
        """Report whether a selector may match a pod of the snapshot in a namespace."""

    def has_object(self, type_: str, name: str, namespace: str) -> bool | None:
        """Report whether an object of a group and kind is in the snapshot; ``None`` if it may not have the kind."""

    def priority_class(self, name: str) -> PriorityClass | None:
        """Return the priority class of a name, or the default class for an empty name; ``None`` if there is none."""

    def pod_group(self, name: str, namespace: str) -> PodGroup | None:
        """Return a PodGroup of the snapshot; ``None`` if there is none."""

    def members_by_workload(self, name: str, namespace: str) -> Mapping[tuple[str, str], int]:
        """Return the number of the snapshot's pods that name a PodGroup, by kind and name of their workloads."""
