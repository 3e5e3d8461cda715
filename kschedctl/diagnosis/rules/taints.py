"""Taints that keep a pod away from nodes that would hold it: reserved nodes, and nodes that are not healthy."""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed, meant
from kschedctl.diagnosis.components import ill_network_plugin, startup_agent
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation, all_rows
from kschedctl.diagnosis.evidence.events import events_about, one_line, said
from kschedctl.diagnosis.node_health import (
    AUTOSCALER_REMOVAL,
    health_taints,
    is_unhealthy,
    lacks_network_plugin,
    removal_failed,
    since,
)
from kschedctl.diagnosis.rules import obstacles
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.objects.core import Node, Taint
from kschedctl.objects.pod import (
    CONTROL_PLANE_TAINTS,
    CRITICAL_ADDONS_ONLY,
    NO_EXECUTE,
    NO_SCHEDULE,
    OS_TAINT,
    OWN_TAINTS,
    VIRTUAL_KUBELET,
    Toleration,
    is_startup_taint,
    marks_problem,
    protects_pods,
    tolerated,
    tolerates,
)
from kschedctl.objects.workload import Deployment, StatefulSet
from kschedctl.scheduler.framework.remedy import Operation, Remedy, add_operation, patched, remove_operation
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.plugins.taint_toleration import is_of_windows, names_system, untolerated_taint

_PLUGIN: Final = "TaintToleration"
#: Values of taints that only say yes.
_YES: Final = frozenset(("", "true", "yes", "on", "1"))


def mistyped_toleration(situation: Situation) -> Iterator[Diagnosis]:
    """A toleration that misses a taint by a typing mistake in its key or value, or by its effect.

    The pod tolerates a taint that the node does not have, and the node's taint is almost the same. Operators correct the
    toleration. A different value, such as the name of another team, is no mistake: the node is then reserved for others.
    """
    # Yield a toleration that was probably meant for the taint of nodes that lack nothing else.
    tolerations = situation.pod.spec.tolerations
    if not situation.filtered or not tolerations:
        return
    others = [plugin for plugin in situation.rejected if plugin != _PLUGIN]
    nodes = situation.in_reach & situation.rejected_by(_PLUGIN) & ~situation.rejected_by(*others)
    if not nodes.any():
        return
    table = situation.cluster.nodes
    for number in np.unique(table.taint_list[nodes]).tolist():
        taints = table.taint_lists[number]
        taint = untolerated_taint(taints, tolerations)
        if taint is None:
            continue
        for i, toleration in enumerate(tolerations):
            if protects_pods(taint) and not _is_renamed(toleration, taint):
                continue
            if _is_renamed(toleration, taint) or _is_near(toleration, taint):
                yield _mistyped_cause(situation, i, taint, taints, nodes & (table.taint_list == number))
                return


def _is_renamed(toleration: Toleration, taint: Taint) -> bool:
    """Report whether a toleration has the key of the control plane's taint before Kubernetes 1.24."""
    both = toleration.key != taint.key and {toleration.key, taint.key} == set(CONTROL_PLANE_TAINTS)
    return both and tolerates(msgspec.structs.replace(toleration, key=taint.key), taint)


def _is_near(toleration: Toleration, taint: Taint) -> bool:
    """Report whether a toleration differs from a taint in one respect, which is probably a mistake."""
    if not toleration.key:
        return False
    same_key = toleration.key == taint.key
    same_value = toleration.operator == "Exists" or toleration.value == taint.value
    same_effect = toleration.effect in ("", taint.effect)
    if same_key and same_value:
        return not same_effect
    if same_key and same_effect and not toleration.value:
        # Without a value, the operator Equal tolerates only a taint without one.
        return True
    if same_key and same_effect:
        both_yes = {toleration.value.lower(), taint.value.lower()} <= _YES
        return both_yes or bool(meant(toleration.value, [taint.value]))
    return same_value and same_effect and bool(meant(toleration.key, [taint.key]))


def _mistyped_cause(situation: Situation, i: int, taint: Taint, taints: tuple[Taint, ...], nodes: Mask) -> Diagnosis:
    toleration = situation.pod.spec.tolerations[i]
    names = situation.names(nodes)
    of = listed(names) if len(names) <= 3 else counted(len(names), "node")
    rest = situation.in_reach & ~nodes
    cause = f"the pod tolerates {_toleration_words(toleration)}, and the taint of {of} is {taint}"
    at = ("spec", "tolerations", i)
    hard = [each for each in taints if each.effect in (NO_SCHEDULE, NO_EXECUTE)]
    patch: list[Operation] = []
    if any(tolerates(toleration, each) for each in hard):
        patch.append(remove_operation(*at, "effect"))
        summary = f"tolerate every effect of {taint.key}, not only {toleration.effect}"
    else:
        patch.append(add_operation(taint.key, *at, "key"))
        if toleration.operator != "Exists":
            patch.append(add_operation(taint.value, *at, "value"))
        if toleration.effect:
            patch.append(add_operation(taint.effect, *at, "effect"))
        summary = f"tolerate {taint} instead of {_toleration_words(toleration)}"
    return Diagnosis(
        rule="mistyped-toleration",
        cause=together(situation, cause, obstacles_on(situation, rest)),
        remedies=(situation.context().pod_patch(summary, *patch, risk=Risk.MISTAKE, family=("toleration", i)),),
    )


def _toleration_words(toleration: Toleration) -> str:
    value = f"={toleration.value}" if toleration.operator != "Exists" and toleration.value else ""
    effect = f":{toleration.effect}" if toleration.effect else ""
    return f"{toleration.key}{value}{effect}"


_UNTRIED: Final = "the snapshot has no such node to copy"
_TEMPLATES: Final = {each.__name__: each for each in (Deployment, StatefulSet)}


def reserved_nodes(situation: Situation) -> Iterator[Diagnosis]:
    """Taints that reserve every node within reach, so that the pod has no node to run on.

    No single taint is a mistake then: a node for such pods is missing. Clusters of kubeadm without workers have only the
    control plane, clusters of AKS may have only the system pool, and clusters of GKE only a pool of another architecture.
    Nodes of Fargate are made for one pod each: a pod goes there if a Fargate profile selects it when it is created, and not
    by a toleration. Virtual nodes run pods that are made for them, and Windows nodes run programs of Windows.
    Operators join a worker, or add a pool without the taint. The taint of the control plane is removed only if it is the
    only node, as on a machine for tests.
    """
    # Yield the taints, if each node of the cluster has one that reserves it.
    if not situation.filtered or situation.is_of_daemon_set or not situation.n_nodes:
        return
    # A pod that selects a pool, or tolerates almost its taint, is meant for it.
    nodes = situation.cluster.nodes
    if not all(nodes.taint_lists[i] for i in set(nodes.taint_list.tolist())) or not situation.in_reach.all():
        return
    reserving = [_reserving(situation, node) for node in nodes.objects]
    if not all(reserving) or any(mistyped_toleration(situation)):
        return
    base = next(obstacles.obstacles(situation))
    keys = {taint.key for taints in reserving for taint in taints}
    # The taints that stay when an unhealthy node is repaired.
    also = next(
        (
            f"; {node.name} has the taint {taints[0]} as well, which the pod does not tolerate"
            for node, taints in zip(situation.cluster.nodes.objects, reserving, strict=True)
            if is_unhealthy(node, situation.pod.spec.tolerations)
        ),
        "",
    )
    # Without its network plugin no node of the cluster gets ready.
    lacking = next((node.name for node in situation.cluster.nodes.objects if lacks_network_plugin(node)), "")
    repair = Advice(
        summary=f"install or repair the network plugin (CNI) on {lacking}",
        risk=Risk.MISTAKE,
        untried="the pod does not tolerate the other taint of the node",
        command=f"# kubectl describe node {lacking}",
    )
    names = listed(sorted(keys), "or")
    summary, command = f"add a node without the taint {names}", ""
    if keys <= set(CONTROL_PLANE_TAINTS):
        summary = "join a worker node: the cluster has only the control plane"
        command = "# kubeadm token create --print-join-command"
    elif _FARGATE in keys:
        also += "; nodes of Fargate are made for one pod each, and no Fargate profile has taken this pod "
        also += f"(schedulerName {situation.pod.spec.scheduler_name})"
        summary = "add a node of a node group, if the pod is not for Fargate"
    elif keys == {VIRTUAL_KUBELET}:
        also += "; virtual nodes run only pods that are made for them"
        summary = "add a node with a machine: the cluster has only virtual nodes for the pod"
    elif all(map(is_of_windows, situation.cluster.nodes.objects)) and not names_system(situation.pod):
        also += "; all nodes have Windows, and the pod does not select them"
        summary = "add a Linux node: programs of Linux do not run on the Windows nodes"
    elif CRITICAL_ADDONS_ONLY in keys:
        summary = f"add a node pool for applications, without the taint {names} (on AKS of mode User)"
    add = Advice(summary=summary, risk=Risk.CAPACITY, untried=_UNTRIED, command=command or f"# {summary}")
    yield Diagnosis(
        rule="reserved-nodes",
        cause=base.cause + also,
        evidence=base.evidence,
        remedies=tuple(_untainted(situation)),
        advice=(*((repair,) if lacking else ()), *(_of_fargate(situation) if _FARGATE in keys else ()), add),
    )


#: The key of the taint of Fargate's nodes, and of the annotation that keeps pods from Fargate.
_FARGATE: Final = "eks.amazonaws.com/compute-type"


def _of_fargate(situation: Situation) -> Iterator[Advice]:
    """Yield what lets a Fargate profile take the pod, which happens when the pod is created."""
    kind, namespace, name = situation.workload
    found = situation.cluster.get(_TEMPLATES[kind], name, namespace) if kind in _TEMPLATES else None
    template = found.spec.template if isinstance(found, (Deployment, StatefulSet)) else None
    annotations = template.metadata.annotations if template is not None else situation.pod.metadata.annotations
    if _FARGATE in annotations:
        yield Advice(
            summary=(
                f"remove annotation {_FARGATE}={annotations[_FARGATE]} from the template of {kind} {namespace}/{name}, so "
                "that a Fargate profile takes its pods"
            ),
            risk=Risk.MISTAKE,
            untried="Fargate's webhook takes pods when they are created",
            command=f"kubectl edit {kind.lower()} -n {namespace} {name}",
        )
        return
    labels = listed([f"{key}={value}" for key, value in situation.pod.metadata.labels.items()], most=_MOST)
    yield Advice(
        summary=(
            f"if the pod is for Fargate: let the selector of a Fargate profile match namespace {situation.pod.namespace}"
            f"{f' and the labels {labels}' if labels else ''}, and recreate the pod: it then has schedulerName "
            "fargate-scheduler"
        ),
        risk=Risk.MISTAKE,
        untried="Fargate's webhook takes pods when they are created",
        command="# aws eks describe-fargate-profile --cluster-name CLUSTER --fargate-profile-name PROFILE",
    )


def _reserving(situation: Situation, node: Node) -> list[Taint]:
    """Return the taints that reserve a node for other pods."""
    tolerations = situation.pod.spec.tolerations
    sick = health_taints(node)
    return [
        taint
        for taint in node.spec.taints
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE)
        and taint not in sick
        and (taint.key == OS_TAINT or not taint.key.startswith(OWN_TAINTS))
        and not tolerated(tolerations, taint)
    ]


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
}
_REMOVAL: Final = "find out why the cluster autoscaler has not removed {node}, and remove its taint {key}"
_UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"
_NOT_READY: Final = "node.kubernetes.io/not-ready"


def unhealthy_nodes(situation: Situation) -> Iterator[Diagnosis]:
    """Nodes that would hold the pod, if only they were healthy.

    The node controller, a cloud provider or an agent of the node sets a taint while a node has a problem. If that taint is
    all that keeps the pod away from a node, the node's problem is the cause, even if other nodes are full. Operators repair
    or replace the node. They do not tolerate the taint, as a pod could not start there, and they do not remove it, as it
    would be set again. The taint of a new node is taken off by the agent that sets the node up, such as a CSI driver, when
    it starts. If the agent runs, the taint was left behind: operators restart its pod there, or take the taint off by hand.

    Nodes that an autoscaler removes are not repaired. If the cluster autoscaler has tainted a node for
    more than an hour, the removal has failed: operators look at the autoscaler, and remove the taint.
    """
    # Yield the obstacles with the repair of unhealthy nodes as the cure, if a repair could place the pod.
    if not situation.filtered:
        return
    found = only_unhealthy(situation)
    base = next(obstacles.obstacles(situation), None) if found.any() else None
    if base is None:
        return
    rows = all_rows(found)[:_MOST]
    sick = [situation.cluster.nodes.objects[row] for row in rows]
    yield Diagnosis(
        rule="unhealthy-node",
        cause=base.cause,
        evidence=(
            *_plugins(situation, found),
            *_messages(situation.cluster, sick, situation.pod.spec.tolerations),
            *base.evidence,
        ),
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
    repairable: list[bool] = []
    for taints in nodes.taint_lists:
        # An unhealthy node that the autoscaler wants to remove is not repaired first.
        failed = tuple(taint for taint in taints if removal_failed(taint, situation.cluster.taken_at))
        repaired = failed or tuple(
            taint
            for taint in taints
            if taint.key.startswith(tuple(_REPAIRS)) or is_startup_taint(taint) or marks_problem(taint)
        )
        others = tuple(taint for taint in taints if taint not in repaired)
        held = untolerated_taint(taints, tolerations) is not None
        repairable.append(held and untolerated_taint(others, tolerations) is None)
    return found & np.array(repairable, dtype=np.bool_)[nodes.taint_list]


def _repair(situation: Situation, node: Node, within: int) -> Remedy:
    """Return the repair of a node: its health taints go."""
    gone = health_taints(node, situation.pod.spec.tolerations)
    patch = [remove_operation("spec", "taints", i) for i, each in enumerate(node.spec.taints) if each in gone]
    return Remedy(
        summary=_taint_removal(situation, node, gone[0]),
        scope=RemedyScope.NODE,
        # From the last to the first, because each removal shifts the indices after it.
        changes=(patched(node, *reversed(patch)),),
        risk=Risk.MISTAKE,
        family="repair",
        within=within,
        once=True,
        command=_repair_command(situation, node, gone[0]),
    )


def _repair_command(situation: Situation, node: Node, taint: Taint) -> str:
    if taint.key == AUTOSCALER_REMOVAL:
        return f"kubectl taint node {node.name} {taint.key}:{taint.effect}-"
    agent = startup_agent(situation.cluster, situation.cluster.nodes.row[node.name])
    return agent.command if agent is not None else f"# repair {node.name}: kubectl describe node {node.name}"


def _taint_removal(situation: Situation, node: Node, taint: Taint) -> str:
    if taint.key == _NOT_READY and lacks_network_plugin(node):
        ill = ill_network_plugin(situation.cluster, situation.cluster.nodes.row[node.name])
        if ill is None:
            return f"install or repair the network plugin (CNI) on {node.name}"
        return f"repair {ill[0]} {ill[1]}/{ill[2]}, the network plugin (CNI), on {node.name}"
    if taint.key == AUTOSCALER_REMOVAL:
        return _REMOVAL.format(node=node.name, key=taint.key)
    words = next((words for key, words in _REPAIRS.items() if taint.key.startswith(key)), "")
    if words:
        return words.format(node.name)
    if marks_problem(taint):
        return f"repair {node.name}, or replace it: what set the taint {taint.key} takes it off again"
    agent = startup_agent(situation.cluster, situation.cluster.nodes.row[node.name])
    if agent is None:
        return f"find out what is to take the taint {taint.key} off {node.name}, and repair it"
    left = f", or take the taint {taint.key} off: it was left behind, as the pod runs" if agent.runs else ""
    return f"{agent.cure(node.name)}{left}"


def _plugins(situation: Situation, found: Mask) -> Iterator[str]:
    """Yield the network plugins whose pods are not ready on nodes that lack a network."""
    nodes, ill = situation.cluster.nodes, dict[tuple[str, str, str], list[str]]()
    for row in all_rows(found):
        plugin = ill_network_plugin(situation.cluster, row) if lacks_network_plugin(nodes.objects[row]) else None
        if plugin is not None:
            ill.setdefault(plugin, []).append(nodes.names[row])
    for (kind, namespace, name), names in ill.items():
        yield f"{kind} {namespace}/{name}, the network plugin, is not ready on {listed(names, most=_MOST)}"


def _messages(cluster: Cluster, nodes: list[Node], tolerations: tuple[Toleration, ...]) -> Iterator[str]:
    """Yield what conditions and the newest Event of the first node say, and the instance that its cloud looks for."""
    for node in nodes[:1]:
        taint = health_taints(node, tolerations)[0]
        ready = next((each for each in node.status.conditions if each.type == "Ready"), None)
        if ready is not None and ready.status != "True" and ready.message:
            yield f"{node.name}: {ready.message.rstrip('.')}"
        for each in node.status.conditions if marks_problem(taint) else ():
            if each.status == "True" and each.type != "Ready" and each.message:
                yield f"{node.name}: {each.type}{since(each.last_transition_time)} ({each.reason}): {one_line(each.message)}"
        yield from (f"{node.name}: {said(event)}" for event in events_about(cluster, Node.__name__, "", node.name)[:1])
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
    elif lacks_network_plugin(node) or any(map(is_startup_taint, node.spec.taints)):
        yield f"kubectl get pods -A -o wide --field-selector spec.nodeName={node.name}"
