"""How the score of one node came about, plugin by plugin, and what the filters compared on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from kschedctl.framework.arithmetic import Arithmetic, Step
from kschedctl.framework.checks import FilterCheck
from kschedctl.framework.extender import MAX_EXTENDER_PRIORITY
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.interface import MAX_NODE_SCORE, FilterPlugin, ScorePlugin
from kschedctl.framework.scoring import Scores
from kschedctl.scheduler.decision import Decision

_SCALE: Final = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY


class ExtenderPoints(Arithmetic, frozen=True):
    """What an extender gives, brought to what plugins give.

    Attributes
    ----------
    given : int
        The extender's points, up to 10.
    """

    given: int

    def formula(self) -> str:
        """That it is scaled."""
        return f"{_SCALE} * what the extender gives"

    def steps(self) -> Iterator[Step]:
        """One."""
        yield Step("normalised", f"{_SCALE} * {self.given}", _SCALE * self.given)


@dataclass(frozen=True, slots=True)
class ScoreStory:
    """One plugin's score of a node.

    Attributes
    ----------
    plugin : str
        The plugin, or the address of an extender.
    raw, normalized, weight : int
        The score that it returned, the same brought into 0..100, and its weight.
    score, normalizing : Arithmetic or None
        How these came about; ``None`` where the plugin does not say, or there is nothing to normalise.
    """

    plugin: str
    raw: int
    normalized: int
    weight: int
    score: Arithmetic | None
    normalizing: Arithmetic | None


def score_story(decision: Decision, row: int) -> tuple[ScoreStory, ...]:
    """How the score of a node came about.

    Parameters
    ----------
    row : int
        The node; where it was not scored there is nothing to tell.
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
        # Points that overflow come round.
        normalizing = ExtenderPoints(raw) if _SCALE * raw == normalized else None
    return ScoreStory(name, raw, normalized, scores.weights[name], of_plugin, normalizing)


def filter_story(decision: Decision, row: int) -> dict[str, tuple[FilterCheck, ...]]:
    """What the filters compared on a node, by plugin in their order; only those that say so.

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
