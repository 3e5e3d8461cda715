"""The score tables: what decides between the nodes that fit."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from kschedctl.api.wording import counted
from kschedctl.report.explain.data import ScoresData
from kschedctl.report.render import layout

if TYPE_CHECKING:
    from rich.console import Console

#: How many nodes are shown where not all are asked for, in short and in full.
_SHORT: Final = 5
_FULL: Final = 2
_GAP: Final = 2
_WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def print_scores(console: Console, scores: ScoresData, best: Collection[str], *, every_node: bool) -> None:
    """Print a row per node with the weighted scores; plugins that rate all nodes alike are told below.

    Parameters
    ----------
    console : Console
        Where to.
    scores : ScoresData
        The scores.
    best : collection of str
        The nodes that the pod can go to.
    every_node : bool
        Whether all nodes are shown instead of the first few.
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
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    if sum(widths) + _GAP * (len(widths) + 1) > console.width:
        headings[2:] = [_WORDS.sub("\n", heading) for heading in headings[2:]]
    styles = ["bold" if node.name in best else "" for node in shown]
    layout.table(console, headings, rows, numeric=range(1, len(headings)), styles=styles)
    if alike:
        # What gives nothing to anyone needs no words.
        same = ", ".join(f"{plugin} {score}" for plugin, score in alike.items() if score)
        if same:
            every = "every node" if len(scores.nodes) > 1 else "the node"
            layout.paragraph(console, f"{every} gets: {same}", "dim", indent=_GAP)
    _print_rest(console, scores, len(shown))


def _heading(plugin: str, weight: int) -> str:
    return plugin if weight == 1 else f"{plugin} x{weight}"


def print_scores_in_full(console: Console, scores: ScoresData, *, every_node: bool = False, only: str = "") -> None:
    """Print a row per node and plugin: raw, normalised, weight and score.

    Parameters
    ----------
    console : Console
        Where to.
    scores : ScoresData
        The scores.
    every_node : bool
        Whether all nodes are shown instead of the best and the next.
    only : str
        The only node to show; empty for more.
    """
    shown = scores.nodes if every_node else scores.nodes[:_FULL]
    if only:
        shown = tuple(node for node in scores.nodes if node.name == only)
    rows = []
    styles = []
    for node in shown:
        for i, (plugin, score) in enumerate(node.plugins.items()):
            weight = f"x{scores.weights[plugin]}"
            numbers = (str(score.raw), str(score.normalized), weight, str(score.weighted))
            rows.append((node.name if i == 0 else "", plugin, *numbers))
            styles.append("")
        rows.append(("", "total", "", "", "", str(node.total)))
        styles.append("bold")
    layout.table(
        console, ("node", "plugin", "raw", "normalised", "weight", "score"), rows, numeric=range(2, 6), styles=styles
    )
    if not only:
        _print_rest(console, scores, len(shown))


def _print_rest(console: Console, scores: ScoresData, n_shown: int) -> None:
    rest = scores.nodes[n_shown:]
    if rest:
        low, high = rest[-1].total, rest[0].total
        span = f"{high}" if low == high else f"{low} to {high}"
        layout.paragraph(console, f"and {counted(len(rest), 'node')} more with {span}", "dim", indent=_GAP)
