"""Nodes that are turned away for the same reason, as one row with the numbers in between."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.api.amounts import format_amount
from kschedctl.api.wording import listed
from kschedctl.framework.operands import Shortfall
from kschedctl.report.explain.data import NodeData, ReasonData

#: A number that stands alone, with its unit: not one that is part of a name.
_NUMBER: Final = re.compile(r"(?<![^\s(])(\d+(?:\.\d+)?)((?:[KMGTPE]i)?)(?=[\s,:;)]|$)")
_UNITS: Final = {"": 1, **{f"{prefix}i": 1 << 10 * power for power, prefix in enumerate("KMGTPE", 1)}}
#: Beyond this many wordings nodes share a row all the same.
_MOST_WORDINGS: Final = 4


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes with one reason.

    Attributes
    ----------
    plugin : str
        The plugin that kube-scheduler stops at.
    why : str
        The reason, with ranges where the nodes differ in numbers.
    nodes : tuple of NodeData
        The nodes.
    also : tuple of (str, int)
        What else the nodes are turned away for, and how many of them.
    closest : str
        Which node comes closest and what it lacks; empty where that has no measure.
    """

    plugin: str
    why: str
    nodes: tuple[NodeData, ...]
    also: tuple[tuple[str, int], ...]
    closest: str


def group_nodes(nodes: Iterable[NodeData]) -> tuple[Group, ...]:
    """Group the nodes that do not fit, the largest group first.

    Parameters
    ----------
    nodes : iterable of NodeData
        Nodes; those that fit are left out.
    """
    families: dict[tuple[str, tuple[str, ...]], dict[str, list[NodeData]]] = {}
    for node in nodes:
        if not node.fits:
            deciding = deciding_reasons(node)
            family = families.setdefault((node.plugin, tuple(reason.text for reason in deciding)), {})
            family.setdefault(_NUMBER.sub("#", wording(deciding)), []).append(node)
    groups = []
    for wordings in families.values():
        if len(wordings) <= _MOST_WORDINGS:
            groups += [
                _group(members, merge([wording(deciding_reasons(n)) for n in members])) for members in wordings.values()
            ]
        else:
            groups.append(_of_many_wordings([node for members in wordings.values() for node in members]))
    return tuple(sorted(groups, key=lambda group: -len(group.nodes)))


def deciding_reasons(node: NodeData) -> tuple[ReasonData, ...]:
    """The reasons of the plugin that kube-scheduler stops at."""
    return tuple(reason for reason in node.reasons if reason.plugin == node.plugin)


def wording(reasons: Sequence[ReasonData]) -> str:
    """Reasons, a line each: ours with the numbers, after the scheduler's own where that names the thing."""
    return "\n".join(_worded(reason) for reason in reasons)


def _worded(reason: ReasonData) -> str:
    if not reason.detail:
        return reason.text
    # "node(s) ..." is made for counting nodes and says less than the detail.
    return reason.detail if reason.text.startswith("node(s)") else f"{reason.text}: {reason.detail}"


def merge(texts: Sequence[str]) -> str:
    """One line for lines that differ in numbers alone.

    Examples
    --------
    >>> merge(["wants 2 cpu, free 0.1 of 4", "wants 2 cpu, free 1.6 of 4"])
    'wants 2 cpu, free 0.1 to 1.6 of 4'
    """
    found = [_NUMBER.findall(text) for text in texts]
    ranges = []
    for column in zip(*found, strict=True):
        ordered = sorted(set(column), key=lambda number: float(number[0]) * _UNITS[number[1]])
        low, high = "".join(ordered[0]), "".join(ordered[-1])
        ranges.append(low if low == high else f"{low} to {high}")
    replacements = iter(ranges)
    return _NUMBER.sub(lambda _: next(replacements), texts[0])


def _of_many_wordings(nodes: list[NodeData]) -> Group:
    first = wording(deciding_reasons(nodes[0]))
    return _group(nodes, f"{first} ({nodes[0].name}; the others alike)")


def _group(nodes: list[NodeData], why: str) -> Group:
    also: dict[str, list[str]] = {}
    for node in nodes:
        for reason in node.reasons:
            if reason.plugin != node.plugin:
                also.setdefault(reason.text, []).append(wording((reason,)))
    common = sorted(also.items(), key=lambda item: -len(item[1]))
    others = tuple((_merged(texts, text), len(texts)) for text, texts in common)
    return Group(nodes[0].plugin, why, tuple(nodes), others, _closest(nodes))


def _merged(texts: Sequence[str], otherwise: str) -> str:
    """One line for several where they differ in numbers alone, else what they have in common."""
    return merge(texts) if len({_NUMBER.sub("#", text) for text in texts}) == 1 else otherwise


def _closest(nodes: Sequence[NodeData]) -> str:
    """The node that lacks the smallest share of what is requested, where resources are all that decides."""
    best: tuple[float, str, list[str]] | None = None
    for node in nodes:
        lacking = [_shortfall(reason) for reason in deciding_reasons(node)]
        known = [shortfall for shortfall in lacking if shortfall is not None]
        if len(known) != len(lacking):
            return ""
        share = max(shortfall.share for shortfall in known)
        if best is None or share < best[0]:
            best = (share, node.name, [_lacks(shortfall) for shortfall in known])
    if best is None or len(nodes) < 2 or best[0] >= 1:
        return ""
    return f"{best[1]} lacks {listed(best[2])}"


def _shortfall(reason: ReasonData) -> Shortfall | None:
    return reason.operands.shortfall() if reason.operands is not None else None


def _lacks(shortfall: Shortfall) -> str:
    return f"{format_amount(shortfall.resource, shortfall.lacking)} {shortfall.resource}"
