"""The format of a plan: the analysis, the cluster, and the axes along which parameters vary.

The reference in docs/sweep.md is generated from these types.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, field

from kschedctl.questions.answers.sweep import Aim, Ask

API_VERSION: Final = "kschedctl/v1"
KIND: Final = "Sweep"


class PlanStruct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The base class of all parts of a plan."""


#: A text or several texts.
Texts = str | tuple[str, ...]


class Base(PlanStruct, frozen=True, kw_only=True):
    """The cluster that all cases start from. Paths are relative to the plan's folder."""

    snapshot: Annotated[Texts, Meta(description="The snapshot: a file, folder or archive, or several.")] = ()
    cluster: Annotated[
        str, Meta(description="The cluster, by its name or its path inside, if the snapshot holds several.")
    ] = ""
    config: Annotated[str, Meta(description="The scheduler's KubeSchedulerConfiguration.")] = ""
    kubernetes_version: Annotated[
        str, Meta(description="The Kubernetes version whose rules apply. Default: the cluster's.")
    ] = ""
    feature_gates: Annotated[dict[str, bool], Meta(description="Feature gates that differ from their default.")] = (
        field(default_factory=dict)
    )
    namespace: Annotated[str, Meta(description="The namespace of objects that name none.")] = ""
    what_if: Annotated[
        dict[str, Texts],
        Meta(
            description="What-ifs of all cases, by the name of the option: `apply: web.yaml`. Applied before the axes."
        ),
    ] = field(default_factory=dict)


class NumberRange(PlanStruct, frozen=True, kw_only=True):
    """A range of numbers, both ends included."""

    first: Annotated[int | float, Meta(description="The first number.")] = field(name="from")
    to: Annotated[int | float, Meta(description="The last number, if the steps reach it exactly.")]
    step: Annotated[
        int | float, Meta(description="The difference between two numbers; negative for a descending range.")
    ] = 1


class AxisPlan(PlanStruct, frozen=True, kw_only=True):
    """An axis; a plain list stands for an axis with these values."""

    of: Annotated[str, Meta(description="The parameter that varies. Default: the name of the axis.")] = ""
    value: Annotated[
        str,
        Meta(description="A text in which `{}` stands for the value: `deploy/shop/web={}`. Default: the value itself."),
    ] = ""
    values: Annotated[
        NumberRange | tuple[Any, ...],
        Meta(description="The values; `null` changes nothing, a list is several what-ifs."),
    ]


class Random(PlanStruct, frozen=True, kw_only=True):
    """A random sample of all combinations, each at most once."""

    random: Annotated[int, Meta(ge=1, description="The number of combinations.")]
    seed: Annotated[int, Meta(description="The seed; the same seed selects the same combinations.")] = 0


class Plan(PlanStruct, frozen=True, kw_only=True):
    """A plan: an analysis, a cluster, and the parameters that vary from case to case."""

    api_version: Literal["kschedctl/v1"]
    kind: Literal["Sweep"]
    base: Annotated[Base, Meta(description="The cluster that all cases start from.")]
    ask: Annotated[Ask, Meta(description="The analysis that runs in every case.")] = Ask.SIMULATE
    of: Annotated[
        Texts,
        Meta(
            description="The subject of the analysis: pods (`shop/web-7`), manifests or workloads (`deploy/shop/web`) "
            "for `explain` and `capacity`, nodes for `drain`. Default for `explain`: the pending pods."
        ),
    ] = ()
    axes: Annotated[
        dict[str, AxisPlan | tuple[Any, ...]],
        Meta(description="The parameters that vary from case to case, by a name of your choice."),
    ]
    combine: Annotated[
        Literal["product", "zip"] | Random,
        Meta(description="`product`: every combination of values; `zip`: the first values, then the second values."),
    ] = "product"
    measure: Annotated[tuple[str, ...], Meta(description="The columns of the table.")] = ()
    goals: Annotated[
        dict[str, Aim], Meta(description="The goals, by column; these columns are always in the table.")
    ] = field(default_factory=dict)


def texts(given: Texts) -> tuple[str, ...]:
    """Return a text or several texts as a tuple."""
    return (given,) if isinstance(given, str) else given
