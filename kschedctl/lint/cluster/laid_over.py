"""A snapshot with the given set laid over it: all but what makes pods, which is asked about one at a time."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from kschedctl.api.kind_names import placed
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import PodAffinityTerm
from kschedctl.api.well_known import HOSTNAME
from kschedctl.api.workload import PodTemplate
from kschedctl.errors import InputError
from kschedctl.face import SchedulingCluster
from kschedctl.findings.location import Location
from kschedctl.lint.cluster.trial import Trial
from kschedctl.lint.given import GivenObject, GivenSet
from kschedctl.lint.labels import PodLabels, holds
from kschedctl.lint.pods import Part, Pods
from kschedctl.loading import over
from kschedctl.snapshot.load import Snapshot
from kschedctl.whatif.edits import Apply
from kschedctl.workloads.pods import WORKLOADS

_OPENSHIFT: Final = "node.openshift.io/"


class LaidOver:
    """A snapshot with the given set laid over it.

    Parameters
    ----------
    snapshot : Snapshot
        The cluster.
    given : GivenSet
        What is about to be applied to it.
    namespace : str
        Where objects go that name no namespace.
    config, kubernetes_version : str
        As for ``kschedctl.load``.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        given: GivenSet,
        *,
        namespace: str = "",
        config: str = "",
        kubernetes_version: str = "",
    ) -> None:
        self._namespace = namespace
        self.refused: list[tuple[GivenObject, str]] = []
        self._trials: dict[GivenObject, Trial | None] = {}
        #: The snapshot as it is.
        self.before = over(snapshot, kubernetes_version=kubernetes_version, config=config or None)
        edits: list[Apply] = []
        for obj in given.whole:
            typed = obj.typed
            if typed is None or isinstance(typed, (*WORKLOADS, PodTemplate)) or given.is_variant(obj):
                continue
            edit = Apply(((self.in_namespace(typed), obj.location),), source="manifests")
            try:
                edit.apply(self.before.cluster, release=self.before.release_choice.release)
            except InputError as error:
                self.refused.append((obj, error.findings[0].problem))
                continue
            edits.append(edit)
        self.cluster: SchedulingCluster = (
            over(snapshot, kubernetes_version=kubernetes_version, config=config or None, edits=edits)
            if edits
            else self.before
        )

    def in_namespace(self, obj: ApiObject) -> ApiObject:
        """An object in the namespace that it will be in."""
        return placed(obj, self._namespace)

    def trial(self, pods: Pods, place: Location | None = None) -> Trial | None:
        """What the engine says of a workload's pods; ``None`` where it cannot be read."""
        if pods.obj not in self._trials:
            typed = pods.obj.typed
            usable = typed is not None and isinstance(typed, WORKLOADS) and not isinstance(typed, PodTemplate)
            self._trials[pods.obj] = (
                Trial(self.cluster, self.in_namespace(typed), pods.obj.location)
                if usable and typed is not None
                else None
            )
        return self._trials[pods.obj]

    @property
    def is_openshift(self) -> bool:
        """Whether its nodes show that it is OpenShift."""
        return any(key.startswith(_OPENSHIFT) for node in self.cluster.nodes.objects for key in node.metadata.labels)

    @cached_property
    def _taints(self) -> frozenset[str]:
        return frozenset(taint.key for taints in self.cluster.nodes.taint_lists for taint in taints)

    def has_taint(self, key: str) -> bool:
        """Whether any node has a taint of a key."""
        return key in self._taints

    @property
    def taint_keys(self) -> frozenset[str]:
        """The keys of all taints."""
        return self._taints

    @cached_property
    def label_values(self) -> dict[str, set[str]]:
        """The labels of nodes, with their values."""
        found: dict[str, set[str]] = {HOSTNAME: set()}
        for node in self.cluster.nodes.objects:
            for key, value in node.metadata.labels.items():
                found.setdefault(key, set()).add(value)
        return found

    def has_pods_of(self, part: Part[PodAffinityTerm], owner: Pods) -> bool:
        """Whether a term of pod affinity holds for any of its pods."""
        selector = part.raw.get("labelSelector")
        return any(holds(selector, PodLabels(each.labels)) is not False for each in self.cluster.pods.classes)

    def budget_has_pods(self, selector: Any, namespace: str) -> bool:
        """Whether a selector holds for any of its pods in a namespace."""
        in_namespace = namespace or self._namespace or "default"
        return any(
            each.namespace == in_namespace and holds(selector, PodLabels(each.labels)) is not False
            for each in self.cluster.pods.classes
        )
