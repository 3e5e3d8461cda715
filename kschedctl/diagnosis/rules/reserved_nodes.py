"""Taints that reserve every node within reach, so that the pod has no node to run on.

No single taint is a mistake then: a node for such pods is missing. Clusters of kubeadm without workers have only the
control plane, clusters of AKS may have only the system pool, and clusters of GKE only a pool of another architecture.
Operators join a worker, or add a pool without the taint. The taint of the control plane is removed only if it is the
only node, as on a machine for tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.node_health import health_taints, is_unhealthy, lacks_network_plugin
from kschedctl.diagnosis.rules import mistyped_toleration, obstacles
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.objects.core import Node, Taint
from kschedctl.objects.pod import CONTROL_PLANE_TAINTS, CRITICAL_ADDONS_ONLY, NO_EXECUTE, NO_SCHEDULE, tolerated
from kschedctl.scheduler.framework.remedy import Remedy, RemedyScope, Risk, patched, remove_operation

_UNTRIED: Final = "the snapshot has no such node to copy"


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the taints, if each node of the cluster has one that reserves it."""
    if not situation.filtered or situation.is_of_daemon_set or not situation.n_nodes:
        return
    reserving = [_reserving(situation, node) for node in situation.cluster.nodes.objects]
    # A pod that selects a pool, or tolerates almost its taint, is meant for it.
    if not all(reserving) or not situation.in_reach.all() or any(mistyped_toleration.check(situation)):
        return
    base = next(obstacles.check(situation))
    keys = {taint.key for taints in reserving for taint in taints}
    yield Diagnosis(
        rule="reserved-nodes",
        cause="; ".join((base.cause, *_also_reserved(situation, reserving))),
        evidence=base.evidence,
        remedies=tuple(_untainted(situation)),
        advice=(*_repairs(situation), _node_for_pods(situation, keys)),
    )


def _also_reserved(situation: Situation, reserving: list[list[Taint]]) -> Iterator[str]:
    """Yield the taints that stay when an unhealthy node is repaired."""
    for node, taints in zip(situation.cluster.nodes.objects, reserving, strict=True):
        if is_unhealthy(node, situation.pod.spec.tolerations):
            yield f"{node.name} has the taint {taints[0]} as well, which the pod does not tolerate"
            return


def _repairs(situation: Situation) -> Iterator[Advice]:
    """Yield the repair of a network plugin, without which no node of the cluster gets ready."""
    for node in situation.cluster.nodes.objects:
        if lacks_network_plugin(node):
            yield Advice(
                summary=f"install or repair the network plugin (CNI) on {node.name}",
                risk=Risk.MISTAKE,
                untried="the pod does not tolerate the other taint of the node",
                command=f"# kubectl describe node {node.name}",
            )
            return


def _reserving(situation: Situation, node: Node) -> list[Taint]:
    """Return the taints that reserve a node for other pods."""
    tolerations = situation.pod.spec.tolerations
    sick = health_taints(node)
    return [
        taint
        for taint in node.spec.taints
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE)
        and taint not in sick
        and not taint.key.startswith("node.kubernetes.io/")
        and not tolerated(tolerations, taint)
    ]


def _node_for_pods(situation: Situation, keys: set[str]) -> Advice:
    """Return the advice to add a node that the pod may use."""
    names = listed(sorted(keys), "or")
    if keys <= set(CONTROL_PLANE_TAINTS):
        command = "# kubeadm token create --print-join-command"
        return Advice(
            summary="join a worker node: the cluster has only the control plane",
            risk=Risk.CAPACITY,
            untried=_UNTRIED,
            command=command,
        )
    if CRITICAL_ADDONS_ONLY in keys:
        summary = f"add a node pool for applications, without the taint {names} (on AKS of mode User)"
    else:
        summary = f"add a node without the taint {names}"
    return Advice(summary=summary, risk=Risk.CAPACITY, untried=_UNTRIED, command=f"# {summary}")


def _untainted(situation: Situation) -> Iterator[Remedy]:
    """Yield the removal of the control plane's taint from the only node of the cluster."""
    if situation.n_nodes > 1:
        return
    for row in all_rows(situation.in_reach):
        node = situation.cluster.nodes.objects[row]
        taints = _reserving(situation, node)
        if health_taints(node) or not all(taint.key in CONTROL_PLANE_TAINTS for taint in taints):
            return
        patch = [remove_operation("spec", "taints", i) for i, each in enumerate(node.spec.taints) if each in taints]
        yield Remedy(
            summary=f"remove the taint {listed([str(each) for each in taints])} from {node.name}, "
            "if no worker is to join: it is the only node",
            scope=RemedyScope.NODE,
            # From the last to the first, because each removal shifts the indices after it.
            changes=(patched(node, *reversed(patch)),),
            risk=Risk.POD,
            family="control plane for all pods",
            command=f"taint nodes {node.name} {' '.join(f'{each.key}-' for each in taints)}",
        )
