"""What the rules against a snapshot ask of it."""

from __future__ import annotations

from typing import cast

from kschedctl.api.workload import DaemonSet
from kschedctl.lint.cluster.laid_over import LaidOver
from kschedctl.lint.cluster.trial import Trial
from kschedctl.lint.context import Context
from kschedctl.lint.pods import Pods
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


def laid_over(context: Context) -> LaidOver:
    """The snapshot with the given set laid over it; rules of snapshots are asked where there is one."""
    return cast("LaidOver", context.against)


def trial_of(pods: Pods, context: Context, rule: str) -> Trial | None:
    """What the engine says of pods that the scheduler places; ``None`` where there is nothing to ask.

    Where it cannot be told, that is noted.
    """
    trial = laid_over(context).trial(pods)
    if trial is None:
        return None
    if isinstance(trial.workload, DaemonSet):
        return None
    if trial.refusal is not None:
        context.cannot_decide(rule, pods.obj, trial.refusal.problem)
        return None
    if not trial.made:
        return None
    if trial.pod.spec.scheduler_name not in trial.base.configuration.profiles:
        return None
    if trial.pod.spec.node_name:
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
    """The nodes that nothing that stands turns a pod away from: labels, taints, cordons and volumes."""
    out = []
    for row, name in enumerate(decision.cluster.nodes.names):
        if not STANDING.intersection(plugin for plugin, _ in decision.verdict(row).reasons):
            out.append(name)
    return out


def usable_nodes(decision: Decision) -> list[str]:
    """The nodes that, empty, a pod fits on but for spreading and for other pods."""
    between = {"PodTopologySpread", "InterPodAffinity"}
    out = []
    for row, name in enumerate(decision.cluster.nodes.names):
        if not {plugin for plugin, _ in decision.verdict(row).reasons} - between:
            out.append(name)
    return out


def domains(nodes: list[str], key: str, decision: Decision) -> set[str]:
    """The values of a label that some nodes have."""
    rows = decision.cluster.nodes.row
    objects = decision.cluster.nodes.objects
    labels = (objects[rows[name]].metadata.labels for name in nodes)
    return {values[key] for values in labels if key in values}


def said(decision: Decision) -> str:
    """What kube-scheduler writes of a pod that fits nowhere, without what it says of claims and preemption."""
    return (decision.message or decision.error).partition(". ")[0].rstrip(". ")
