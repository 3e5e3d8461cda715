"""Queries of rules with a snapshot: the objects that pods name, and the nodes that plugins reject."""

from collections.abc import Iterator
from typing import NamedTuple

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.linter.context import LintContext
from kschedctl.linter.overlay import ClusterOverlay
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.trial import Trial
from kschedctl.linter.values import Steps, at, numbered, text
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate
from kschedctl.objects.kinds import is_namespaced
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.policies import SYSTEM_CLASSES, PriorityClass, RuntimeClass
from kschedctl.objects.volume import PersistentVolumeClaim, StorageClass
from kschedctl.scheduler.cycle.decision import Decision


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
    assert context.overlay is not None
    return context.overlay


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
