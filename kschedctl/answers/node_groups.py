"""Nodes that are turned away for the same reason, as one row with the numbers in between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.answers.explain import NodeData, ReasonData
from kschedctl.answers.merging import shape, together
from kschedctl.api.amounts import format_amount
from kschedctl.api.wording import listed
from kschedctl.framework.operands import Shortfall
from kschedctl.text.printable import printable

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
    also : tuple of (str, int)
        What else the nodes are turned away for, and how many of them.
    closest, closest_node : str
        Which node comes closest and what it lacks, or that none could hold the pod; empty where that has no measure.
    """

    plugin: str
    why: str
    nodes: tuple[NodeData, ...]
    also: tuple[tuple[str, int], ...]
    closest: str
    closest_node: str


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
            family.setdefault(shape(wording(deciding)), []).append(node)
    groups = []
    for wordings in families.values():
        if len(wordings) <= _MOST_WORDINGS:
            groups += [
                _group(members, together([wording(deciding_reasons(n)) for n in members]))
                for members in wordings.values()
            ]
        else:
            every = [node for members in wordings.values() for node in members]
            groups.append(_group(every, together([wording(deciding_reasons(node)) for node in every])))
    return tuple(sorted(groups, key=lambda group: -len(group.nodes)))


def deciding_reasons(node: NodeData) -> tuple[ReasonData, ...]:
    """The reasons of the plugin that kube-scheduler stops at."""
    return tuple(reason for reason in node.reasons if reason.plugin == node.plugin)


def wording(reasons: Sequence[ReasonData]) -> str:
    """Reasons, a line each: ours with the numbers, after the scheduler's own where that names the thing."""
    return "\n".join(_worded(reason) for reason in reasons)


def _worded(reason: ReasonData) -> str:
    # "node(s) ..." is made for counting nodes and says less than the detail.
    says_less = not reason.text or reason.text.startswith("node(s)")
    detailed = reason.detail if says_less else f"{reason.text}: {reason.detail}"
    # One line each: a name that holds a newline does not make another one.
    return printable(detailed if reason.detail else reason.text)


def _group(nodes: list[NodeData], why: str) -> Group:
    also: dict[str, list[str]] = {}
    for node in nodes:
        for reason in node.reasons:
            if reason.plugin != node.plugin:
                also.setdefault(reason.text, []).append(wording((reason,)))
    common = sorted(also.items(), key=lambda item: -len(item[1]))
    others = tuple((together(texts), len(texts)) for _, texts in common)
    return Group(nodes[0].plugin, why, tuple(nodes), others, *_closest(nodes))


def _closest(nodes: Sequence[NodeData]) -> tuple[str, str]:
    """The node that lacks the smallest share of what is requested, where resources are all that decides.

    A node that could not hold the pod if it were empty is not close.
    """
    best: tuple[float, str, list[str]] | None = None
    hopeless: list[Shortfall] = []
    for node in nodes:
        lacking = [_shortfall(reason) for reason in deciding_reasons(node)]
        known = [shortfall for shortfall in lacking if shortfall is not None]
        if len(known) != len(lacking):
            return "", ""
        never = [shortfall for shortfall in known if shortfall.hopeless]
        hopeless += never
        share = max(shortfall.share for shortfall in known)
        if not never and (best is None or share < best[0]):
            best = (share, node.name, [_lacks(shortfall) for shortfall in known])
    if best is None:
        return _hopeless(hopeless) if len(nodes) > 1 else "", ""
    if len(nodes) < 2 or best[0] >= 1:
        return "", ""
    return f"closest: {best[1]} lacks {listed(best[2])}", best[1]


def _hopeless(shortfalls: Sequence[Shortfall]) -> str:
    """That no node could hold the pod if it were empty; nothing where they all do not have the resource at all."""
    largest = max(shortfalls, key=lambda shortfall: shortfall.offered / shortfall.wanted, default=None)
    if largest is None or not largest.offered:
        return ""
    return f"none could hold it even empty: the largest offers {amount(largest.resource, largest.offered)}"


def _shortfall(reason: ReasonData) -> Shortfall | None:
    return reason.operands.shortfall() if reason.operands is not None else None


def _lacks(shortfall: Shortfall) -> str:
    return amount(shortfall.resource, shortfall.lacking)


def amount(resource: str, number: int) -> str:
    """An amount with its unit and resource.

    Parameters
    ----------
    resource : str
        Its name.
    number : int
        Milli-CPU, bytes or a count.
    """
    return f"{format_amount(resource, number)} {resource}"
