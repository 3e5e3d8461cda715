"""Nodes that would hold the pod, if only they were healthy.

The node controller, a cloud provider or an agent of the node sets a taint while a node has a problem. If that taint is
all that keeps the pod away from a node, the node's problem is the cause, even if other nodes are full. Operators repair
or replace the node. They do not tolerate the taint, as a pod could not start there, and they do not remove it, as it
would be set again. Nodes that an autoscaler removes are not repaired. If the cluster autoscaler has tainted a node for
more than an hour, the removal has failed: operators look at the autoscaler, and remove the taint.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import numpy as np

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import listed
from kschedctl.diagnosis.components import ill_network_plugin
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.node_health import AUTOSCALER_REMOVAL, health_taints, lacks_network_plugin, removal_failed
from kschedctl.diagnosis.rules import obstacles
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.objects.core import Node, Taint
from kschedctl.objects.pod import Toleration
from kschedctl.scheduler.framework.remedy import Remedy, RemedyScope, Risk, patched, remove_operation
from kschedctl.scheduler.plugins.taint_toleration import untolerated_taint

#: At most 3 nodes are proposed for repair.
_MOST: Final = 3
#: The repair, by the beginning of the taint's key; ``{}`` stands for the node.
_REPAIRS: Final = {
    "node.kubernetes.io/unreachable": "get {} back (its kubelet posts no status) or replace it",
    "node.kubernetes.io/not-ready": "repair {} (its kubelet is not ready) or replace it",
    "node.kubernetes.io/disk-pressure": "free disk space on {} (images, logs, emptyDir volumes)",
    "node.kubernetes.io/memory-pressure": "free memory on {}: find the pods that use more than they request",
    "node.kubernetes.io/pid-pressure": "free process IDs on {}: find the pods with too many processes",
    "node.kubernetes.io/network-unavailable": "repair the network of {}: its routes are not set up",
    "node.kubernetes.io/out-of-service": "start {} again and put it back into service, or replace it",
    "node.cloudprovider.kubernetes.io/uninitialized": "get the cloud controller manager to initialize {}",
    "node.cloudprovider.kubernetes.io/shutdown": "start the machine of {} again, or replace it",
    "karpenter.sh/unregistered": "get {} registered: Karpenter waits for its node to match a NodeClaim",
    "node.cilium.io/agent-not-ready": "repair the Cilium agent on {}",
    "ebs.csi.aws.com/agent-not-ready": "repair the EBS CSI driver on {}",
    "efs.csi.aws.com/agent-not-ready": "repair the EFS CSI driver on {}",
}
_REMOVAL: Final = "find out why the cluster autoscaler has not removed {node}, and remove its taint {key}"
_UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"
_NOT_READY: Final = "node.kubernetes.io/not-ready"


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the obstacles with the repair of unhealthy nodes as the cure, if a repair could place the pod."""
    if not situation.filtered:
        return
    found = only_unhealthy(situation)
    base = next(obstacles.check(situation), None) if found.any() else None
    if base is None:
        return
    rows = all_rows(found)[:_MOST]
    sick = [situation.cluster.nodes.objects[row] for row in rows]
    yield Diagnosis(
        rule="unhealthy-node",
        cause=base.cause,
        evidence=(*_plugins(situation, found), *_messages(sick, situation.pod.spec.tolerations), *base.evidence),
        remedies=tuple(_repair(situation, node, within) for within, node in enumerate(sick)),
        checks=tuple(dict.fromkeys(command for node in sick for command in _checks(node))),
    )


def only_unhealthy(situation: Situation) -> Mask:
    """Return the nodes within reach that only repairable problems of the node keep the pod away from."""
    found = situation.in_reach & situation.rejected_by("TaintToleration")
    found &= ~situation.rejected_by(*(plugin for plugin in situation.rejected if plugin != "TaintToleration"))
    if not found.any():
        return found
    nodes, tolerations = situation.cluster.nodes, situation.pod.spec.tolerations
    repairable = [_is_repairable(taints, tolerations, situation.cluster.taken_at) for taints in nodes.taint_lists]
    return found & np.array(repairable, dtype=np.bool_)[nodes.taint_list]


def _is_repairable(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], now: datetime | None) -> bool:
    """Report whether all untolerated taints stand for problems that end with a repair."""
    # An unhealthy node that the autoscaler wants to remove is not repaired first.
    failed = tuple(taint for taint in taints if removal_failed(taint, now))
    repaired = failed or tuple(taint for taint in taints if taint.key.startswith(tuple(_REPAIRS)))
    others = tuple(taint for taint in taints if taint not in repaired)
    return untolerated_taint(taints, tolerations) is not None and untolerated_taint(others, tolerations) is None


def _repair(situation: Situation, node: Node, within: int) -> Remedy:
    """Return the repair of a node: its health taints go."""
    gone = health_taints(node, situation.pod.spec.tolerations)
    patch = [remove_operation("spec", "taints", i) for i, each in enumerate(node.spec.taints) if each in gone]
    return Remedy(
        summary=_summary(situation, node, gone[0]),
        scope=RemedyScope.NODE,
        # From the last to the first, because each removal shifts the indices after it.
        changes=(patched(node, *reversed(patch)),),
        risk=Risk.MISTAKE,
        family="repair",
        within=within,
        once=True,
        command=(
            f"kubectl taint node {node.name} {gone[0].key}:{gone[0].effect}-"
            if gone[0].key == AUTOSCALER_REMOVAL
            else f"# repair {node.name}: kubectl describe node {node.name}"
        ),
    )


def _summary(situation: Situation, node: Node, taint: Taint) -> str:
    if taint.key == _NOT_READY and lacks_network_plugin(node):
        ill = ill_network_plugin(situation.cluster, situation.cluster.nodes.row[node.name])
        if ill is None:
            return f"install or repair the network plugin (CNI) on {node.name}"
        return f"repair {ill[0]} {ill[1]}/{ill[2]}, the network plugin (CNI), on {node.name}"
    if taint.key == AUTOSCALER_REMOVAL:
        return _REMOVAL.format(node=node.name, key=taint.key)
    words = next(words for key, words in _REPAIRS.items() if taint.key.startswith(key))
    return words.format(node.name)


def _plugins(situation: Situation, found: Mask) -> Iterator[str]:
    """Yield the network plugins whose pods are not ready on nodes that lack a network."""
    nodes, ill = situation.cluster.nodes, dict[tuple[str, str, str], list[str]]()
    for row in all_rows(found):
        plugin = ill_network_plugin(situation.cluster, row) if lacks_network_plugin(nodes.objects[row]) else None
        if plugin is not None:
            ill.setdefault(plugin, []).append(nodes.names[row])
    for (kind, namespace, name), names in ill.items():
        yield f"{kind} {namespace}/{name}, the network plugin, is not ready on {listed(names, most=_MOST)}"


def _messages(nodes: list[Node], tolerations: tuple[Toleration, ...]) -> Iterator[str]:
    """Yield what the Ready condition of the first node says, and the instance that a cloud provider looks for."""
    for node in nodes[:1]:
        taint = health_taints(node, tolerations)[0]
        ready = next((each for each in node.status.conditions if each.type == "Ready"), None)
        if ready is not None and ready.status != "True" and ready.message:
            yield f"{node.name}: {ready.message.rstrip('.')}"
        if taint.key == _UNINITIALIZED:
            instance = node.spec.provider_id
            yield f"{node.name} has {f'the providerID {instance}' if instance else 'no providerID yet'}"


def _checks(node: Node) -> Iterator[str]:
    yield f"kubectl describe node {node.name}"
    keys = {taint.key for taint in node.spec.taints}
    if AUTOSCALER_REMOVAL in keys:
        yield "kubectl logs -n kube-system deployment/cluster-autoscaler"
    elif _UNINITIALIZED in keys:
        yield "kubectl get pods -A | grep cloud-controller-manager"
    elif lacks_network_plugin(node) or any("agent-not-ready" in key for key in keys):
        yield f"kubectl get pods -n kube-system -o wide --field-selector spec.nodeName={node.name}"
