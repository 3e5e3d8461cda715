"""The score tables: the scores that decide between the nodes that fit."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kschedctl.common.wording import counted
from kschedctl.questions.answers.explain import ScoresData
from kschedctl.questions.presentation.document import INDENT, Document, Paragraph, table
from kschedctl.questions.presentation.tone import Tone

#: The number of nodes in the short and in the full table, unless all are requested.
_SHORT: Final = 5
_FULL: Final = 2


def scores_section(scores: ScoresData, best: Collection[str], *, every_node: bool) -> Document:
    """Lay out a row per node with the weighted scores; plugins with equal scores for all nodes are listed below.

    Parameters
    ----------
    best : collection of str
        The nodes with the highest score.
    every_node : bool
        True to show all nodes instead of the first 5.
    """
    alike = {}
    plugins = []
    for plugin in scores.weights:
        weighted = {node.plugins[plugin].weighted for node in scores.nodes}
        if len(weighted) == 1:
            alike[plugin] = weighted.pop()
        else:
            plugins.append(plugin)
    shown = scores.nodes if every_node else scores.nodes[:_SHORT]
    rows = [(node.name, str(node.total), *(str(node.plugins[plugin].weighted) for plugin in plugins)) for node in shown]
    headings = ["node", "score", *(_heading(plugin, scores.weights[plugin]) for plugin in plugins)]
    tones = [Tone.STRONG if node.name in best else Tone.PLAIN for node in shown]
    yield table(headings, rows, numeric=range(1, len(headings)), tones=tones, names_split=True, identifiers=(0,))
    if alike:
        # Plugins that score 0 for every node are not mentioned.
        same = ", ".join(f"{plugin} {score}" for plugin, score in alike.items() if score)
        if same:
            every = "every node" if len(scores.nodes) > 1 else "the node"
            yield Paragraph(f"{every} gets: {same}", Tone.FAINT, indent=INDENT)
    yield from _rest_section(scores, len(shown))


def _heading(plugin: str, weight: int) -> str:
    return plugin if weight == 1 else f"{plugin} x{weight}"


def scores_in_full(scores: ScoresData, *, every_node: bool = False, only: str = "") -> Document:
    """Lay out a row per node and plugin: raw score, normalised score, weight and weighted score.

    Parameters
    ----------
    every_node : bool
        True to show all nodes instead of the first 2.
    only : str
        The only node to show; empty for no restriction.
    """
    shown = scores.nodes if every_node else scores.nodes[:_FULL]
    if only:
        shown = tuple(node for node in scores.nodes if node.name == only)
    rows = []
    tones = []
    for node in shown:
        for i, (plugin, score) in enumerate(node.plugins.items()):
            weight = f"x{scores.weights[plugin]}"
            numbers = (str(score.raw), str(score.normalized), weight, str(score.weighted))
            rows.append((node.name if i == 0 else "", plugin, *numbers))
            tones.append(Tone.PLAIN)
        rows.append(("", "total", "", "", "", str(node.total)))
        tones.append(Tone.STRONG)
    headings = ("node", "plugin", "raw", "normalised", "weight", "score")
    yield table(headings, rows, numeric=range(2, 6), tones=tones, identifiers=(0,))
    if not only:
        yield from _rest_section(scores, len(shown))
        yield from _lead_section(scores)


def _lead_section(scores: ScoresData) -> Document:
    lead = scores.lead
    if lead is None:
        return
    points = counted(lead.points, "point")
    apart = ", ".join(f"{plugin} {more:+}" for plugin, more in lead.plugins.items())
    yield Paragraph(f"{scores.nodes[0].name} is {points} ahead of {lead.over[0]}: {apart}", Tone.FAINT, indent=INDENT)


def _rest_section(scores: ScoresData, n_shown: int) -> Document:
    rest = scores.nodes[n_shown:]
    if not rest:
        return
    best = scores.nodes[0].total
    equal = sum(node.total == best for node in rest)
    said = [f"{counted(equal, 'more node')} with {best}"] if equal else []
    if equal < len(rest):
        low, high = rest[-1].total, rest[equal].total
        span = f"{high}" if low == high else f"{low} to {high}"
        number = len(rest) - equal
        said.append(f"{number} with {span}" if equal else f"{counted(number, 'more node')} with {span}")
    yield Paragraph(f"and {', '.join(said)}", Tone.FAINT, indent=INDENT)
