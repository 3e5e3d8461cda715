"""Scoring: the Score plugins run over the feasible nodes, and their scores are normalised, weighted and summed."""

from collections.abc import Mapping
from functools import partial
from typing import cast

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE, PluginError, PreScorePlugin, ScorePlugin
from kschedctl.scheduler.framework.result_cache import CachedResults
from kschedctl.scheduler.framework.runtime import Framework
from kschedctl.scheduler.framework.status import Code, Status


class Scores(msgspec.Struct, frozen=True):
    """The scores of the feasible nodes."""

    #: The feasible nodes.
    rows: Int64Array
    #: The raw scores of each plugin, and the same scores scaled to 0..100.
    raw: Mapping[str, Int64Array]
    normalized: Mapping[str, Int64Array]
    #: The profile's weights.
    weights: Mapping[str, int]
    #: The weighted sum.
    total: Int64Array
    #: The profile over the nodes as Score saw them.
    scorers: Framework


def run_score(
    framework: Framework, state: CycleState, pod: Pod, rows: Int64Array, scorers: Framework | None = None
) -> Scores:
    """Score feasible nodes.

    Args:
        scorers: The same profile over the nodes as Score sees them, if they differ from PreScore's; by default both
            are equal.

    Raises PluginError if a plugin ends the cycle with an error.
    """
    if not framework.plugin_names(ExtensionPoint.SCORE, ScorePlugin) and not framework.handle.extenders:
        # All nodes are equal, and PreScore does not run either.
        return Scores(rows, {}, {}, {}, np.zeros(len(rows), dtype=np.int64), scorers or framework)
    kept, ask, weights = state.read(CachedResults), partial(_pre_score, framework), framework.profile.weights
    for name in framework.plugin_names(ExtensionPoint.PRE_SCORE, PreScorePlugin):
        if kept is None or framework.plugin_class(name).prepares_from is None:
            status = ask(name, state, pod, rows)
        else:
            status = kept.pre_score(name, state, pod, rows, ask)
        if status.code is Code.SKIP:
            state.skip_score_plugins.add(name)
        elif status.code is not Code.SUCCESS:
            raise PluginError(f'running PreScore plugin "{name}": {status.message}')
    raw: dict[str, Int64Array] = {}
    normalized: dict[str, Int64Array] = {}
    if scorers is not None:
        # Cached results are for the nodes as PreScore saw them.
        kept = None
    scorers = scorers or framework
    for name in scorers.plugin_names(ExtensionPoint.SCORE, ScorePlugin):
        if name in state.skip_score_plugins:
            continue
        try:
            give = partial(_score, scorers, name, state, pod)
            raw[name] = give(rows) if kept is None else kept.score(name, state, pod, rows, give)
        except PluginError as error:
            raise PluginError(f'running Score plugins: plugin "{name}" failed with: {error}') from None
        bring = partial(normalized_scores, scorers, name, state, pod, raw[name])
        normalized[name] = bring() if kept is None else kept.normalized(name, raw[name], bring)
    parts = [(name, scores, weights[name]) for name, scores in normalized.items()]
    if kept is not None:
        total = kept.total(parts, len(rows))
    else:
        total = sum((scores * weight for _, scores, weight in parts), start=np.zeros(len(rows), dtype=np.int64))
    return Scores(rows, raw, normalized, {name: weights[name] for name in raw}, total, scorers)


def _pre_score(framework: Framework, name: str, state: CycleState, pod: Pod, rows: Int64Array) -> Status:
    return cast("PreScorePlugin", framework.plugin(name)).pre_score(state, pod, rows)


def _score(framework: Framework, name: str, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
    return cast("ScorePlugin", framework.plugin(name)).score(state, pod, rows)


def normalized_scores(framework: Framework, name: str, state: CycleState, pod: Pod, raw: Int64Array) -> Int64Array:
    """Return a plugin's raw scores scaled to 0..100.

    Raises PluginError if the plugin returns a score outside this range.
    """
    return within_range(name, cast("ScorePlugin", framework.plugin(name)).normalize_score(state, pod, raw))


def within_range(name: str, scores: Int64Array) -> Int64Array:
    """Return a plugin's scores.

    Raises PluginError if one of them is outside 0..100.
    """
    if np.minimum.reduce(scores, initial=0) < 0 or np.maximum.reduce(scores, initial=0) > MAX_NODE_SCORE:
        invalid = scores[(scores < 0) | (scores > MAX_NODE_SCORE)]
        raise PluginError(
            f'applying score defaultWeights on Score plugins: plugin "{name}" returns an invalid score '
            f"{invalid[0]}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
        )
    return scores
