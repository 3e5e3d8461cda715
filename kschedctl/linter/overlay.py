"""A cluster with the manifests applied, except for workloads: each workload is tried separately."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from kschedctl.cluster.pod_groups import group_members
from kschedctl.common.errors import InputError
from kschedctl.controllers.admission.priority import default_priority_class, priority_class
from kschedctl.controllers.disruption import with_computed_status
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.pods import WORKLOADS
from kschedctl.linter.labels import PodLabels, holds
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.pods import TemplatePart, WorkloadPods
from kschedctl.linter.trial import Trial
from kschedctl.objects.core import Node
from kschedctl.objects.kinds import KINDS, with_namespace
from kschedctl.objects.pod import PodAffinityTerm
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.objects.workload import PodTemplate
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.whatif.edits import Apply, apply_edits


class ClusterOverlay:
    """A cluster with the manifests applied, except for workloads.

    Args:
        before: The cluster before the manifests are applied.
        namespace: The namespace of objects without a namespace of their own.
    """

    def __init__(self, before: LoadedCluster, manifests: LintManifests, *, namespace: str = "") -> None:
        self._namespace = namespace
        self._trials: dict[LintObject, Trial] = {}
        self.before = before
        release = before.release_choice.release
        edits: list[Apply] = []
        #: The reasons why objects of the manifests are not applied, by kind and name.
        self.not_applied: dict[tuple[str, str], str] = {}
        for obj in manifests.whole:
            typed = obj.typed
            if isinstance(typed, (*WORKLOADS, PodTemplate)):
                continue
            why = "several files have it" if manifests.is_variant(obj) else obj.why_untyped
            if typed is not None and not why:
                edit = Apply(((with_namespace(typed, self._namespace), obj.location),), source="manifests")
                try:
                    edit.apply(before.cluster, release=release)
                    edits.append(edit)
                except InputError as error:
                    why = error.findings[0].problem
            if why:
                self.not_applied[obj.kind, obj.name] = why
        self.cluster = before
        if edits:
            applied = apply_edits(before.cluster, edits, release=release).cluster
            self.cluster = before.over(with_computed_status(applied))

    def trial(self, pods: WorkloadPods) -> Trial | None:
        """Return the trial of a workload; ``None`` if the workload is not of a known kind or malformed."""
        obj, typed = pods.obj, pods.obj.typed
        if not isinstance(typed, WORKLOADS) or isinstance(typed, PodTemplate):
            return None
        if obj not in self._trials:
            self._trials[obj] = Trial(self.cluster, with_namespace(typed, self._namespace), obj.location)
        return self._trials[obj]

    @property
    def nodes(self) -> Sequence[Node]:
        return self.cluster.nodes.objects

    @property
    def shows_group_gates(self) -> bool:
        """True if the feature gates of pod groups are those that the cluster's objects show to be on."""
        return GENERIC_WORKLOAD in self.before.release_choice.shown_gates

    @cached_property
    def taint_keys(self) -> frozenset[str]:
        """The keys of all taints of nodes."""
        return frozenset(taint.key for taints in self.cluster.nodes.taint_lists for taint in taints)

    @cached_property
    def label_values(self) -> dict[str, set[str]]:
        """The values of node labels, by key."""
        found: dict[str, set[str]] = {HOSTNAME: set()}
        for node in self.cluster.nodes.objects:
            for key, value in node.metadata.labels.items():
                found.setdefault(key, set()).add(value)
        return found

    def has_pods_of(self, part: TemplatePart[PodAffinityTerm], owner: WorkloadPods) -> bool:
        """Report whether the selector of a pod affinity term may match a pod of the cluster, in any namespace."""
        selector = part.raw.get("labelSelector")
        return any(holds(selector, PodLabels(each.labels)) is not False for each in self.cluster.pods.classes)

    def matches_pods(self, selector: Any, namespace: str) -> bool:
        """Report whether a selector may match a pod of the cluster in a namespace."""
        in_namespace = self._or_default(namespace)
        return any(
            each.namespace == in_namespace and holds(selector, PodLabels(each.labels)) is not False
            for each in self.cluster.pods.classes
        )

    def has_object(self, type_: str, name: str, namespace: str) -> bool | None:
        """Report whether an object of a group and kind is in the snapshot; ``None`` if it may not have the kind."""
        group, _, kind = type_.rpartition("/")
        known = KINDS.get((group, kind))
        if known is None:
            return None
        found = self.cluster.cluster.list(known)
        in_namespace = self._or_default(namespace)
        if self.before.cluster.is_forbidden(known, in_namespace) or not (found or kind in self.before.cluster.listed):
            return None
        return any((each.name, each.namespace) == (name, in_namespace) for each in found)

    def priority_class(self, name: str) -> PriorityClass | None:
        """Return the priority class of a name, or the default class for an empty name; ``None`` if there is none."""
        cluster = self.cluster.cluster
        return priority_class(cluster, name) if name else default_priority_class(cluster)

    def pod_group(self, name: str, namespace: str) -> PodGroup | None:
        return self.cluster.cluster.get(PodGroup, name, self._or_default(namespace))

    def groups_below(self, name: str, namespace: str) -> set[tuple[str, str]]:
        """Return group and kind, and the name, of the groups that name a CompositePodGroup as their parent."""
        cluster, own = self.cluster.cluster, self._or_default(namespace)
        every: tuple[PodGroup | CompositePodGroup, ...] = (*cluster.list(PodGroup), *cluster.list(CompositePodGroup))
        found = (each for each in every if (each.namespace, each.spec.parent_composite_pod_group_name) == (own, name))
        return {(f"scheduling.k8s.io/{type(each).__name__}", each.name) for each in found}

    def members_by_workload(self, name: str, namespace: str) -> Mapping[tuple[str, str], int]:
        """Return the number of the cluster's pods that name a PodGroup, by kind and name of their workloads."""
        cluster = self.cluster.cluster
        members = group_members(cluster, self._or_default(namespace), name)
        owners = (workload_of(cluster, cluster.pods.records[i].metadata) for i in members.tolist())
        return Counter((kind, owner) for kind, _, owner in owners)

    def _or_default(self, namespace: str) -> str:
        return namespace or self._namespace or "default"
