"""The full story of one node: its free capacity and users, the filters' comparisons, and the origin of its score."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from kschedctl.objects.resources import CPU, MEMORY, PODS, exact_quantity, pod_requests, scheduler_units
from kschedctl.questions.explain.answer import (
    ArithmeticData,
    FilterCheckData,
    NodeResourceData,
    NodeStoryData,
    PluginStoryData,
    PodUsageData,
    StepData,
)
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.explanation import Arithmetic, FilterCheck, Step
from kschedctl.scheduler.framework.extender import MAX_EXTENDER_PRIORITY
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from kschedctl.scheduler.framework.interface import MAX_NODE_SCORE, FilterPlugin, ScorePlugin
from kschedctl.scheduler.framework.scoring import Scores

# The origin of a node's score, plugin by plugin, and the comparisons that the filters made on the node.

_SCALE: Final = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY


class ExtenderPoints(Arithmetic, frozen=True):
    """The points of an extender, scaled to the range of plugins."""

    #: The extender's points, 0 to 10.
    given: int

    def formula(self) -> str:
        return f"{_SCALE} * the extender's score"

    def steps(self) -> Iterator[Step]:
        yield Step("normalised", f"{_SCALE} * {self.given}", _SCALE * self.given)


@dataclass(frozen=True, slots=True)
class ScoreStory:
    """The origin of one plugin's score of a node."""

    #: The plugin, or the address of an extender.
    plugin: str
    #: The score that the plugin returned, the score normalized to 0..100, and the plugin's weight.
    raw: int
    #: The score that the plugin returned, the score normalized to 0..100, and the plugin's weight.
    normalized: int
    #: The score that the plugin returned, the score normalized to 0..100, and the plugin's weight.
    weight: int
    #: The arithmetic behind the raw and the normalized score; ``None`` if the plugin does not explain it, or does
    #: not normalize.
    score: Arithmetic | None
    #: The arithmetic behind the raw and the normalized score; ``None`` if the plugin does not explain it, or does
    #: not normalize.
    normalizing: Arithmetic | None


def score_story(decision: Decision, row: int) -> tuple[ScoreStory, ...]:
    """Return the origin of a node's score, plugin by plugin.

    Args:
        row: The node; the result is empty if it was not scored.
    """
    scores = decision.scores
    if scores is None:
        return ()
    positions = np.flatnonzero(scores.rows == row).tolist()
    return tuple(_score_story(decision, scores, plugin, row, at) for at in positions for plugin in scores.raw)


def _score_story(decision: Decision, scores: Scores, name: str, row: int, position: int) -> ScoreStory:
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
    """Return the comparisons that filters made on a node, by plugin in order; plugins without any are left out."""
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


#: At most 5 pods of the node are reported.
_MOST: Final = 5


def story_data(decision: Decision, row: int) -> NodeStoryData:
    """Return the full story of a node."""
    wanted = scheduler_units(pod_requests(decision.pod, decision.framework.handle.request_rules))
    resources = [
        *(name for name in (CPU, MEMORY) if name not in wanted),
        *(n for n, amount in wanted.items() if amount),
    ]
    names = sorted(resources, key=lambda name: (name != CPU, name != MEMORY, name))
    told = {**{name: wanted.get(name, 0) for name in names}, PODS: 1}
    pods, n_more = _largest_pods(decision, row, told)
    return NodeStoryData(
        name=decision.cluster.nodes.names[row],
        room=tuple(
            NodeResourceData(
                resource,
                *(
                    exact_quantity(resource, amount)
                    for amount in (offered, requested, asked, offered - requested - asked)
                ),
            )
            for resource, asked in told.items()
            for offered, requested in (_amounts(decision, row, resource),)
        ),
        pods=pods,
        more_pods=n_more,
        checks=tuple(
            FilterCheckData(plugin, check.wanted, check.found, check.holds)
            for plugin, checks in filter_story(decision, row).items()
            for check in checks
        ),
        scores=tuple(
            PluginStoryData(
                story.plugin,
                story.raw,
                story.normalized,
                story.weight,
                story.normalized * story.weight,
                _arithmetic(story.score),
                _arithmetic(story.normalizing),
            )
            for story in score_story(decision, row)
        ),
    )


def _arithmetic(arithmetic: Arithmetic | None) -> ArithmeticData | None:
    if arithmetic is None:
        return None
    steps = (StepData(step.name, step.expression, step.value, step.note) for step in arithmetic.steps())
    return ArithmeticData(arithmetic.formula(), tuple(steps))


def _amounts(decision: Decision, row: int, resource: str) -> tuple[int, int]:
    """Return a node's allocatable amount of a resource, and the amount that its pods request."""
    columns = decision.cluster.resources(decision.framework.handle.request_rules)
    index = columns.index.get(resource)
    return (0, 0) if index is None else (int(columns.allocatable[index, row]), int(columns.requested[index, row]))


def _largest_pods(decision: Decision, row: int, told: Mapping[str, int]) -> tuple[tuple[PodUsageData, ...], int]:
    """Return the 5 pods that request most of the node's fullest resource, and the number of its other pods."""
    cluster = decision.cluster
    columns, pods = cluster.resources(decision.framework.handle.request_rules), cluster.pods
    indices = pods.on_node(row)
    names = [name for name in told if name != PODS and name in columns.index]
    if not len(indices) or not names:
        return (), len(indices)

    def fullness(name: str) -> float:
        offered, requested = _amounts(decision, row, name)
        return (requested + told[name]) / offered if offered else 0.0

    fullest = max(names, key=fullness)
    amounts = columns.per_class[:, pods.class_id[indices]]
    order = np.argsort(-amounts[columns.index[fullest]], kind="stable")
    shown = tuple(
        PodUsageData(
            pods.key(int(indices[at])),
            pods.records[int(indices[at])].priority,
            {name: exact_quantity(name, int(amounts[columns.index[name], at])) for name in (fullest, *names)},
        )
        for at in order[:_MOST].tolist()
    )
    return shown, len(indices) - len(shown)
