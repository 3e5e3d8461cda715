"""The format of a plan: the analysis, the cluster, and the axes along which parameters vary.

The reference in docs/sweep.md is generated from these types.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, field

from kschedctl.common.errors import InputError
from kschedctl.common.wording import similar
from kschedctl.objects.releases.release import RELEASES
from kschedctl.questions.capacity.request import CapacityRequest
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.request import DeclaredOption, declared
from kschedctl.questions.sweep.answer import Aim, Ask
from kschedctl.scheduler.plugins.registry import full_registry
from kschedctl.trials.whatif.edit import Edit
from kschedctl.trials.whatif.edits import EDITS

API_VERSION: Final = "kschedctl/v1"
KIND: Final = "Sweep"


class PlanStruct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The base class of all parts of a plan."""


#: A text or several texts.
Texts = str | tuple[str, ...]


class Base(PlanStruct, frozen=True, kw_only=True):
    """The cluster that all cases start from. Paths are relative to the plan's folder."""

    snapshot: Annotated[Texts, "The snapshot: a file, folder or archive, or several."] = ()
    cluster: Annotated[str, "The cluster, by its name or its path inside, if the snapshot holds several."] = ""
    config: Annotated[str, "The scheduler's KubeSchedulerConfiguration."] = ""
    kubernetes_version: Annotated[str, "The Kubernetes version whose rules apply. Default: the cluster's."] = ""
    feature_gates: Annotated[dict[str, bool], "Feature gates that differ from their default."] = field(
        default_factory=dict
    )
    namespace: Annotated[str, "The namespace of objects that name none."] = ""
    what_if: Annotated[
        dict[str, Texts],
        "What-ifs of all cases, by the name of the option: `apply: web.yaml`. Applied before the axes.",
    ] = field(default_factory=dict)


class NumberRange(PlanStruct, frozen=True, kw_only=True):
    """A range of numbers, both ends included."""

    first: Annotated[int | float, "The first number."] = field(name="from")
    to: Annotated[int | float, "The last number, if the steps reach it exactly."]
    step: Annotated[int | float, "The difference between two numbers; negative for a descending range."] = 1


class AxisPlan(PlanStruct, frozen=True, kw_only=True):
    """An axis; a plain list stands for an axis with these values."""

    of: Annotated[str, "The parameter that varies. Default: the name of the axis."] = ""
    value: Annotated[
        str, "A text in which `{}` stands for the value: `deploy/shop/web={}`. Default: the value itself."
    ] = ""
    values: Annotated[NumberRange | tuple[Any, ...], "The values; `null` changes nothing, a list is several what-ifs."]


class Random(PlanStruct, frozen=True, kw_only=True):
    """A random sample of all combinations, each at most once."""

    random: Annotated[int, Meta(ge=1, description="The number of combinations.")]
    seed: Annotated[int, "The seed; the same seed selects the same combinations."] = 0


class Plan(PlanStruct, frozen=True, kw_only=True):
    """A plan: an analysis, a cluster, and the parameters that vary from case to case."""

    api_version: Literal["kschedctl/v1"]
    kind: Literal["Sweep"]
    base: Annotated[Base, "The cluster that all cases start from."]
    ask: Annotated[Ask, "The analysis that runs in every case."] = Ask.SIMULATE
    of: Annotated[
        Texts,
        "The subject of the analysis: pods (`shop/web-7`), manifests or workloads (`deploy/shop/web`) for "
        "`explain` and `capacity`, nodes for `drain`. Default for `explain`: the pending pods.",
    ] = ()
    axes: Annotated[
        dict[str, AxisPlan | tuple[Any, ...]], "The parameters that vary from case to case, by a name of your choice."
    ]
    combine: Annotated[
        Literal["product", "zip"] | Random,
        "`product`: every combination of values; `zip`: the first values, then the second values.",
    ] = "product"
    measure: Annotated[tuple[str, ...], "The columns of the table."] = ()
    goals: Annotated[dict[str, Aim], "The goals, by column; these columns are always in the table."] = field(
        default_factory=dict
    )


def texts(given: Texts) -> tuple[str, ...]:
    """Return a text or several texts as a tuple."""
    return (given,) if isinstance(given, str) else given


# The axes of a plan: the parameters that an axis can vary, and the checks of an axis' values.

#: The what-if edits, by the name of their option without ``--``.
EDITS_BY_NAME: Final[Mapping[str, type[Edit]]] = {edit.option.flag.removeprefix("--"): edit for edit in EDITS}
WEIGHT: Final = "weight."
ARGS: Final = "args."
SNAPSHOT: Final = "snapshot"
CLUSTER: Final = "cluster"
CONFIG: Final = "config"
KUBERNETES_VERSION: Final = "kubernetes-version"
FEATURE_GATES: Final = "feature-gates"
SEED: Final = "seed"
OF: Final = "of"
#: The parameters other than what-if edits that an axis can vary, each with a description.
OTHERS: Final[Mapping[str, str]] = {
    f"{WEIGHT}PLUGIN": "the weight of a Score plugin, in all profiles; 0: it does not score",
    f"{ARGS}PLUGIN.FIELD": "an argument of a plugin, in all profiles: `args.NodeResourcesFit.scoringStrategy.type`",
    CONFIG: "a file with a KubeSchedulerConfiguration",
    SNAPSHOT: "another snapshot, or a list of paths that form one",
    CLUSTER: "another cluster in a snapshot that holds several, by its name or its path inside",
    KUBERNETES_VERSION: f"the Kubernetes version whose rules apply: {', '.join(RELEASES)}",
    FEATURE_GATES: "feature gates in kube-scheduler's form: `NAME=true,NAME=false`",
    SEED: "the seed of the random choice among nodes with equal scores; without a seed the first by name is chosen",
    OF: "the subject of the analysis, in place of the plan's `of`",
}
#: The options of the questions that an axis can vary, by the name of the option without ``--``.
OPTIONS: Final[Mapping[Ask, Mapping[str, DeclaredOption]]] = {
    Ask.CAPACITY: {"max": next(each for each in declared(CapacityRequest) if each.name == "max")},
    Ask.DRAIN: {
        each.option.of_api: each
        for each in declared(DrainRequest)
        if each.type in (bool, int, int | None) and each.name != SEED and each.option.flag
    },
}
_MOST_WEIGHT: Final = 2**31 - 1
#: The maximum number of values of an axis.
MOST_VALUES: Final = 100_000


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: a parameter and its values."""

    #: The name of the axis and of its column.
    name: str
    of: str
    #: The values, as plain data; ``None`` changes nothing.
    values: tuple[Any, ...]
    #: A text in which ``{}`` is replaced by the value; empty for the value itself.
    template: str = ""

    def texts(self, value: Any) -> tuple[str, ...]:
        """Return a value as texts: one text per element of a list, and no text for ``None``."""
        several = value if isinstance(value, list | tuple) else (value,)
        return tuple(self._text(each) for each in several if each is not None)

    def _text(self, value: Any) -> str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return self.template.replace("{}", text) if self.template else text


def read_axis(name: str, written: AxisPlan | tuple[Any, ...], ask: Ask = Ask.SIMULATE) -> Axis:
    """Convert an axis from the form in the plan, and check it.

    Args:
        ask: The question, whose options an axis can vary.

    Raises InputError if the axis has no values, more than 100,000 values or invalid values, or varies an unknown
        parameter. The path of the error is relative to the axis.
    """
    plan = written if isinstance(written, AxisPlan) else AxisPlan(values=written)
    inside = "values" if isinstance(written, AxisPlan) else ""
    if plan.value and "{}" not in plan.value:
        raise InputError("does not contain {}, the place of the value", path="value", hint="such as deploy/shop/web={}")
    values = numbers(plan.values) if isinstance(plan.values, NumberRange) else plan.values
    if not values:
        raise InputError("has no values", path=inside)
    axis = Axis(name, plan.of or name, values, plan.value)
    check = checker(axis.of, ask)
    if check is None:
        options = OPTIONS.get(ask, {})
        close = similar(axis.of, (*EDITS_BY_NAME, *options, *_CHECKS))
        every = f"the parameters are {', '.join((*EDITS_BY_NAME, *options))}; and {', '.join(OTHERS)}"
        raise InputError(
            f'"{axis.of}" is not a parameter of an axis',
            path="of" if plan.of else "",
            hint=f"did you mean {close[0]}?" if close else every,
        )
    plugin = axis.of.split(".")[1] if axis.of.startswith((WEIGHT, ARGS)) else ""
    if plugin and plugin not in (known := full_registry()):
        close = similar(plugin, known)
        hint = f"did you mean {close[0]}?" if close else f"the plugins are {', '.join(known)}"
        raise InputError(f"there is no plugin {plugin}", path="of" if plan.of else "", hint=hint)
    for i, value in enumerate(values):
        if value is not None:
            try:
                check(axis, value)
            except InputError as error:
                (finding,) = error.findings
                place = inside if isinstance(plan.values, NumberRange) else f"{inside}[{i}]"
                raise InputError(finding.problem, path=place, hint=finding.hint) from None
    return axis


def numbers(span: NumberRange) -> tuple[int | float, ...]:
    """Return the numbers of a range.

    Raises InputError if a bound is not finite, the step is 0, or the range has more than 100,000 numbers.

    >>> numbers(NumberRange(first=1, to=7, step=2)), numbers(NumberRange(first=0.1, to=0.3, step=0.1))
    ((1, 3, 5, 7), (0.1, 0.2, 0.3))
    """
    # Decimal arithmetic treats numbers as they are written: 0.1 is exactly one tenth.
    first, last, step = (Decimal(str(number)) for number in (span.first, span.to, span.step))
    if not all(number.is_finite() for number in (first, last, step)) or not step:
        raise InputError(
            "is not a step from the first number to the last", path="values.step", hint="give a step that is not 0"
        )
    count = int((last - first) / step) + 1 if (last - first) / step >= 0 else 0
    if count > MOST_VALUES:
        raise InputError(f"{count:,} values are too many", path="values", hint=f"give at most {MOST_VALUES:,}")
    whole = all(isinstance(number, int) for number in (span.first, span.step))
    every = (first + i * step for i in range(count))
    return tuple(int(number) if whole else float(number) for number in every)


def checker(of: str, ask: Ask) -> Callable[[Axis, Any], None] | None:
    """Return the function that checks the values for a parameter; ``None`` for an unknown parameter."""
    if of in EDITS_BY_NAME:
        return _edit
    if of.startswith(WEIGHT) and of.count(".") == 1 and len(of) > len(WEIGHT):
        return _weight
    if of.startswith(ARGS) and all(part for part in of.split(".")) and of.count(".") >= 2:
        return lambda axis, value: None
    option = OPTIONS.get(ask, {}).get(of)
    return partial(_option, option) if option is not None else _CHECKS.get(of)


def _option(declared: DeclaredOption, axis: Axis, value: Any) -> None:
    if declared.type is bool:
        if not isinstance(value, bool):
            raise InputError(f"{value!r} is neither true nor false")
        return
    _whole(axis, value)
    declared.option.check(value)


def _edit(axis: Axis, value: Any) -> None:
    edit = EDITS_BY_NAME[axis.of]
    for text in axis.texts(value):
        # Files are read when the case runs, which may be on another machine.
        if not edit.sources(text):
            edit.parse(text)
        elif edit.sources(text) == ("-",):
            raise InputError("a plan cannot read from standard input", hint="name a file")


def _weight(axis: Axis, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST_WEIGHT:
        raise InputError(f"{value!r} is not a weight", hint="a whole number; 0: the plugin does not score")


def _text(axis: Axis, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise InputError(f"{value!r} is not text", hint='such as "1.36", in quotes if it looks like a number')


def _texts(axis: Axis, value: Any) -> None:
    several = value if isinstance(value, list) else [value]
    for each in several:
        _text(axis, each)


def _whole(axis: Axis, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{value!r} is not a whole number")


def _gates(axis: Axis, value: Any) -> None:
    _text(axis, value)
    gates(value)


_CHECKS: Final[Mapping[str, Callable[[Axis, Any], None]]] = {
    SNAPSHOT: _texts,
    CLUSTER: _text,
    CONFIG: _text,
    KUBERNETES_VERSION: _text,
    FEATURE_GATES: _gates,
    SEED: _whole,
    OF: _texts,
}


def gates(text: str) -> dict[str, bool]:
    """Parse feature gates, separated by commas, into a mapping by name.

    Raises InputError if a part is not ``NAME=true`` or ``NAME=false``.

    >>> gates("DynamicResourceAllocation=true,OpportunisticBatching=false")
    {'DynamicResourceAllocation': True, 'OpportunisticBatching': False}
    """
    found = {}
    for pair in (pair for pair in text.split(",") if pair.strip()):
        name, _, value = (part.strip() for part in pair.partition("="))
        if not name or value.lower() not in ("true", "false"):
            raise InputError(f'"{pair}" is not NAME=true or NAME=false')
        found[name] = value.lower() == "true"
    return found
