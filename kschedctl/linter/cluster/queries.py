"""Queries that the rules with a snapshot share."""

from __future__ import annotations

from typing import cast

from kschedctl.api.workload import DaemonSet
from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.linter.cluster.cluster_overlay import ClusterOverlay
from kschedctl.linter.cluster.trial import Trial
from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.scheduler.decision import Decision

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

    There are none for a DaemonSet, for pods that name a node, for pods of another scheduler, and if the pods are
    refused; the latter is noted as undecided for the rule.
    """
    trial = overlay_of(context).trial(pods)
    if trial is None or isinstance(trial.workload, DaemonSet):
        return None
    if trial.refusal is not None:
        context.cannot_decide(rule, pods.obj, trial.refusal.problem)
        return None
    spec = trial.pod.spec if trial.made else None
    if spec is None or spec.node_name or spec.scheduler_name not in trial.base.configuration.profiles:
        return None
    return trial


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
