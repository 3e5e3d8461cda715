"""Parsed spread constraints, and the nodes and pods that count for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import nodes_matching_pod
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.pod import Pod, TopologySpreadConstraint
from kschedctl.objects.selectors import Selector, SelectorError, label_map_selector, matches, parse_label_selector
from kschedctl.objects.well_known import HOSTNAME, ZONE
from kschedctl.scheduler.framework.interface import PluginError
from kschedctl.scheduler.plugins.taint_toleration import untolerated_taint

DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"

#: The default constraints for pods that have none and that a Service or controller selects (defaultingType System).
SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=5),
)


class SpreadConstraint(msgspec.Struct, frozen=True):
    """A parsed constraint.

    Attributes
    ----------
    topology_key : str
        The key of the label that defines the domains.
    max_skew : int
        The largest skew allowed.
    min_domains : int
        The number of domains below which the global minimum is 0; 1 by default.
    selector : Selector or None
        The selector of the counted pods; ``None`` selects no pod.
    honor_affinity : bool
        True if only nodes that match the pod's node selector and affinity count.
    honor_taints : bool
        True if only nodes whose taints the pod tolerates count.
    """

    topology_key: str
    max_skew: int
    min_domains: int
    selector: Selector | None
    honor_affinity: bool
    honor_taints: bool

    def selects(self, pod: Pod) -> bool:
        """Report whether the selector matches a pod, without a check of the pod's namespace."""
        return self.selector is not None and matches(self.selector, pod.metadata.labels)


def parse_constraints(
    constraints: Iterable[TopologySpreadConstraint],
    pod: Pod,
    action: str,
    *,
    match_label_keys: bool = True,
    selector: Selector | None = None,
) -> tuple[SpreadConstraint, ...]:
    """Return the constraints with a given ``whenUnsatisfiable``, parsed.

    Parameters
    ----------
    constraints : iterable of TopologySpreadConstraint
        The pod's own constraints, or the defaults.
    pod : Pod
        The pod, whose labels ``matchLabelKeys`` refers to.
    action : str
        ``DoNotSchedule`` or ``ScheduleAnyway``.
    match_label_keys : bool
        True if ``matchLabelKeys`` is honoured.
    selector : Selector, optional
        A selector that replaces the constraints' own selectors.

    Raises
    ------
    PluginError
        If a selector is invalid.
    """
    out = []
    for constraint in constraints:
        if constraint.when_unsatisfiable != action:
            continue
        parsed = selector
        if selector is None and constraint.label_selector is not None:
            try:
                parsed = parse_label_selector(constraint.label_selector)
            except SelectorError as error:
                raise PluginError(f"labelSelector.{error.path}: {error}") from None
            if match_label_keys:
                labels = pod.metadata.labels
                own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
                parsed = (*label_map_selector(own), *parsed)
        out.append(
            SpreadConstraint(
                topology_key=constraint.topology_key,
                max_skew=constraint.max_skew,
                min_domains=1 if constraint.min_domains is None else constraint.min_domains,
                selector=parsed,
                honor_affinity=(constraint.node_affinity_policy or "Honor") == "Honor",
                honor_taints=constraint.node_taints_policy == "Honor",
            )
        )
    return tuple(out)


def selected_classes(cluster: Cluster, constraint: SpreadConstraint, namespace: str) -> tuple[Int64Array, Int64Array]:
    """Return the pod classes that a constraint selects.

    Returns
    -------
    counted : ndarray of int64, shape (n_classes,)
        1 for the classes that count in the snapshot: not those of terminating pods, and none for an empty selector.
    moved : ndarray of int64, shape (n_classes,)
        1 for the classes whose pods change the count when they are added or removed. Upstream checks neither
        termination nor the emptiness of the selector there.
    """
    pods = cluster.pods
    if constraint.selector is None:
        nothing = np.zeros(len(pods.classes), dtype=np.int64)
        return nothing, nothing
    moved = pods.classes_matching(constraint.selector) & pods.classes_in(frozenset({namespace}))
    counted = moved & ~pods.class_terminating if constraint.selector else np.zeros_like(moved)
    return counted.astype(np.int64), moved.astype(np.int64)


def nodes_with_all_keys(cluster: Cluster, constraints: Iterable[SpreadConstraint]) -> Mask:
    """Return the nodes that have the topology labels of all constraints: bool, shape (n_nodes,)."""
    mask = np.ones(len(cluster.nodes), dtype=np.bool_)
    for constraint in constraints:
        mask &= cluster.nodes.labels[constraint.topology_key].present
    return mask


def nodes_included(cluster: Cluster, constraint: SpreadConstraint, pod: Pod) -> Mask:
    """Return the nodes that count by a constraint's inclusion policies (KEP-3094): bool, shape (n_nodes,)."""
    nodes = cluster.nodes
    mask = np.ones(len(nodes), dtype=np.bool_)
    if constraint.honor_affinity:
        mask &= nodes_matching_pod(nodes, pod.spec)
    if constraint.honor_taints:
        clean = [untolerated_taint(taints, pod.spec.tolerations) is None for taints in nodes.taint_lists]
        mask &= np.array(clean, dtype=np.bool_)[nodes.taint_list]
    return mask
