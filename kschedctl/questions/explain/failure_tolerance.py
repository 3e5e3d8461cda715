"""The number of failures that a pod's placement withstands: nodes, and whole zones, gone with their pods.

A node fails as in the what-if ``--fail-zone``: its pods, its CSINode and its devices are gone too. The pods that a
controller recreates are pending, and none of them is placed before the pod.

If losses can only help (every filter judges a node by itself, or counts what keeps the pod away), the pod has a node as
long as one is left that it fits on, or that the losses make feasible. If some filter can reject a node after others are
lost (spread, affinity between pods, devices), sets of nodes are tried: all sets of one node, of two, and so on, up to
``_MOST_TRIED`` decisions, with one set for all that differ only in interchangeable nodes. In addition, a set whose loss
leaves no node is made smaller until every node of it is needed. Every answer comes from a decision for the reduced
cluster.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations_with_replacement, islice
from math import comb
from typing import Final

import numpy as np

from kschedctl.questions.explain.answer import WithstandingData, ZoneLossData
from kschedctl.scheduler.cycle.cycle import find_nodes_that_fit_pod
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.dependencies import Reach
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import FilterPlugin
from kschedctl.trials.whatif.nodes import without_nodes_and_pods

#: At most 400 hypothetical states are decided for; on large clusters fewer, as each takes longer, but at least 24.
_MOST_TRIED: Final = 400
_FEWEST_TRIED: Final = 24
#: Sets of more than 64 nodes are not made smaller.
_FEW: Final = 64
#: The number of nodes in all hypothetical states together, which limits their number on large clusters.
_MOST_NODES: Final = 60_000


def withstand(scheduler: Scheduler, decision: Decision) -> WithstandingData | None:
    """Find the number of failures that a pod's placement withstands.

    Returns: ``None`` if the pod has no feasible node.
    """
    if not decision.best:
        return None
    return _Trial(scheduler, decision).found()


class _Trial:
    """A trial of hypothetical states without some nodes."""

    def __init__(self, scheduler: Scheduler, decision: Decision) -> None:
        self._scheduler = scheduler
        self._decision = decision
        self._pod = decision.pod
        self._cluster = decision.cluster
        self._names = decision.cluster.nodes.names
        self._feasible = find_nodes_that_fit_pod(decision.framework, decision.pod).tolist()
        framework, state, pod = decision.framework, decision.state, decision.pod
        names = [
            plugin.name
            for plugin in framework.plugins(ExtensionPoint.FILTER, FilterPlugin)
            if plugin.name not in state.skip_filter_plugins and plugin.losses_can_hurt(state, pod)
        ]
        self._across = (*names, *(one.name for one in framework.handle.extenders if one.is_interested(pod)))
        self._tried = 0
        self._by_zone: dict[str, list[int]] = {}
        self._losses: tuple[ZoneLossData, ...] = ()
        n_nodes = max(len(self._names), 1)
        self._most = max(_FEWEST_TRIED, min(_MOST_TRIED, _MOST_NODES // n_nodes))

    def found(self) -> WithstandingData:
        zones = self._zones()
        if self._across:
            stands, last = self._searched()
        else:
            # Every set whose loss leaves no node contains all of these: each stays feasible if only others are lost.
            last = tuple(self._leaving_none())
            stands = len(last) - 1
        names = tuple(self._names[row] for row in last)
        exact = bool(last) and len(last) == stands + 1
        feasible = tuple(self._names[row] for row in self._feasible)
        return WithstandingData(feasible, stands, names, exact, self._across, self._tried, zones)

    def _left(self, rows: Collection[int]) -> list[str]:
        """Return the nodes that the pod fits on after the loss of some nodes."""
        self._tried += 1
        cluster = without_nodes_and_pods(self._cluster, rows)
        framework = self._scheduler.moved(cluster).framework(self._pod.spec.scheduler_name)
        return [cluster.nodes.names[row] for row in find_nodes_that_fit_pod(framework, self._pod).tolist()]

    def _zones(self) -> tuple[ZoneLossData, ...]:
        by_zone = self._by_zone
        for row, zone in enumerate(self._cluster.nodes.zones):
            by_zone.setdefault(zone, []).append(row)
        feasible = set(self._feasible)
        self._losses = tuple(
            ZoneLossData(zone, len(rows), len(feasible.intersection(rows)), len(self._left(rows)))
            for zone, rows in sorted(by_zone.items())
            if zone
        )
        return self._losses

    def _searched(self) -> tuple[int, tuple[int, ...]]:
        """Return how many nodes may be lost, whichever they are, and the smallest set found that leaves none."""
        sets = [self._leaving_none()] if len(self._feasible) <= _FEW else []
        sets += [self._by_zone[loss.zone] for loss in self._losses if not loss.left and loss.nodes <= _FEW]
        bound = self._made_smaller(min(sets, key=len)) if sets else ()
        feasible = set(self._feasible)
        groups = sorted(_alike(self._decision), key=lambda rows: rows[0] not in feasible)
        stands = 0
        for size in range(1, len(bound) if bound else len(self._names)):
            if comb(len(groups) + size - 1, size) > self._most - self._tried:
                break
            last = next((rows for rows in _chosen(groups, size) if not self._left(rows)), None)
            if last is not None:
                return stands, last
            stands = size
        return stands, bound

    def _leaving_none(self) -> list[int]:
        """Return nodes whose loss leaves no node: the feasible ones, those that become feasible by it, and so on."""
        row = self._cluster.nodes.row
        gone = list(self._feasible)
        while left := self._left(gone):
            gone += [row[name] for name in left]
        return gone

    def _made_smaller(self, gone: list[int]) -> tuple[int, ...]:
        """Remove nodes from a set as long as the loss of the rest leaves no node: half of them at a time, then less."""
        # Half of the remaining tries is left for the sets in order of size.
        most = self._tried + (self._most - self._tried) // 2
        size = len(gone) // 2
        while size and self._tried < most:
            pieces = [gone[start : start + size] for start in range(0, len(gone), size)]
            for piece in islice(pieces, max(most - self._tried, 0)):
                rest = [row for row in gone if row not in piece]
                if rest and len(rest) < len(gone) and not self._left(rest):
                    gone = rest
            size = min(size // 2, len(gone) // 2) if size > 1 else 0
        return tuple(gone)


def _alike(decision: Decision) -> list[list[int]]:
    """Group nodes so that the loss of one means the same as the loss of any other in its group."""
    framework, state, statuses = decision.framework, decision.state, decision.statuses
    n_nodes = len(decision.cluster.nodes)
    whole = statuses is not None and statuses.snapshot is not None and statuses.nominated is None
    if not whole or len(decision.searched) < n_nodes or framework.handle.extenders:
        return [[row] for row in range(n_nodes)]
    assert statuses is not None
    assert statuses.snapshot is not None
    parts = [np.zeros(n_nodes, dtype=np.int64)]
    for plugin in framework.plugins(ExtensionPoint.FILTER, FilterPlugin):
        if plugin.name in state.skip_filter_plugins:
            continue
        if plugin.reads is None or Reach.CLUSTER in (plugin.reads.pods, plugin.reads.nodes):
            parts += plugin.alike_when_lost(state, decision.pod)
        else:
            parts.append(statuses.snapshot.rejections[plugin.name].rejected.astype(np.int64))
    _, number = np.unique(np.stack(parts), axis=1, return_inverse=True)
    groups: dict[int, list[int]] = {}
    for row, group in enumerate(number.reshape(-1).tolist()):
        groups.setdefault(group, []).append(row)
    return list(groups.values())


def _chosen(groups: Sequence[list[int]], size: int) -> Iterator[tuple[int, ...]]:
    """Yield the sets of ``size`` nodes, one for all sets that differ only in interchangeable nodes."""
    for chosen in combinations_with_replacement(range(len(groups)), size):
        numbers = Counter(chosen)
        if all(number <= len(groups[group]) for group, number in numbers.items()):
            yield tuple(row for group, number in numbers.items() for row in groups[group][:number])
