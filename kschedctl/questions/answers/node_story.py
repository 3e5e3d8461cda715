"""The full details of one node as data: the resources, filters and scores that ``explain --node NAME --why`` prints."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.questions.answers.base import Data


class NodeResourceData(Data, frozen=True):
    """A resource of the node. Amounts are quantities."""

    resource: Annotated[str, Meta(description="The name of the resource.")]
    allocatable: Annotated[str, Meta(description="The allocatable amount of the node.")]
    requested: Annotated[
        str, Meta(description="The amount that the pods on the node request; for the resource pods, their number.")
    ]
    wanted: Annotated[str, Meta(description="The amount that the pod requests.")]
    left: Annotated[
        str, Meta(description="The amount that is left with the pod on the node; negative if the pod does not fit.")
    ]


class PodUsageData(Data, frozen=True):
    """A pod on the node and its requests."""

    pod: Annotated[str, Meta(description="The pod, as namespace/name.")]
    priority: Annotated[int, Meta(description="The priority of the pod.")]
    requests: Annotated[
        dict[str, str], Meta(description="The requests for the resources listed in room, as quantities.")
    ]


class FilterCheckData(Data, frozen=True):
    """A comparison that a filter makes on the node."""

    plugin: Annotated[str, Meta(description="The plugin.")]
    wanted: Annotated[str, Meta(description="The value that the pod requires.")]
    found: Annotated[str, Meta(description="The value that it is compared with.")]
    holds: Annotated[bool, Meta(description="True if the comparison succeeds.")]


class StepData(Data, frozen=True):
    """A step in the computation of a score."""

    name: Annotated[str, Meta(description="The name of the step.")]
    expression: Annotated[
        str,
        Meta(
            description="The expression with its numbers, ready to evaluate: // divides integers and rounds toward "
            "zero, / divides in float64, round rounds halves away from zero, log is natural; names "
            "refer to earlier steps."
        ),
    ]
    value: Annotated[int | float, Meta(description="The value of the step.")]
    note: Annotated[str, Meta(description="The meaning of the numbers; empty if it is obvious.")]


class ArithmeticData(Data, frozen=True):
    """The computation of a number."""

    formula: Annotated[str, Meta(description="The general formula.")]
    steps: Annotated[tuple[StepData, ...], Meta(description="The steps; the value of the last one is the result.")]


class PluginStoryData(Data, frozen=True):
    """The computation of a plugin's score for the node."""

    plugin: Annotated[str, Meta(description="The plugin.")]
    raw: Annotated[int, Meta(description="The score that the plugin returned.")]
    normalized: Annotated[int, Meta(description="The score normalized to 0 to 100.")]
    weight: Annotated[int, Meta(description="The weight of the plugin in the profile.")]
    weighted: Annotated[int, Meta(description="The normalized score times the weight.")]
    score: Annotated[
        ArithmeticData | None,
        Meta(description="The computation of the raw score; null if the plugin does not report it."),
    ]
    normalizing: Annotated[
        ArithmeticData | None,
        Meta(description="The computation of the normalized score; null if it equals the raw score."),
    ]


class NodeStoryData(Data, frozen=True):
    """The full details of one node."""

    name: Annotated[str, Meta(description="The name of the node.")]
    room: Annotated[
        tuple[NodeResourceData, ...], Meta(description="The resources that the pod requests, and cpu, memory and pods.")
    ]
    pods: Annotated[
        tuple[PodUsageData, ...],
        Meta(description="The pods with the largest requests for the fullest of these resources, largest first."),
    ]
    more_pods: Annotated[int, Meta(description="The number of further pods on the node.")]
    checks: Annotated[
        tuple[FilterCheckData, ...], Meta(description="The comparisons of the filters, in the order of the filters.")
    ]
    scores: Annotated[
        tuple[PluginStoryData, ...], Meta(description="The scores by plugin; empty if the node was not scored.")
    ]
