"""The candidate remedies: those that the reasons of nodes propose, each with the nodes that it could help."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np

from kschedctl.arrays import Rows
from kschedctl.framework.remedy import Remedy, RemedyContext
from kschedctl.framework.status import SUCCESS, Code, Status
from kschedctl.scheduler.decision import Decision

#: Up to so many nodes every one is asked; of more those that are turned away alike are represented by a few.
FEW_NODES: Final = 60
_REPRESENTATIVES: Final = 3


@dataclass(slots=True)
class Candidate:
    """A remedy, and who proposes it.

    Attributes
    ----------
    remedy : Remedy
        The remedy.
    cures : set of str
        The plugins whose reasons propose it.
    nodes : set of int
        The rows of the nodes for which they do; empty where it was proposed before any node was looked at.
    """

    remedy: Remedy
    cures: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Collected:
    """What the reasons of a decision propose.

    Attributes
    ----------
    candidates : tuple of Candidate
        Each remedy once.
    refusing : dict of int to frozenset of str
        Of the nodes that were asked: the plugins that turn the pod away there.
    """

    candidates: tuple[Candidate, ...]
    refusing: dict[int, frozenset[str]]

    def promising(self, candidate: Candidate) -> bool:
        """Whether a remedy could be all that a node needs: nobody else turns the pod away there."""
        if not candidate.nodes:
            return True
        return any(self.refusing[row] <= candidate.cures for row in candidate.nodes)


def collect(decision: Decision) -> Collected:
    """Ask the reasons of a decision what could cure them."""
    found: dict[bytes, Candidate] = {}
    encoder = msgspec.json.Encoder(order="deterministic")

    def take(remedy: Remedy, plugin: str, row: int) -> None:
        candidate = found.setdefault(encoder.encode(remedy.changes), Candidate(remedy))
        candidate.cures.add(plugin)
        if row >= 0:
            candidate.nodes.add(row)

    for plugin, remedy in _before_nodes(decision):
        take(remedy, plugin, -1)
    refusing: dict[int, frozenset[str]] = {}
    for row in representatives(decision):
        reasons = decision.verdict(row).reasons
        refusing[row] = frozenset(plugin for plugin, _ in reasons)
        context = RemedyContext(decision.pod, decision.cluster, decision.release, row)
        for plugin, said in reasons:
            for reason in said:
                for remedy in reason.operands.remedies(context) if reason.operands is not None else ():
                    take(remedy, plugin, row)
    return Collected(tuple(found.values()), refusing)


def _before_nodes(decision: Decision) -> Iterator[tuple[str, Remedy]]:
    """What the plugins propose that turned the pod away, or narrowed the nodes down, before any was looked at."""
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
    """The rows of nodes that stand for all that turn the pod away: of those that say the same the closest."""
    statuses = decision.statuses
    if statuses is None:
        return
    rows = np.flatnonzero(statuses.code != 0)
    if len(rows) <= FEW_NODES:
        yield from rows.tolist()
        return
    for group in _alike(decision, rows):
        # Where the first lacks no amount, none of the others does.
        if _shortfall(decision, group[0]):
            group.sort(key=lambda row: _shortfall(decision, row))
        yield from group[:_REPRESENTATIVES]


def _alike(decision: Decision, rows: Rows) -> list[list[int]]:
    """The nodes in groups by what every filter says of them, those with the fewest filters against it first."""
    statuses = decision.statuses
    assert statuses is not None
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for row in rows.tolist():
        found = statuses.deciding(row)
        if found is None:
            groups[()].append(row)
            continue
        run, world = found
        key = tuple((plugin, int(said.reason[world])) for plugin, said in run.rejections.items() if said.code[world])
        groups[key].append(row)
    return [group for _, group in sorted(groups.items(), key=lambda item: (len(item[0]), str(item[0])))]


def _shortfall(decision: Decision, row: int) -> float:
    """How far a node is from having what the pod wants, as shares of that."""
    reasons = (reason for _, said in decision.verdict(row).reasons for reason in said)
    found = (reason.operands.shortfall() for reason in reasons if reason.operands is not None)
    return sum(shortfall.share for shortfall in found if shortfall is not None)
