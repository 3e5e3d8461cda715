"""Remedies about taints: the pod tolerates one more, or the node loses it."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.api.core import Taint
from kschedctl.api.pod import Pod, Toleration
from kschedctl.api.tolerations import OWN_TAINTS, UNSCHEDULABLE_TAINT
from kschedctl.framework.remedy import Operation, Remedy, RemedyContext, Size, added, removed, replaced


def taint_remedies(context: RemedyContext, taint: Taint) -> Iterator[Remedy]:
    """Tolerate a taint, or take it off the node; where cordoning put it there, the node is uncordoned."""
    yield context.pod_patch(
        f"tolerate {taint}",
        _tolerating(context.pod, taint),
        # What Kubernetes itself taints a node with says that pods had better not go there.
        size=Size.REPLACED if taint.key.startswith(OWN_TAINTS) else Size.LOOSENED,
        family=("tolerate", taint.key, taint.value, taint.effect),
    )
    node = context.node
    cordon = [replaced(False, "spec", "unschedulable")] if node.spec.unschedulable else []
    taints = [i for i, each in enumerate(node.spec.taints) if each == taint]
    # From the last to the first, so that the numbers of those that are left stay right.
    untaint = [removed("spec", "taints", i) for i in reversed(taints)]
    if taint.key == UNSCHEDULABLE_TAINT.key:
        told = f"uncordon node {node.name}"
        yield context.node_patch(told, *cordon, *untaint, family="uncordon", command=f"uncordon {node.name}")
    elif untaint:
        told = f"remove taint {taint} from node {node.name}"
        family = ("untaint", taint.key, taint.value, taint.effect)
        yield context.node_patch(told, *untaint, family=family, command=f"taint nodes {node.name} {taint}-")


def without_toleration(context: RemedyContext) -> Iterator[Remedy]:
    """Drop a toleration of the pod, one after the other."""
    for i, toleration in enumerate(context.pod.spec.tolerations):
        named = f"{toleration.key or 'every taint'}{f':{toleration.effect}' if toleration.effect else ''}"
        yield context.pod_patch(
            f"drop the toleration of {named}",
            removed("spec", "tolerations", i),
            size=Size.DROPPED,
            family=("drop toleration", i),
        )


def _tolerating(pod: Pod, taint: Taint) -> Operation:
    operator = "Equal" if taint.value else "Exists"
    toleration = Toleration(key=taint.key, operator=operator, value=taint.value, effect=taint.effect)
    if pod.spec.tolerations:
        return added(toleration, "spec", "tolerations", "-")
    return added((toleration,), "spec", "tolerations")
