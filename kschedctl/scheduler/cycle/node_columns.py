"""The verdicts on nodes for pods as columns: arrays with a row per pod and a column per node."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.status import Status


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """The verdicts on the nodes of a cluster for some pods: shape (n_pods, n_nodes)."""

    names: tuple[str, ...]
    #: True for nodes that the pod fits on.
    fits: Mask
    #: The index of each node's status in ``statuses``.
    said: Int64Array
    #: The statuses at which kube-scheduler stops.
    statuses: tuple[Status, ...]
    #: True for nodes that have scores.
    scored: Mask
    #: The total scores; 0 for nodes without scores.
    total: Int64Array
    #: Per plugin the normalized score times the weight; shape (1, n_nodes) if it is the same for all pods.
    weighted: Mapping[str, Int64Array]

    @classmethod
    def of(cls, decision: Decision) -> "NodeColumns | None":
        """Return the verdicts for the pod of a decision; ``None`` if the cycle ended before the filters."""
        if decision.statuses is None:
            return None
        said, statuses = decision.statuses.distinct()
        n_nodes = len(decision.cluster.nodes)
        scored, total = np.zeros((1, n_nodes), dtype=np.bool_), np.zeros((1, n_nodes), dtype=np.int64)
        weighted: dict[str, Int64Array] = {}
        scores = decision.scores
        if scores is not None:
            scored[0, scores.rows] = True
            total[0, scores.rows] = scores.total
            for plugin, normalized in scores.normalized.items():
                weighted[plugin] = np.zeros((1, n_nodes), dtype=np.int64)
                weighted[plugin][0, scores.rows] = normalized * scores.weights[plugin]
        fits = decision.statuses.code == 0
        return cls(decision.cluster.nodes.names, fits[None], said[None], statuses, scored, total, weighted)

    @property
    def best(self) -> Mask:
        """True for the nodes with the highest total score of those that have scores."""
        total = np.where(self.scored, self.total, np.iinfo(np.int64).min)
        best: Mask = self.scored & (total == total.max(axis=1, keepdims=True))
        return best
