"""Scoring: the Score plugins run over the feasible nodes, normalised, weighted and added up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kschedctl.api.pod import Pod
from kschedctl.arrays import Int64Array
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.extension_point import ExtensionPoint
from kschedctl.framework.interface import MAX_NODE_SCORE, PluginError, PreScorePlugin, ScorePlugin
from kschedctl.framework.runtime import Framework
from kschedctl.framework.status import Code


@dataclass(frozen=True, slots=True)
class Scores:
    """What the Score plugins gave the feasible nodes.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_rows,)
        The feasible nodes.
    raw, normalized : mapping of str to ndarray of int64, shape (n_rows,)
        Per plugin the score it returned, and the same brought into 0..100.
    weights : mapping of str to int
        The profile's weights.
    total : ndarray of int64, shape (n_rows,)
        The weighted sum.
    """

    rows: Int64Array
    raw: Mapping[str, Int64Array]
    normalized: Mapping[str, Int64Array]
    weights: Mapping[str, int]
    total: Int64Array


def run_score(
    framework: Framework, state: CycleState, pod: Pod, rows: Int64Array, scorers: Framework | None = None
) -> Scores:
    """Score feasible nodes.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_rows,)
        The nodes.
    scorers : Framework, optional
        The same profile over nodes that Score shall see otherwise than PreScore; by default both see the same.

    Raises
    ------
    PluginError
        Where a plugin ends the cycle with an error.
    """
    for pre_scorer in framework.plugins(ExtensionPoint.PRE_SCORE, PreScorePlugin):
        status = pre_scorer.pre_score(state, pod, rows)
        if status.code is Code.SKIP:
            state.skip_score_plugins.add(pre_scorer.name)
        elif status.code is not Code.SUCCESS:
            raise PluginError(f'running PreScore plugin "{pre_scorer.name}": {status.message}')
    raw: dict[str, Int64Array] = {}
    normalized: dict[str, Int64Array] = {}
    total = np.zeros(len(rows), dtype=np.int64)
    for scorer in (scorers or framework).plugins(ExtensionPoint.SCORE, ScorePlugin):
        if scorer.name in state.skip_score_plugins:
            continue
        try:
            raw[scorer.name] = scorer.score(state, pod, rows)
        except PluginError as error:
            raise PluginError(f'running Score plugins: plugin "{scorer.name}" failed with: {error}') from None
        scores = normalized[scorer.name] = scorer.normalize_score(state, pod, raw[scorer.name])
        invalid = scores[(scores < 0) | (scores > MAX_NODE_SCORE)]
        if len(invalid):
            raise PluginError(
                f'applying score defaultWeights on Score plugins: plugin "{scorer.name}" returns an invalid score '
                f"{invalid[0]}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
            )
        total += scores * framework.profile.weights[scorer.name]
    return Scores(rows, raw, normalized, {name: framework.profile.weights[name] for name in raw}, total)
