"""The whole story of one node as data: what ``explain --node NAME --why`` tells of it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.answers.base import Data


class NodeResourceData(Data, frozen=True):
    """A resource on the node. Amounts are quantities."""

    resource: str
    allocatable: Annotated[str, Meta(description="What the node offers.")]
    requested: Annotated[str, Meta(description="What its pods request; of pods their number.")]
    wanted: Annotated[str, Meta(description="What the pod requests.")]
    left: Annotated[str, Meta(description="What is left with the pod; negative where it does not fit.")]


class PodUsageData(Data, frozen=True):
    """A pod of the node."""

    pod: Annotated[str, Meta(description="As namespace/name.")]
    priority: int
    requests: Annotated[dict[str, str], Meta(description="What it requests of the resources told, as quantities.")]


class FilterCheckData(Data, frozen=True):
    """What a filter compares on the node."""

    plugin: str
    wanted: Annotated[str, Meta(description="What is asked for.")]
    found: Annotated[str, Meta(description="What it is compared with.")]
    holds: Annotated[bool, Meta(description="Whether that suits the pod.")]


class StepData(Data, frozen=True):
    """A step of the arithmetic of a score."""

    name: str
    expression: Annotated[
        str,
        Meta(
            description="With its numbers, to be worked out: // divides whole numbers and rounds toward zero, "
            "/ divides in float64, round takes halves away from zero, log is natural; names are those of steps before."
        ),
    ]
    value: int | float
    note: Annotated[str, Meta(description="What the numbers are; empty where that is plain.")]


class ArithmeticData(Data, frozen=True):
    """How a number came about."""

    formula: Annotated[str, Meta(description="The rule in general.")]
    steps: Annotated[tuple[StepData, ...], Meta(description="The last is the number.")]


class PluginStoryData(Data, frozen=True):
    """How a plugin came to its score for the node."""

    plugin: str
    raw: Annotated[int, Meta(description="As the plugin returned it.")]
    normalized: Annotated[int, Meta(description="Brought into 0 to 100.")]
    weight: int
    weighted: Annotated[int, Meta(description="Normalised times the weight.")]
    score: Annotated[ArithmeticData | None, Meta(description="Of the raw score; null where the plugin does not say.")]
    normalizing: Annotated[ArithmeticData | None, Meta(description="Of the normalised one; null where it is the raw.")]


class NodeStoryData(Data, frozen=True):
    """The whole story of one node."""

    name: str
    room: Annotated[tuple[NodeResourceData, ...], Meta(description="What the pod requests, and cpu, memory and pods.")]
    pods: Annotated[
        tuple[PodUsageData, ...],
        Meta(description="The pods that request most of the resource told first that is fullest, the largest first."),
    ]
    more_pods: Annotated[int, Meta(description="How many pods it has besides.")]
    checks: Annotated[tuple[FilterCheckData, ...], Meta(description="What the filters compare, in their order.")]
    scores: Annotated[tuple[PluginStoryData, ...], Meta(description="Empty where the node was not scored.")]
