"""Queries of the rules that need a snapshot."""

from __future__ import annotations

from typing import cast

from kschedctl.api.workload import DaemonSet
from kschedctl.linter.cluster.cluster_overlay import ClusterOverlay
from kschedctl.linter.cluster.trial import Trial
from kschedctl.linter.context import Context
from kschedctl.linter.pods import Pods
from kschedctl.scheduler.decision import Decision

#: What turns a pod away from a node whatever else runs there.
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


def overlay_of(context: Context) -> ClusterOverlay:
    """Return the snapshot with the manifests applied; rules that need a snapshot run only where there is one."""
    return cast("ClusterOverlay", context.overlay)


def trial_of(pods: Pods, context: Context, rule: str) -> Trial | None:
    """What the engine says of pods that the scheduler places; ``None`` where there is nothing to ask.

    Where it cannot be told, that is noted.
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
    """The plugins that turn nodes away, with the nodes, by name."""
    found: dict[str, list[str]] = {}
    for row, name in enumerate(decision.cluster.nodes.names):
        for plugin, _ in decision.verdict(row).reasons:
            found.setdefault(plugin, []).append(name)
    return found


def eligible_nodes(decision: Decision) -> list[str]:
    """Return the nodes that a pod's labels, taints, cordons and volumes leave, whatever else runs there."""
    reasons = rejecting(decision)
    rejected = {name for plugin in STANDING for name in reasons.get(plugin, ())}
    return [name for name in decision.cluster.nodes.names if name not in rejected]


def usable_nodes(decision: Decision) -> list[str]:
    """Return the nodes that, empty, a pod fits on but for spreading and for other pods."""
    between = ("PodTopologySpread", "InterPodAffinity")
    rejected = {name for plugin, names in rejecting(decision).items() if plugin not in between for name in names}
    return [name for name in decision.cluster.nodes.names if name not in rejected]


def domains(nodes: list[str], key: str, decision: Decision) -> set[str]:
    """The values of a label that some nodes have."""
    rows = decision.cluster.nodes.row
    objects = decision.cluster.nodes.objects
    labels = (objects[rows[name]].metadata.labels for name in nodes)
    return {values[key] for values in labels if key in values}


def said(decision: Decision) -> str:
    """What kube-scheduler writes of a pod that fits nowhere, without what it says of claims and preemption."""
    return (decision.message or decision.error).partition(". ")[0].rstrip(". ")
