"""The remedies that the nodes' rejection reasons propose, each with the nodes that it could help."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from kschedctl.common.arrays import Int64Array, Rows
from kschedctl.objects.resources import PODS, pod_requests, scheduler_units
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.node_statuses import NodeStatuses
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status

#: With at most 60 rejecting nodes, every node's reasons are inspected; with more, a few nodes represent each group
#: of nodes that reject the pod for the same reasons. A cluster of more than 60 nodes counts as large.
FEW_NODES: Final = 60
#: The number of nodes that represent a group.
_REPRESENTATIVES: Final = 3


@dataclass(slots=True)
class CandidateRemedy:
    """A remedy, and the plugins and nodes that propose it.

    Attributes
    ----------
    remedy : Remedy
        The remedy.
    cures : set of str
        The plugins whose reasons propose it.
    nodes : set of int
        The rows of the nodes whose reasons propose it; empty if the pod was rejected before any node was filtered.
    """

    remedy: Remedy
    cures: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Collected:
    """The remedies that the reasons of a decision propose.

    Attributes
    ----------
    candidates : tuple of CandidateRemedy
        The remedies, without duplicates.
    refusing : dict of int to frozenset of str
        For the row of each inspected node, the plugins that reject the pod there.
    """

    candidates: tuple[CandidateRemedy, ...]
    refusing: dict[int, frozenset[str]]

    def promising(self, candidate: CandidateRemedy) -> bool:
        """Report whether a remedy may suffice for some node: only plugins that it cures reject the pod there."""
        if not candidate.nodes:
            return True
        return any(self.refusing[row] <= candidate.cures for row in candidate.nodes)


def collect(decision: Decision, rows: Collection[int] = ()) -> Collected:
    """Collect the remedies that the reasons of a decision propose.

    Parameters
    ----------
    decision : Decision
        The decision.
    rows : collection of int
        The rows of the nodes whose reasons are inspected, if they reject the pod; by default `representatives`.
    """
    found: dict[bytes, CandidateRemedy] = {}
    encoder = msgspec.json.Encoder(order="deterministic")

    def take(remedy: Remedy, plugin: str, row: int) -> None:
        candidate = found.setdefault(encoder.encode(remedy.changes), CandidateRemedy(remedy))
        candidate.cures.add(plugin)
        if row >= 0:
            candidate.nodes.add(row)

    for plugin, remedy in _before_nodes(decision):
        take(remedy, plugin, -1)
    refusing: dict[int, frozenset[str]] = {}
    for row in rows or representatives(decision):
        reasons = decision.verdict(row).reasons
        if not reasons:
            continue
        refusing[row] = frozenset(plugin for plugin, _ in reasons)
        context = RemedyContext(decision.pod, decision.cluster, decision.release, row)
        for plugin, said in reasons:
            for reason in said:
                for remedy in reason.operands.remedies(context) if reason.operands is not None else ():
                    take(remedy, plugin, row)
    return Collected(tuple(found.values()), refusing)


def _before_nodes(decision: Decision) -> Iterator[tuple[str, Remedy]]:
    """Yield the remedies of the plugins that rejected the pod, or narrowed the nodes down, before Filter ran."""
    context = RemedyContext(decision.pod, decision.cluster, decision.release)
    said: dict[str, Status] = {}
    gate, outcome = decision.pre_enqueue, decision.pre_filter
    if gate.code is not Code.SUCCESS:
        said[gate.plugin] = gate
    if outcome is not None:
        if outcome.status.code is not Code.SUCCESS:
            said[outcome.status.plugin] = outcome.status
        said |= dict.fromkeys(sorted(outcome.plugins), SUCCESS)
    for plugin, status in said.items():
        if plugin:
            for remedy in decision.framework.plugin(plugin).remedies(context, status):
                yield plugin, remedy


def representatives(decision: Decision) -> Iterator[int]:
    """Yield the rows of nodes that represent all rejecting nodes.

    These are all of them if there are at most 60. Else up to 3 are taken of each group with equal rejections, those
    with the smallest shortfall first.
    """
    statuses = decision.statuses
    if statuses is None:
        return
    rows = np.flatnonzero(statuses.code != 0)
    if len(rows) <= FEW_NODES:
        yield from rows.tolist()
        return
    shortfall = _shortfall(decision)
    for group in _alike(decision, rows):
        # A stable sort keeps the order of rows between nodes that lack equally much.
        yield from group[np.argsort(shortfall[group], kind="stable")][:_REPRESENTATIVES].tolist()


def _alike(decision: Decision, rows: Rows) -> list[Rows]:
    """Group nodes by the rejections of their filters, the groups with the fewest rejecting filters first."""
    statuses = decision.statuses
    assert statuses is not None
    plugins, reasons = _reasons(statuses)
    kinds, kind_of = np.unique(reasons[rows], axis=0, return_inverse=True)
    said = [
        tuple((plugin, reason) for plugin, reason in zip(plugins, kind, strict=True) if reason >= 0)
        for kind in kinds.tolist()
    ]
    order = sorted(range(len(said)), key=lambda i: (len(said[i]), str(said[i])))
    return [rows[kind_of.ravel() == i] for i in order]


def _reasons(statuses: NodeStatuses) -> tuple[tuple[str, ...], Int64Array]:
    """Return the filters, and the number of each filter's reason by node: -1 where it does not reject the node.

    Returns
    -------
    plugins : tuple of str
        The filters.
    reasons : ndarray of int64, shape (n_nodes, n_plugins)
        The numbers; the run that decides a node's status counts.
    """
    runs = [run for run in (statuses.snapshot, statuses.nominated) if run is not None]
    plugins = tuple(dict.fromkeys(plugin for run in runs for plugin in run.plugins))
    reasons = np.full((statuses.n_nodes, len(plugins)), -1, dtype=np.int64)
    for run in runs:
        decides = ~run.passed if run is statuses.nominated else np.ones(len(run.rows), dtype=np.bool_)
        for i, plugin in enumerate(plugins):
            said = run.rejections.get(plugin)
            if said is not None:
                reasons[run.rows[decides], i] = np.where(said.code != 0, said.reason, -1)[decides]
    return plugins, reasons


def _shortfall(decision: Decision) -> NDArray[np.float64]:
    """Return the missing amount as a share of the requested one, summed over resources: float64, shape (n_nodes,)."""
    rules = decision.framework.handle.request_rules
    columns = decision.cluster.resources(rules)
    out = np.zeros(len(decision.cluster.nodes))
    for name, wanted in {**scheduler_units(pod_requests(decision.pod, rules)), PODS: 1}.items():
        index = columns.index.get(name)
        if index is not None and wanted > 0:
            out += np.maximum(wanted - columns.allocatable[index] + columns.requested[index], 0) / wanted
    return out
