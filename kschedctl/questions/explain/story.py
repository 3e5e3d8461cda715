"""The full story of one node: its free capacity and users, the filters' comparisons, and the origin of its score."""

from collections.abc import Iterator, Mapping
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
from kschedctl.scheduler.framework.explanation import Arithmetic, Step
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


def score_story(decision: Decision, row: int) -> Iterator[PluginStoryData]:
    """Yield the origin of a node's score, plugin by plugin and extender by extender; nothing if it was not scored."""
    scores = decision.scores
    if scores is None:
        return
    for at in np.flatnonzero(scores.rows == row).tolist():
        for name in scores.raw:
            raw, normalized, weight = int(scores.raw[name][at]), int(scores.normalized[name][at]), scores.weights[name]
            explained = map(_arithmetic, score_arithmetic(decision, scores, name, at))
            yield PluginStoryData(name, raw, normalized, weight, normalized * weight, *explained)


def score_arithmetic(
    decision: Decision, scores: Scores, name: str, position: int
) -> tuple[Arithmetic | None, Arithmetic | None]:
    """Return the arithmetic behind a plugin's raw and its normalized score.

    ``None`` stands for a score that the plugin does not explain, or does not normalize.

    Args:
        name: The plugin, or the address of an extender.
        position: The position of the node among the scored ones.
    """
    raw = scores.raw[name]
    if name not in scores.scorers.plugin_names(ExtensionPoint.SCORE, ScorePlugin):
        points = int(raw[position])
        # Points that overflow int64 wrap around.
        return None, ExtenderPoints(points) if _SCALE * points == scores.normalized[name][position] else None
    plugin, state, pod = cast("ScorePlugin", scores.scorers.plugin(name)), decision.state, decision.pod
    of_plugin = plugin.explain_score(state, pod, int(scores.rows[position]))
    return of_plugin, plugin.explain_normalize_score(state, pod, raw, position)


def filter_story(decision: Decision, row: int) -> Iterator[FilterCheckData]:
    """Yield the comparisons that filters made on a node, in the order of the filters."""
    framework = decision.framework
    if decision.statuses is None or row not in decision.searched:
        return
    for name in framework.plugin_names(ExtensionPoint.FILTER, FilterPlugin):
        if name not in decision.state.skip_filter_plugins:
            plugin = cast("FilterPlugin", framework.plugin(name))
            for check in plugin.explain_filter(decision.state, decision.pod, row):
                yield FilterCheckData(name, check.wanted, check.found, check.holds)


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
        checks=tuple(filter_story(decision, row)),
        scores=tuple(score_story(decision, row)),
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
