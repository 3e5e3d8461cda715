"""The soft half of PodTopologySpread.

Score: per constraint ``matching pods in the domain x log(domains + 2) + maxSkew - 1``, added up in float64 and rounded
half away from zero; normalised so that few matching pods give much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.api.well_known import HOSTNAME
from kschedctl.arrays import Int64Array, Mask
from kschedctl.cluster.arithmetic import round_half_away
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.interface import MAX_NODE_SCORE
from kschedctl.plugins.pod_topology_spread.constraints import (
    Constraint,
    nodes_included,
    nodes_with_all_keys,
    selected_classes,
)


@dataclass(frozen=True, slots=True)
class SpreadScores:
    """The scores of the feasible nodes.

    Attributes
    ----------
    scores : ndarray of int64, shape (n_nodes,)
        The raw score of each node of the cluster; 0 for those that are ignored.
    ignored : ndarray of bool, shape (n_nodes,)
        Nodes that lack a topology label that is asked for.
    """

    scores: Int64Array
    ignored: Mask


def spread_scores(
    cluster: Cluster,
    constraints: tuple[Constraint, ...],
    pod: Pod,
    rows: Int64Array,
    *,
    require_all: bool,
    by_host: Cluster | None = None,
) -> SpreadScores:
    """Score feasible nodes by soft constraints.

    Parameters
    ----------
    constraints : tuple of Constraint
        The soft constraints.
    pod : Pod
        The pod to place.
    rows : ndarray of int64
        The feasible nodes.
    require_all : bool
        Whether nodes that lack the label of any constraint are ignored; not so for the system's defaults.
    by_host : Cluster, optional
        The pods that count where the domain is a single node, where they are not those of the cluster.
    """
    nodes = cluster.nodes
    labelled = nodes_with_all_keys(cluster, constraints) if require_all else np.ones(len(nodes), dtype=np.bool_)
    candidates = rows[labelled[rows]]
    total = np.zeros(len(nodes))
    for constraint in constraints:
        per_node = _matching(cluster, constraint, pod)
        column = nodes.labels[constraint.topology_key]
        if constraint.topology_key == HOSTNAME:
            size = len(candidates)
            matching = per_node if by_host is None else _matching(by_host, constraint, pod)
        else:
            # Nodes without the label make a domain of their own, where they are not ignored.
            codes = column.codes
            size = len(np.unique(codes[candidates]))
            included = labelled & nodes_included(cluster, constraint, pod)
            by_domain = np.zeros(len(column.values) + 1, dtype=np.int64)
            np.add.at(by_domain, codes[included], per_node[included])
            matching = by_domain[codes]
        weight = math.log(size + 2)
        total += np.where(column.present, matching * weight + float(constraint.max_skew - 1), 0.0)
    total[~labelled] = 0.0
    return SpreadScores(round_half_away(total), ~labelled)


def _matching(cluster: Cluster, constraint: Constraint, pod: Pod) -> Int64Array:
    """How many pods a constraint counts, by node."""
    counted, _ = selected_classes(cluster, constraint, pod.metadata.namespace)
    return cluster.pods.sum_per_node(counted)


def normalize(scores: Int64Array, ignored: Mask) -> Int64Array:
    """Turn scores round, so that the lowest is best: ``100 * (max + min - score) / max``.

    Parameters
    ----------
    scores : ndarray of int64, shape (n_rows,)
        Raw scores.
    ignored : ndarray of bool, shape (n_rows,)
        Nodes that get 0 and do not count for the extremes.

    Examples
    --------
    >>> normalize(np.array([2, 4, 0]), np.array([False, False, True]))
    array([100,  50,   0])
    """
    counted = scores[~ignored]
    highest = int(counted.max(initial=0))
    if highest == 0:
        return np.where(ignored, 0, MAX_NODE_SCORE)
    return np.where(ignored, 0, MAX_NODE_SCORE * (highest + int(counted.min()) - scores) // highest)
