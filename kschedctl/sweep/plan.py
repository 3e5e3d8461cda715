"""The format of a plan: the analysis, the cluster, and the axes along which parameters vary.

The reference in docs/sweep.md is generated from these types.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, field

from kschedctl.answers.sweep import Aim, Ask

API_VERSION: Final = "kschedctl/v1"
KIND: Final = "Sweep"


class PlanStruct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The base class of all parts of a plan."""


#: A text or several texts.
Texts = str | tuple[str, ...]


class Base(PlanStruct, frozen=True, kw_only=True):
    """The cluster that all cases start from. Paths are relative to the plan's folder."""

    snapshot: Annotated[Texts, Meta(description="Its snapshot: a file, folder or archive, or several.")] = ()
    config: Annotated[str, Meta(description="The scheduler's KubeSchedulerConfiguration.")] = ""
    kubernetes_version: Annotated[str, Meta(description="Whose rules apply. Default: those of the cluster.")] = ""
    feature_gates: Annotated[dict[str, bool], Meta(description="Gates that are not at their default.")] = field(
        default_factory=dict
    )
    namespace: Annotated[str, Meta(description="The namespace of what names none.")] = ""
    what_if: Annotated[
        dict[str, Texts],
        Meta(description="What-ifs of all cases, by the name of the option: `apply: web.yaml`. Made before the axes'."),
    ] = field(default_factory=dict)


class NumberRange(PlanStruct, frozen=True, kw_only=True):
    """Numbers from one to another, both included."""

    first: Annotated[int | float, Meta(description="The first.")] = field(name="from")
    to: Annotated[int | float, Meta(description="The last, where the steps meet it.")]
    step: Annotated[int | float, Meta(description="How far from one to the next; below zero downward.")] = 1


class AxisPlan(PlanStruct, frozen=True, kw_only=True):
    """An axis in full; a list alone is its values."""

    of: Annotated[str, Meta(description="What changes along it. Default: the name of the axis.")] = ""
    value: Annotated[
        str, Meta(description="What a value is put into, at `{}`: `deploy/shop/web={}`. Default: the value itself.")
    ] = ""
    values: Annotated[
        NumberRange | tuple[Any, ...],
        Meta(description="Its values; `null` changes nothing, a list is several what-ifs."),
    ]


class Random(PlanStruct, frozen=True, kw_only=True):
    """Some of all combinations, each at most once."""

    random: Annotated[int, Meta(ge=1, description="How many.")]
    seed: Annotated[int, Meta(description="The same number draws the same ones.")] = 0


class Plan(PlanStruct, frozen=True, kw_only=True):
    """A plan."""

    api_version: Literal["kschedctl/v1"]
    kind: Literal["Sweep"]
    base: Annotated[Base, Meta(description="The cluster that all cases start from.")]
    ask: Annotated[Ask, Meta(description="What is asked in every case.")] = Ask.SIMULATE
    of: Annotated[
        Texts,
        Meta(
            description="What it is asked about: pods (`shop/web-7`), manifests or workloads (`deploy/shop/web`) for "
            "`explain` and `capacity`, nodes for `drain`. Default of `explain`: the pods that wait."
        ),
    ] = ()
    axes: Annotated[
        dict[str, AxisPlan | tuple[Any, ...]], Meta(description="What changes from case to case, by a name of yours.")
    ]
    combine: Annotated[
        Literal["product", "zip"] | Random,
        Meta(description="`product`: every value with every other; `zip`: the first ones, then the second ones."),
    ] = "product"
    measure: Annotated[tuple[str, ...], Meta(description="The columns of the table.")] = ()
    goals: Annotated[
        dict[str, Aim], Meta(description="What is hoped for, by column; these are columns of the table in any case.")
    ] = field(default_factory=dict)


def texts(given: Texts) -> tuple[str, ...]:
    """Return a text or several texts as a tuple."""
    return (given,) if isinstance(given, str) else given
