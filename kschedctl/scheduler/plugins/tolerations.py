"""Remedies for taints: the pod tolerates the taint, or the taint is removed from the node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.cluster.node_selection import required_node_selector
from kschedctl.controllers.admission.chain import DEFAULT_TOLERATIONS
from kschedctl.objects.core import Node, Taint
from kschedctl.objects.pod import (
    CRITICAL_ADDONS_ONLY,
    NO_EXECUTE,
    NO_SCHEDULE,
    UNSAFE_TAINTS,
    UNSCHEDULABLE_TAINT,
    Toleration,
    tolerated,
)
from kschedctl.objects.resources import RequestRules, is_extended_resource, pod_requests, scheduler_units
from kschedctl.objects.well_known import HOSTNAME, PLATFORM_LABELS, describes_pool
from kschedctl.scheduler.framework.remedy import (
    Operation,
    Remedy,
    RemedyContext,
    Risk,
    add_operation,
    remove_operation,
    replace_operation,
)
from kschedctl.scheduler.plugins.node_resources.remedies import requested

#: Names of taints that reserve a pool of nodes, after the domain.
_POOL_TAINTS: Final = frozenset((CRITICAL_ADDONS_ONLY, "dedicated", "spot"))


def taint_remedies(context: RemedyContext, taint: Taint) -> Iterator[Remedy]:
    """Propose to tolerate a taint, or to remove it from the node.

    A node with the taint of cordoned nodes is uncordoned instead. Nothing is proposed for taints that protect pods from
    a node: those of Kubernetes, cloud providers, network agents and autoscalers, that of the control plane, and those
    that reserve nodes for pods that request their devices. The taint of a pool is not removed from one of its nodes.
    Neither is a taint that is named after a device or the platform of the node.

    Nodes with a taint are for certain pods. If the pod selects none of them, and other nodes have no taint, a new node
    comes before the toleration.
    """
    node = context.node
    if taint.key == UNSCHEDULABLE_TAINT.key:
        cordon = [replace_operation(False, "spec", "unschedulable")] if node.spec.unschedulable else []
        patch = (*cordon, *_untaint(node, [taint]))
        yield context.node_patch(
            f"uncordon node {node.name}",
            *patch,
            family="uncordon",
            risk=Risk.MISTAKE,
            command=f"uncordon {node.name}",
            side_of="uncordon",
            side=node.name,
        )
    if taint.key.startswith(UNSAFE_TAINTS) or _is_of_devices(context, taint):
        return
    if taint.key == CRITICAL_ADDONS_ONLY and not _selects(context):
        return
    yield _tolerated(context, taint, f"tolerate {taint}", str(taint))
    same_key = [each for each in node.spec.taints if each.key == taint.key and each.effect in (NO_SCHEDULE, NO_EXECUTE)]
    if len(same_key) > 1:
        yield _tolerated(context, Taint(key=taint.key), f"tolerate every taint {taint.key}", taint.key)
    if describes_pool(taint.key) or taint.key in node.status.allocatable or is_of_pool(node, taint):
        return
    yield from _untainted(context, [taint], str(taint), f"taint {taint}")
    if len(same_key) > 1:
        yield from _untainted(context, same_key, taint.key, f"every taint {taint.key}")


def _is_of_devices(context: RemedyContext, taint: Taint) -> bool:
    """Report whether a taint is named after a resource of the node that the pod does not request."""
    if taint.key not in context.node.status.allocatable:
        return False
    return not requested(context.pod, context.release, taint.key)


def _tolerated(context: RemedyContext, taint: Taint, summary: str, which: str) -> Remedy:
    patch, family = _tolerating(context, taint), ("tolerate", which)
    for_others = is_of_pool(context.node, taint) or _has_free_nodes(context)
    risk = Risk.SHARED if for_others and not _selects(context) else Risk.POD
    return context.pod_patch(summary, patch, risk=risk, family=family, side_of=("taint", which))


def is_of_pool(node: Node, taint: Taint) -> bool:
    """Report whether a taint stands for a pool by the devices of its nodes, its platform or its usual names."""
    platform = {node.metadata.labels.get(key) for key in PLATFORM_LABELS}
    if any(is_extended_resource(name) and amount != "0" for name, amount in node.status.allocatable.items()):
        return True
    return taint.value in platform - {None, ""} or taint.key.rpartition("/")[2] in _POOL_TAINTS


def _selects(context: RemedyContext) -> bool:
    """Report whether the pod chooses its nodes, by a selector, an affinity or devices."""
    spec, wanted = context.pod.spec, scheduler_units(pod_requests(context.pod, RequestRules()))
    chooses = required_node_selector(spec) is not None or bool(set(spec.node_selector) - PLATFORM_LABELS - {HOSTNAME})
    named = any(key in PLATFORM_LABELS and value != "linux" for key, value in spec.node_selector.items())
    return chooses or named or any(is_extended_resource(name) for name in wanted)


def _has_free_nodes(context: RemedyContext) -> bool:
    """Report whether the cluster has nodes without a hard taint that the pod does not tolerate."""
    tolerations = context.pod.spec.tolerations
    return any(
        all(tolerated(tolerations, taint) for taint in taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE))
        for taints in context.cluster.nodes.taint_lists
    )


def _untainted(context: RemedyContext, taints: Sequence[Taint], which: str, what: str) -> Iterator[Remedy]:
    node = context.node
    patch = list(_untaint(node, taints))
    if patch:
        yield context.node_patch(
            f"remove {what} from node {node.name}",
            *patch,
            family=("untaint", what),
            within=1,
            once=True,
            command=f"taint nodes {node.name} {which}-",
            side_of=("taint", which),
            side=f"remove the taint from node {node.name}",
        )


def _untaint(node: Node, taints: Sequence[Taint]) -> Iterator[Operation]:
    # From the last to the first, because each removal shifts the indices after it.
    for i in reversed(range(len(node.spec.taints))):
        if node.spec.taints[i] in taints:
            yield remove_operation("spec", "taints", i)


def without_toleration(context: RemedyContext) -> Iterator[Remedy]:
    """Propose to drop each toleration of the pod, except for the defaults, which admission would add again."""
    for i, toleration in enumerate(context.pod.spec.tolerations):
        if toleration in DEFAULT_TOLERATIONS:
            continue
        named = f"{toleration.key or 'every taint'}{f':{toleration.effect}' if toleration.effect else ''}"
        yield context.pod_patch(
            f"drop the toleration of {named}",
            remove_operation("spec", "tolerations", i),
            risk=Risk.DROPPED,
            family=("drop toleration", i),
        )


def _tolerating(context: RemedyContext, taint: Taint) -> Operation:
    operator = "Equal" if taint.value else "Exists"
    toleration = Toleration(key=taint.key, operator=operator, value=taint.value, effect=taint.effect)
    if _written(context):
        return add_operation(toleration, "spec", "tolerations", "-")
    return add_operation((toleration,), "spec", "tolerations")


def _written(context: RemedyContext) -> tuple[Toleration, ...]:
    """Return the tolerations of the object that is patched: the stored pod, else the manifest without defaults."""
    pods = context.cluster.pods
    index = pods.index.get((context.pod.namespace, context.pod.name))
    if index is not None:
        return pods.pod(index).spec.tolerations
    return tuple(each for each in context.pod.spec.tolerations if each not in DEFAULT_TOLERATIONS)
