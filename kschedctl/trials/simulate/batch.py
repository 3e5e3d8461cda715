"""Opportunistic batching (KEP-5598): consecutive pods with the same signature are placed by the scores of the first.

Upstream: ``framework/runtime/batch.go``. The result differs from scoring each pod only if the cached scores differ
from fresh ones: the remaining nodes keep their scores, although the node with the highest raw score may be gone.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.scoring import Scores, run_score
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.simulate.alike_pods import RankedDecision, code_of

GATE: Final = "OpportunisticBatching"
_LONGEST: Final = timedelta(milliseconds=500)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The cached nodes that remain after a pod was placed, with their scores.

    Attributes
    ----------
    rows, total : ndarray of int64, shape (n_left,)
        The remaining nodes and their total scores.
    """

    signature: Hashable
    rows: Int64Array
    total: Int64Array
    since: datetime


class OpportunisticBatch:
    """The opportunistic batch of one profile."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None
        self._last_cycle = -1
        self._last_node = ""

    def hint(
        self, search: Decision | RankedDecision, signature: Hashable | None, cycle: int, now: datetime
    ) -> tuple[str, ...]:
        """Return the best cached nodes, one of which the pod is to take; empty if the pod must be scored.

        Parameters
        ----------
        search : Decision or RankedDecision
            The decision for the pod, which fits, without the batch.
        signature : hashable or None
            The pod's signature; ``None`` if it cannot be batched.
        cycle : int
            The number of the scheduling cycle.
        now : datetime
            The time; scores are used for at most 500 milliseconds.
        """
        kept = self._kept
        if kept is None or not len(kept.rows) or cycle != self._last_cycle + 1:
            return ()
        framework = search.framework
        rescores = framework.release.queue.batch_rescores
        if signature is None or signature != kept.signature or now > kept.since + _LONGEST:
            return ()
        if rescores and search.pod.status.nominated_node_name:
            return ()
        row = framework.cluster.nodes.row.get(self._last_node)
        if row is None:
            return ()
        code = code_of(search, row)
        if code is Code.SUCCESS and rescores:
            self._kept = kept = _with_last(kept, search, row)
        elif not code.rejected:
            return ()
        best = kept.rows[kept.total == kept.total.max()]
        return tuple(sorted(framework.cluster.nodes.names[row] for row in best.tolist()))

    def take(self, framework: Framework, hinted: str) -> None:
        """Remove the node that is hinted to a pod from the cache."""
        if self._kept is not None:
            self._kept = _without(self._kept, framework.cluster.nodes.row[hinted])

    def store(
        self,
        search: Decision | RankedDecision,
        signature: Hashable | None,
        hinted: str,
        chosen: str,
        cycle: int,
        now: datetime,
    ) -> None:
        """Cache the result of a scheduling cycle.

        Parameters
        ----------
        hinted : str
            The node that was hinted to the pod; empty if there was no hint.
        chosen : str
            The node that the pod is scheduled to.
        """
        self._last_cycle, self._last_node = cycle, chosen
        if hinted == chosen:
            return
        self._kept = None
        scores = _scores(search)
        alone = search.pod.status.nominated_node_name == chosen
        if signature is not None and scores is not None and len(scores.rows) > 1 and not alone:
            everything = _Kept(signature, scores.rows, scores.total, now)
            self._kept = _without(everything, search.framework.cluster.nodes.row[chosen])


def _scores(search: Decision | RankedDecision) -> Scores | RankedDecision | None:
    """Return the feasible nodes and their total scores; ``None`` if nothing was scored."""
    return search if isinstance(search, RankedDecision) else search.scores


def _without(kept: _Kept, row: int) -> _Kept:
    left = kept.rows != row
    return _Kept(kept.signature, kept.rows[left], kept.total[left], kept.since)


def _with_last(kept: _Kept, search: Decision | RankedDecision, row: int) -> _Kept:
    """Return the cached nodes together with the node chosen last, all of them scored again."""
    rows = np.insert(kept.rows, np.searchsorted(kept.rows, row), row)
    scores = _scores(search)
    if scores is not None and np.array_equal(rows, scores.rows):
        return _Kept(kept.signature, rows, scores.total.copy(), kept.since)
    decision = search if isinstance(search, Decision) else search.decision
    return _Kept(
        kept.signature, rows, run_score(decision.framework, decision.state, decision.pod, rows).total, kept.since
    )
