"""A cluster with the manifests applied, except for workloads: each workload is tried separately."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

from kschedctl.cluster.pod_groups import group_members
from kschedctl.common.errors import InputError
from kschedctl.controllers.admission.priority import default_priority_class, priority_class
from kschedctl.controllers.disruption import with_computed_status
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.pods import WORKLOADS
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.linter.context import LintContext
from kschedctl.linter.labels import PodLabels, holds
from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.pods import TemplatePart, WorkloadPods
from kschedctl.linter.trial import Trial
from kschedctl.linter.values import Steps, at, numbered, text
from kschedctl.objects.core import Node
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate
from kschedctl.objects.kinds import KINDS, is_namespaced, with_namespace
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import PodAffinityTerm
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.policies import SYSTEM_CLASSES, PriorityClass, RuntimeClass
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.objects.workload import PodTemplate
from kschedctl.scheduler.cycle.decision import Decision
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

    def members_by_workload(self, name: str, namespace: str) -> Mapping[tuple[str, str], int]:
        """Return the number of the cluster's pods that name a PodGroup, by kind and name of their workloads."""
        cluster = self.cluster.cluster
        members = group_members(cluster, self._or_default(namespace), name)
        owners = (workload_of(cluster, cluster.pods.records[i].metadata) for i in members.tolist())
        return Counter((kind, owner) for kind, _, owner in owners)

    def _or_default(self, namespace: str) -> str:
        return namespace or self._namespace or "default"


# The objects that pods name, whether they exist or not.


class Reference(NamedTuple):
    """The name of another object in pods."""

    kind: type[ApiObject]
    name: str
    #: The path of the name in the object of the pods.
    steps: Steps


def references(pods: WorkloadPods) -> Iterator[Reference]:
    """Yield the objects that pods name; built-in priority classes are left out."""
    spec = pods.spec
    name = text(spec.get("priorityClassName"))
    if name not in {each.name for each in SYSTEM_CLASSES}:
        yield Reference(PriorityClass, name, pods.of_spec("priorityClassName"))
    yield Reference(RuntimeClass, text(spec.get("runtimeClassName")), pods.of_spec("runtimeClassName"))
    for steps, claim in pods.claims():
        yield Reference(PersistentVolumeClaim, claim, steps)
    for steps, raw in numbered(spec.get("resourceClaims"), pods.of_spec("resourceClaims")):
        for field, kind in (("resourceClaimName", ResourceClaim), ("resourceClaimTemplateName", ResourceClaimTemplate)):
            yield Reference(kind, text(at(raw, field)), (*steps, field))
    templates = at(pods.obj.raw, "spec", "volumeClaimTemplates")
    for steps, raw in numbered(templates, ("spec", "volumeClaimTemplates")):
        name = text(at(raw, "spec", "storageClassName"))
        yield Reference(StorageClass, name, (*steps, "spec", "storageClassName"))


# Queries that the rules with a snapshot share.

#: The plugins that reject a pod for a node whatever other pods run there.
STANDING = frozenset(
    (
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "VolumeZone",
        "VolumeBinding",
        "NodeDeclaredFeatures",
    )
)


def overlay_of(context: LintContext) -> ClusterOverlay:
    """Return the snapshot with the manifests applied; it exists, as rules that need a snapshot run only with one."""
    return cast("ClusterOverlay", context.overlay)


def trial_of(pods: WorkloadPods, context: LintContext, rule: str) -> Trial | None:
    """Return the trial of pods that a scheduler of the cluster schedules; ``None`` if there are none.

    There are none for a DaemonSet, for pods that name a node, for pods of another scheduler, and, noted as undecided
    for the rule, if the pods are refused, they or an object that they name cannot be read, or a kind that decides could
    not be listed.
    """
    trial = readable_trial(pods, context, rule) if pods.type != "apps/DaemonSet" else None
    if trial is None:
        return None
    why = _not_applied(pods, trial, overlay_of(context)) or next((each.problem for each in trial.refusals), "")
    if why:
        context.cannot_decide(rule, pods.obj, why)
        return None
    unlisted = _unlisted(trial)
    if unlisted:
        context.cannot_decide(rule, pods.obj, unlisted)
        return None
    spec = trial.pod.spec if trial.made else None
    if spec is None or spec.node_name or spec.scheduler_name not in trial.base.configuration.profiles:
        return None
    return trial


def readable_trial(pods: WorkloadPods, context: LintContext, rule: str) -> Trial | None:
    """Return the trial of a workload or pod; ``None`` if there is none.

    If the reason is that a field cannot be read, the rule is noted as undecided.
    """
    if pods.obj.why_untyped:
        context.cannot_decide(rule, pods.obj, pods.obj.why_untyped)
    return overlay_of(context).trial(pods)


def _not_applied(pods: WorkloadPods, trial: Trial, overlay: ClusterOverlay) -> str:
    """Return the reason why an object that pods name is in the manifests and not in the cluster; empty if none is."""
    cluster = overlay.cluster.cluster
    namespace = trial.workload.namespace
    named = [(each.kind, each.name) for each in references(pods)]
    claims = (cluster.get(kind, name, namespace) for kind, name in named if kind is PersistentVolumeClaim)
    classes = (claim.spec.storage_class_name for claim in claims if claim is not None)
    named += [(StorageClass, name) for name in classes if name]
    for kind, name in named:
        why = overlay.not_applied.get((kind.__name__, name))
        if why and cluster.get(kind, name, namespace if is_namespaced(kind) else "") is None:
            return f"{kind.__name__} {name}: {why}"
    return ""


def _unlisted(trial: Trial) -> str:
    """Return the sentence that a kind could not be listed which decides about a trial; empty if there is none."""
    if not trial.made or not trial.base.cluster.not_listed:
        return ""
    missing = trial.base.missing_for(trial.pod, preempts=False, is_scored=False)
    return next((each.needed_for for each in missing if each.permission and each.decides), "")


def rejecting(decision: Decision) -> dict[str, list[str]]:
    """Return the names of the nodes that each plugin rejects, by plugin."""
    found: dict[str, list[str]] = {}
    for row, name in enumerate(decision.cluster.nodes.names):
        for plugin, _ in decision.verdict(row).reasons:
            found.setdefault(plugin, []).append(name)
    return found


def eligible_nodes(decision: Decision) -> list[str]:
    """Return the nodes that node affinity, taints, cordons and volumes allow, whatever other pods run there."""
    reasons = rejecting(decision)
    rejected = {name for plugin in STANDING for name in reasons.get(plugin, ())}
    return [name for name in decision.cluster.nodes.names if name not in rejected]


def usable_nodes(decision: Decision) -> list[str]:
    """Return the nodes that no plugin rejects other than PodTopologySpread and InterPodAffinity."""
    between = ("PodTopologySpread", "InterPodAffinity")
    rejected = {name for plugin, names in rejecting(decision).items() if plugin not in between for name in names}
    return [name for name in decision.cluster.nodes.names if name not in rejected]


def domains(nodes: list[str], key: str, decision: Decision) -> set[str]:
    """Return the values of a label on some nodes."""
    rows = decision.cluster.nodes.row
    objects = decision.cluster.nodes.objects
    labels = (objects[rows[name]].metadata.labels for name in nodes)
    return {values[key] for values in labels if key in values}


def failure_cause(decision: Decision) -> str:
    """Return the cause for which a pod is not scheduled, as ``explain`` says it in its first line."""
    found = diagnose(decision)
    return found[0].cause if found else decision.error
