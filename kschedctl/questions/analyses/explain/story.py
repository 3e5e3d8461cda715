"""The full story of one node: its free capacity and users, the filters' comparisons, and the origin of its score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from kschedctl.objects.resources import CPU, MEMORY, PODS, exact_quantity, pod_requests, scheduler_units
from kschedctl.questions.analyses.explain.score_story import filter_story, score_story
from kschedctl.questions.answers.node_story import (
    ArithmeticData,
    FilterCheckData,
    NodeResourceData,
    NodeStoryData,
    PluginStoryData,
    PodUsageData,
    StepData,
)
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.explanation import Arithmetic

#: At most 5 pods of the node are reported.
_MOST: Final = 5


def story_data(decision: Decision, row: int) -> NodeStoryData:
    """Return the full story of a node.

    Parameters
    ----------
    decision : Decision
        The decision for a pod.
    row : int
        The node.
    """
    wanted = scheduler_units(pod_requests(decision.pod, decision.framework.handle.request_rules))
    resources = [
        *(name for name in (CPU, MEMORY) if name not in wanted),
        *(n for n, amount in wanted.items() if amount),
    ]
    names = sorted(resources, key=lambda name: (name != CPU, name != MEMORY, name))
    told = {**{name: wanted.get(name, 0) for name in names}, PODS: 1}
    pods, n_more = _pods(decision, row, told)
    return NodeStoryData(
        name=decision.cluster.nodes.names[row],
        room=_room(decision, row, told),
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


def _room(decision: Decision, row: int, told: Mapping[str, int]) -> tuple[NodeResourceData, ...]:
    rooms = []
    for resource, wanted in told.items():
        offered, requested = _amounts(decision, row, resource)
        amounts = (offered, requested, wanted, offered - requested - wanted)
        rooms.append(NodeResourceData(resource, *(exact_quantity(resource, amount) for amount in amounts)))
    return tuple(rooms)


def _pods(decision: Decision, row: int, told: Mapping[str, int]) -> tuple[tuple[PodUsageData, ...], int]:
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
