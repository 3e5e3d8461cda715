"""Groups of nodes that are rejected for the same reason, each as one row with ranges of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from kschedctl.common.text.characters import printable
from kschedctl.common.wording import listed
from kschedctl.objects.resources import format_amount
from kschedctl.questions.answers.explain import NodeData, ReasonData
from kschedctl.questions.answers.merged_text import shape, together
from kschedctl.scheduler.framework.remedy import Shortfall

#: The generated end of the name of a replica (apimachinery ``utilrand.String``).
_GENERATED: Final = re.compile(r"(?<=\w)-[bcdfghjklmnpqrstvwxz2456789]{5}(?=\s|$)")
#: The number of wordings up to which each has its own row; with more, all nodes share one.
_MOST_WORDINGS: Final = 4


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes that are rejected for the same reason.

    Attributes
    ----------
    plugin : str
        The plugin that rejects the nodes: the first one to do so, at which kube-scheduler stops.
    why : str
        The reason, with ranges where the nodes differ in numbers.
    also : tuple of (str, int)
        The reasons of further plugins that reject some of the nodes, each with its number of nodes.
    closest : str
        The node that comes closest and what it lacks, or a note that none could hold the pod; empty if the reason
        cannot be measured.
    """

    plugin: str
    why: str
    nodes: tuple[NodeData, ...]
    also: tuple[tuple[str, int], ...]
    closest: str


def group_nodes(nodes: Iterable[NodeData]) -> tuple[NodeGroup, ...]:
    """Group the nodes that do not fit, largest group first.

    Parameters
    ----------
    nodes : iterable of NodeData
        Nodes; those that fit are ignored.
    """
    families: dict[tuple[str, tuple[str, ...]], dict[str, list[NodeData]]] = {}
    for node in nodes:
        if not node.fits:
            deciding = deciding_reasons(node)
            family = families.setdefault((node.plugin, tuple(reason.text for reason in deciding)), {})
            family.setdefault(_likeness(node, wording(deciding)), []).append(node)
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


def _likeness(node: NodeData, text: str) -> str:
    """Return a text without what differs between nodes and between replicas: numbers and generated names."""
    return shape(_GENERATED.sub("-#", re.sub(rf"={re.escape(node.name)}(?=[\s:,;]|$)", "=#", text)))


def deciding_reasons(node: NodeData) -> tuple[ReasonData, ...]:
    """Return the reasons of the plugin at which kube-scheduler stops."""
    return tuple(reason for reason in node.reasons if reason.plugin == node.plugin)


def wording(reasons: Sequence[ReasonData]) -> str:
    """Return the reasons, one per line: the detail, after the scheduler's own text if that names the subject."""
    return "\n".join(_worded(reason) for reason in reasons)


def _worded(reason: ReasonData) -> str:
    # A text "node(s) ..." is written for counting nodes and has less information than the detail.
    says_less = not reason.text or reason.text.startswith("node(s)")
    detailed = reason.detail if says_less else f"{reason.text}: {reason.detail}"
    # Each reason takes one line, even if a name in it contains a newline.
    return printable(detailed if reason.detail else reason.text)


def _group(nodes: list[NodeData], why: str) -> NodeGroup:
    also: dict[str, list[str]] = {}
    for node in nodes:
        for reason in node.reasons:
            if reason.plugin != node.plugin:
                also.setdefault(reason.text, []).append(wording((reason,)))
    common = sorted(also.items(), key=lambda item: -len(item[1]))
    others = tuple((together(texts), len(texts)) for _, texts in common)
    return NodeGroup(nodes[0].plugin, why, tuple(nodes), others, _closest(nodes))


def nearest_node(nodes: Sequence[NodeData]) -> str:
    """Return the name of the node that the fewest plugins reject; of these, the one that lacks the smallest share.

    A node that could not hold the pod even if it were empty comes after the others. A node that is rejected for reasons
    other than its resources alone comes after one that lacks some. Among equal nodes, the first by name is returned.

    Parameters
    ----------
    nodes : sequence of NodeData
        The nodes that the pod does not fit on; at least one.
    """

    def distance(node: NodeData) -> tuple[int, bool, bool, float, str]:
        known = [shortfall for reason in node.reasons if (shortfall := _shortfall(reason)) is not None]
        share = max((shortfall.share for shortfall in known), default=0.0)
        hopeless = any(shortfall.hopeless for shortfall in known)
        return len({reason.plugin for reason in node.reasons}), hopeless, not known, share, node.name

    return min(nodes, key=distance).name


def _closest(nodes: Sequence[NodeData]) -> str:
    """Return the node that lacks the smallest share of the request and what it lacks, if only resources decide.

    A node that could not hold the pod even if it were empty is not considered close.
    """
    best: tuple[float, str, list[str]] | None = None
    hopeless: list[Shortfall] = []
    for node in nodes:
        lacking = [_shortfall(reason) for reason in deciding_reasons(node)]
        known = [shortfall for shortfall in lacking if shortfall is not None]
        if len(known) != len(lacking):
            return ""
        never = [shortfall for shortfall in known if shortfall.hopeless]
        hopeless += never
        share = max(shortfall.share for shortfall in known)
        if not never and (best is None or share < best[0]):
            best = (share, node.name, [_lacks(shortfall) for shortfall in known])
    if best is None:
        return _hopeless(hopeless) if len(nodes) > 1 else ""
    if len(nodes) < 2 or best[0] >= 1:
        return ""
    return f"closest: {best[1]} lacks {listed(best[2])}"


def _hopeless(shortfalls: Sequence[Shortfall]) -> str:
    """Return a note that no node could hold the pod even if empty; empty if no node has the resource at all."""
    largest = max(shortfalls, key=lambda shortfall: shortfall.offered / shortfall.wanted, default=None)
    if largest is None or not largest.offered:
        return ""
    return f"no node could hold the pod even if empty: the largest has {amount(largest.resource, largest.offered)}"


def _shortfall(reason: ReasonData) -> Shortfall | None:
    return reason.operands.shortfall() if reason.operands is not None else None


def _lacks(shortfall: Shortfall) -> str:
    return amount(shortfall.resource, shortfall.lacking)


def amount(resource: str, number: int) -> str:
    """Format an amount with its unit and resource.

    Parameters
    ----------
    resource : str
        The name of the resource.
    number : int
        The amount in milli-CPU, bytes or a count.
    """
    return f"{format_amount(resource, number)} {resource}"
