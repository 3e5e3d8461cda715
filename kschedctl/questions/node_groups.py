"""Groups of nodes that are rejected for the same reason, each as one row with ranges of numbers."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final

import msgspec

from kschedctl.common.text.characters import printable
from kschedctl.common.text.patterns import pattern
from kschedctl.common.wording import counted, listed
from kschedctl.objects.resources import format_amount
from kschedctl.questions.explain.answer import NodeData, ReasonData
from kschedctl.scheduler.framework.operands import Shortfall

# Merging of texts about many nodes into one line: shared words once, differing values with their counts.

#: A number with its unit, as a word of its own and not as part of a name.
NUMBER: Final = pattern(r"(?<![^\s(])(\d+(?:\.\d+)?)((?:[KMGTPE]i)?)(?=[\s,:;)]|$)")
_UNITS: Final = {"": 1, **{f"{prefix}i": 1 << 10 * power for power, prefix in enumerate("KMGTPE", 1)}}
#: The number of differing values that are listed; the rest is counted.
_NAMED: Final = 3
#: The number of places in which texts may differ and still be merged word by word.
_MOST_PLACES: Final = 2
_WORD: Final = pattern(r"\s*\S+")
_ENDING: Final = pattern(r"[,;:)]*$")


def shape(text: str) -> str:
    """Return the text with its numbers replaced by ``#``; texts of one shape differ only in numbers."""
    return NUMBER.sub("#", text)


def merge(texts: Sequence[str]) -> str:
    """Merge texts that differ only in numbers into one, with ranges of numbers.

    >>> merge(["wants 2 cpu, free 0.1 of 4", "wants 2 cpu, free 1.6 of 4"])
    'wants 2 cpu, free 0.1 to 1.6 of 4'
    """
    found = [NUMBER.findall(text) for text in texts]
    ranges = []
    for column in zip(*found, strict=True):
        ordered = sorted(set(column), key=lambda number: float(number[0]) * _UNITS[number[1]])
        low, high = "".join(ordered[0]), "".join(ordered[-1])
        ranges.append(low if low == high else f"{low} to {high}")
    replacements = iter(ranges)
    return NUMBER.sub(lambda _: next(replacements), texts[0])


def together(texts: Sequence[str]) -> str:
    """Merge the texts about several nodes into one line.

    Args:
        texts: One text per node; at least one.

    >>> together(["has disk=hdd, free 2 of 4", "has disk=ssd, free 1 of 4", "has disk=hdd, free 3 of 4"])
    'has disk=hdd (2) or ssd (1), free 1 to 3 of 4'
    """
    shapes = Counter(map(shape, texts))
    if len(shapes) == 1:
        return merge(texts)
    words = [_WORD.findall(text) for text in texts]
    if len({len(own) for own in words}) == 1:
        columns = list(zip(*words, strict=True))
        differing = [column for column in columns if len(set(map(shape, column))) > 1]
        if len(differing) <= _MOST_PLACES:
            return "".join(merge(column) if column not in differing else _values(column) for column in columns)
    start, end = _common(words), _common([own[::-1] for own in words])
    shortest = min(map(len, words))
    if 2 * (start + end) >= shortest > start + end:
        parts = [("".join(w[:start]), "".join(w[start : len(w) - end]), "".join(w[len(w) - end :])) for w in words]
        first, middle, last = zip(*parts, strict=True)
        # A value in a sentence contains no part of another clause.
        if all(";" not in text.rstrip(";") and text.count("(") == text.count(")") for text in middle):
            return f"{merge(first)}{_values(middle)}{merge(last)}"
    # The texts have too little in common: only the most frequent shape is shown, the others are counted.
    (commonest, number), *others = shapes.most_common()
    told = merge([text for text in texts if shape(text) == commonest])
    rest = sum(n for _, n in others)
    ending = "with another reason" if len(others) == 1 else "with other reasons"
    return f"{told} ({counted(number, 'node')}; {rest} {ending})"


def _common(words: Sequence[Sequence[str]]) -> int:
    """Return the number of words that all texts share at their beginning, numbers aside."""
    return sum(1 for _ in takewhile(lambda column: len(set(map(shape, column))) == 1, zip(*words, strict=False)))


def _values(phrases: Sequence[str]) -> str:
    """Join the phrases of one place with their counts, most frequent first; numbers in them become ranges."""
    alike: dict[str, list[str]] = {}
    for phrase in phrases:
        alike.setdefault(shape(phrase), []).append(phrase)
    ordered = sorted((merge(same), len(same)) for same in alike.values())
    ordered.sort(key=lambda item: -item[1])
    texts = [text for text, _ in ordered]
    space = texts[0][: len(texts[0]) - len(texts[0].lstrip())]
    ending = _ENDING.search(texts[0])
    end = ending[0] if ending and all(text.endswith(ending[0]) for text in texts) else ""
    bare = [text.strip().removesuffix(end) for text in texts]
    # A shared beginning is printed once; it ends at "=", so that no name is cut in two.
    start = "".join(c[0] for c in takewhile(lambda column: len(set(column)) == 1, zip(*bare, strict=False)))
    start = start[: start.rfind("=") + 1]
    named = [
        f"{text.removeprefix(start)} ({number})" for text, (_, number) in zip(bare[:_NAMED], ordered, strict=False)
    ]
    if len(bare) > _NAMED:
        named.append(f"{len(bare) - _NAMED} others ({sum(number for _, number in ordered[_NAMED:])})")
    return f"{space}{start}{', '.join(named[:-1])} or {named[-1]}{end}"


#: The generated end of the name of a replica (apimachinery ``utilrand.String``).
_GENERATED: Final = pattern(r"(?<=\w)-[bcdfghjklmnpqrstvwxz2456789]{5}(?=\s|$)")
#: The number of wordings up to which each has its own row; with more, all nodes share one.
_MOST_WORDINGS: Final = 4


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes that are rejected for the same reason."""

    #: The plugin that rejects the nodes: the first one to do so, at which kube-scheduler stops.
    plugin: str
    #: The reason, with ranges where the nodes differ in numbers.
    why: str
    nodes: tuple[NodeData, ...]
    #: The reasons of further plugins that reject some of the nodes, each with its number of nodes.
    also: tuple[tuple[str, int], ...]
    #: The node that comes closest and what it lacks, or a note that none could hold the pod; empty if the reason
    #: cannot be measured.
    closest: str


def group_nodes(nodes: Iterable[NodeData]) -> tuple[NodeGroup, ...]:
    """Group the nodes that do not fit, largest group first."""
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
                _group_of_nodes(members, together([wording(deciding_reasons(n)) for n in members]))
                for members in wordings.values()
            ]
        else:
            every = [node for members in wordings.values() for node in members]
            groups.append(_group_of_nodes(every, together([wording(deciding_reasons(node)) for node in every])))
    return tuple(sorted(groups, key=lambda group: -len(group.nodes)))


def _likeness(node: NodeData, text: str) -> str:
    """Return a text without what differs between nodes and between replicas: numbers and generated names."""
    own = f"={node.name}"
    # Hardly any text has the node's name, and an expression for each node takes longer than all texts.
    if own in text:
        text = re.sub(rf"{re.escape(own)}(?=[\s:,;]|$)", "=#", text)
    return shape(_GENERATED.sub("-#", text))


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


def _group_of_nodes(nodes: list[NodeData], why: str) -> NodeGroup:
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

    Args:
        nodes: The nodes that the pod does not fit on; at least one.
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
            best = (share, node.name, [amount(shortfall.resource, shortfall.lacking) for shortfall in known])
    if len(nodes) < 2:
        return ""
    if best is not None:
        return f"closest: {best[1]} lacks {listed(best[2])}" if best[0] < 1 else ""
    largest = max(hopeless, key=lambda shortfall: shortfall.offered / shortfall.wanted, default=None)
    if largest is None or not largest.offered:
        return ""
    return f"no node could hold the pod even if empty: the largest has {amount(largest.resource, largest.offered)}"


def _shortfall(reason: ReasonData) -> Shortfall | None:
    return reason.operands.shortfall() if reason.operands is not None else None


def amount(resource: str, number: int) -> str:
    """Format an amount with its unit and resource.

    Args:
        number: The amount in milli-CPU, bytes or a count.
    """
    return f"{format_amount(resource, number)} {resource}"
