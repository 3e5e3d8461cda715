"""The pods of a DaemonSet: one per eligible node (pkg/controller/daemon)."""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.cluster.nodes import Nodes
from kschedctl.controllers.workloads.created_pods import MadePod
from kschedctl.controllers.workloads.stateful_set import REVISION_HASH
from kschedctl.controllers.workloads.template import pod_from_template, template_hash
from kschedctl.objects.pod import NO_EXECUTE, NO_SCHEDULE, Affinity, PodSpec, Toleration, tolerated
from kschedctl.objects.selectors import IN, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kschedctl.objects.workload import DaemonSet, PodTemplateSpec

_NODE_NAME: Final = "metadata.name"
_TEMPLATE_GENERATION: Final = "pod-template-generation"
_GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"
_TOLERATED: Final = (
    ("not-ready", NO_EXECUTE),
    ("unreachable", NO_EXECUTE),
    ("disk-pressure", NO_SCHEDULE),
    ("memory-pressure", NO_SCHEDULE),
    ("pid-pressure", NO_SCHEDULE),
    ("unschedulable", NO_SCHEDULE),
)
_TOLERATED_ON_HOST_NETWORK: Final = (("network-unavailable", NO_SCHEDULE),)


def pods_of_daemon_set(daemon_set: DaemonSet, template: PodTemplateSpec, cluster: Cluster) -> tuple[MadePod, ...]:
    """Return the pods of a DaemonSet, one per eligible node, in the order of the cluster; empty if there is none."""
    labels = {REVISION_HASH: template_hash(template), _TEMPLATE_GENERATION: _generation(daemon_set, cluster)}
    spec = with_daemon_tolerations(template.spec)
    made = []
    for number, node in enumerate(eligible_nodes(cluster.nodes, spec)):
        bound = replace(template, spec=replace(spec, affinity=_for_node(spec.affinity, node)))
        pod = pod_from_template(bound, daemon_set, labels=labels, number=number)
        made.append(MadePod(pod, node=node))
    return tuple(made)


def _generation(daemon_set: DaemonSet, cluster: Cluster) -> str:
    """Return the template generation that the API server records in an annotation; "1" for a new DaemonSet."""
    stored = cluster.get(DaemonSet, daemon_set.name, daemon_set.namespace)
    notes = [known.metadata.annotations.get(_GENERATION_ANNOTATION) for known in (daemon_set, stored or daemon_set)]
    return next((note for note in notes if note), "1")


def with_daemon_tolerations(spec: PodSpec) -> PodSpec:
    """Return the spec with the tolerations that the DaemonSet controller adds, all without tolerationSeconds."""
    tolerations = list(spec.tolerations)
    for taint, effect in (*_TOLERATED, *(_TOLERATED_ON_HOST_NETWORK if spec.host_network else ())):
        added = Toleration(key=f"node.kubernetes.io/{taint}", operator="Exists", effect=effect)
        if added in tolerations:
            continue
        same = [i for i, own in enumerate(tolerations) if replace(own, toleration_seconds=None) == added]
        for i in same:
            tolerations[i] = added
        if not same:
            tolerations.append(added)
    return replace(spec, tolerations=tuple(tolerations))


def eligible_nodes(nodes: Nodes, spec: PodSpec) -> list[str]:
    """Return the nodes on which a DaemonSet runs a pod.

    Parameters
    ----------
    spec : PodSpec
        The spec of its pods, with the tolerations that the controller adds.

    Returns
    -------
    list of str
        The names of the nodes that the node selector, node affinity and ``nodeName`` allow, and whose NoSchedule and
        NoExecute taints are all tolerated.
    """
    tolerates = np.array(
        [
            all(tolerated(spec.tolerations, taint) for taint in taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE))
            for taints in nodes.taint_lists
        ],
        dtype=np.bool_,
    )
    mask = nodes_matching_pod(nodes, spec) & tolerates[nodes.taint_list]
    names = [nodes.names[row] for row in np.flatnonzero(mask)]
    return [name for name in names if spec.node_name in ("", name)]


def node_of(spec: PodSpec) -> str:
    """Return the node that the controller has chosen for a pod of a DaemonSet; empty if the pod does not say."""
    own = spec.affinity.node_affinity if spec.affinity is not None else None
    required = own.required_during_scheduling_ignored_during_execution if own is not None else None
    terms = required.node_selector_terms if required is not None else ()
    fields = (field for term in terms for field in term.match_fields)
    return next((field.values[0] for field in fields if field.key == _NODE_NAME and len(field.values) == 1), "")


def _for_node(affinity: Affinity | None, node: str) -> Affinity:
    """Return the affinity with its required node affinity replaced by one that requires `node`."""
    name = NodeSelectorRequirement(key=_NODE_NAME, operator=IN, values=(node,))
    required = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(name,)),))
    affinity = affinity or Affinity()
    own = affinity.node_affinity or NodeAffinity()
    return replace(affinity, node_affinity=replace(own, required_during_scheduling_ignored_during_execution=required))
