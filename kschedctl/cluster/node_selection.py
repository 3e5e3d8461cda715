"""Matching of node selectors against all nodes at once."""

from collections.abc import Mapping

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.nodes import Nodes
from kschedctl.common.arrays import Mask
from kschedctl.objects.pod import PodSpec
from kschedctl.objects.policies import RuntimeClass
from kschedctl.objects.selectors import IN, NodeSelector, NodeTerm, SelectorError, label_map_selector, parse_node_term


def nodes_matching_term(nodes: Nodes, term: NodeTerm) -> Mask:
    """Return the nodes that satisfy a parsed term: bool, shape (n_nodes,)."""
    mask = nodes.labels.matches(term.labels)
    for field in term.fields:
        # metadata.name is the only supported field; all other fields have an empty value.
        named = np.zeros(len(nodes), dtype=np.bool_)
        if field.key == "metadata.name":
            row = nodes.row.get(field.values[0])
            if row is not None:
                named[row] = True
        elif field.values[0] == "":
            named[:] = True
        mask &= named if field.operator == IN else ~named
    return mask


def nodes_matching(nodes: Nodes, selector: NodeSelector) -> Mask:
    """Return the nodes that satisfy one of the selector's terms: bool, shape (n_nodes,).

    Empty terms and terms that cannot be parsed match nothing, as in component-helpers' lazy node selector.
    """
    mask = np.zeros(len(nodes), dtype=np.bool_)
    for term in selector.node_selector_terms:
        try:
            parsed = parse_node_term(term)
        except SelectorError:
            continue
        if parsed is not None:
            mask |= nodes_matching_term(nodes, parsed)
    return mask


def nodes_matching_pod(nodes: Nodes, spec: PodSpec) -> Mask:
    """Return the nodes that a pod's ``nodeSelector`` and required node affinity allow: bool, shape (n_nodes,)."""
    mask = nodes.labels.matches(label_map_selector(spec.node_selector))
    required = required_node_selector(spec)
    return mask if required is None else mask & nodes_matching(nodes, required)


def required_node_selector(spec: PodSpec) -> NodeSelector | None:
    """Return the pod's required node affinity, or ``None``."""
    if spec.affinity is None or spec.affinity.node_affinity is None:
        return None
    return spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution


def runtime_class_selector(spec: PodSpec, cluster: Cluster) -> Mapping[str, str]:
    """Return the entries of a pod's ``nodeSelector`` that its RuntimeClass adds to every pod of the class."""
    runtime_class = cluster.get(RuntimeClass, spec.runtime_class_name) if spec.runtime_class_name else None
    scheduling = runtime_class.scheduling if runtime_class is not None else None
    return scheduling.node_selector if scheduling is not None else {}
