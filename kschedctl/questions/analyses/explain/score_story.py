"""The origin of a node's score, plugin by plugin, and the comparisons that the filters made on the node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.explanation import Arithmetic, FilterCheck, Step
from kschedctl.scheduler.framework.extender import MAX_EXTENDER_PRIORITY
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE, FilterPlugin, ScorePlugin
from kschedctl.scheduler.framework.scoring import Scores

_SCALE: Final = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY


class ExtenderPoints(Arithmetic, frozen=True):
    """The points of an extender, scaled to the range of plugins.

    Attributes
    ----------
    given : int
        The extender's points, 0 to 10.
    """

    given: int

    def formula(self) -> str:
        """Return the scaling as text."""
        return f"{_SCALE} * the extender's score"

    def steps(self) -> Iterator[Step]:
        """Yield the single step of scaling."""
        yield Step("normalised", f"{_SCALE} * {self.given}", _SCALE * self.given)


@dataclass(frozen=True, slots=True)
class ScoreStory:
    """The origin of one plugin's score of a node.

    Attributes
    ----------
    plugin : str
        The plugin, or the address of an extender.
    raw, normalized, weight : int
        The score that the plugin returned, the score normalized to 0..100, and the plugin's weight.
    score, normalizing : Arithmetic or None
        The arithmetic behind the raw and the normalized score; ``None`` if the plugin does not explain it, or does not
        normalize.
    """

    plugin: str
    raw: int
    normalized: int
    weight: int
    score: Arithmetic | None
    normalizing: Arithmetic | None


def score_story(decision: Decision, row: int) -> tuple[ScoreStory, ...]:
    """Return the origin of a node's score, plugin by plugin.

    Parameters
    ----------
    row : int
        The node; the result is empty if it was not scored.
    """
    scores = decision.scores
    if scores is None:
        return ()
    positions = np.flatnonzero(scores.rows == row).tolist()
    return tuple(_told(decision, scores, plugin, row, at) for at in positions for plugin in scores.raw)


def _told(decision: Decision, scores: Scores, name: str, row: int, position: int) -> ScoreStory:
    raw, normalized = int(scores.raw[name][position]), int(scores.normalized[name][position])
    of_plugin: Arithmetic | None = None
    if name in scores.scorers.plugin_names(ExtensionPoint.SCORE, ScorePlugin):
        plugin = cast("ScorePlugin", scores.scorers.plugin(name))
        of_plugin = plugin.explain_score(decision.state, decision.pod, row)
        normalizing = plugin.explain_normalize_score(decision.state, decision.pod, scores.raw[name], position)
    else:
        # Points that overflow int64 wrap around.
        normalizing = ExtenderPoints(raw) if _SCALE * raw == normalized else None
    return ScoreStory(name, raw, normalized, scores.weights[name], of_plugin, normalizing)


def filter_story(decision: Decision, row: int) -> dict[str, tuple[FilterCheck, ...]]:
    """Return the comparisons that filters made on a node, by plugin in their order; plugins without any are left out.

    Parameters
    ----------
    row : int
        The node.
    """
    framework, out = decision.framework, {}
    if decision.statuses is None or row not in decision.searched:
        return {}
    for name in framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin):
        if name not in decision.state.skip_filter_plugins:
            plugin = cast("FilterPlugin", framework.plugin(name))
            checks = plugin.explain_filter(decision.state, decision.pod, row)
            if checks:
                out[name] = checks
    return out
