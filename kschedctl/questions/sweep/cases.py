"""The cases of a plan: the combinations of the axes' values, by number."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from kschedctl.common.errors import ConfigError, InputError, PlanError
from kschedctl.common.findings import Finding
from kschedctl.common.text.positions import yaml_position
from kschedctl.common.text.tree import repeated_in_yaml
from kschedctl.common.text.yaml import yaml_value
from kschedctl.common.wording import similar
from kschedctl.questions.sweep.answer import Ask
from kschedctl.questions.sweep.measurements import check_column, default_columns
from kschedctl.questions.sweep.plan import (
    ARGS,
    CLUSTER,
    CONFIG,
    EDITS_BY_NAME,
    FEATURE_GATES,
    KUBERNETES_VERSION,
    OF,
    OPTIONS,
    SEED,
    SNAPSHOT,
    WEIGHT,
    Axis,
    Plan,
    PlanStruct,
    Random,
    gates,
    read_axis,
    texts,
)
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.sources.snapshot.files import file_bytes

#: The maximum number of cases of a plan.
MOST_CASES: Final = 1_000_000


class Cases:
    """The cases, numbered from 1. A case is computed on access.

    Args:
        axes: The axes, each with at least one value. The values of the last axis vary fastest.
        combine: The combination of the values: ``product``, ``zip`` or a random sample of the product.

    Raises InputError if there are more than 1,000,000 cases, ``zip`` gets axes of different lengths, or the sample
        is larger than the product.

    >>> cases = Cases([Axis("n", "seed", (1, 2)), Axis("z", "fail-zone", (None, "a", "b"))], "product")
    >>> len(cases), cases[2]
    (6, {'n': 1, 'z': 'a'})
    """

    def __init__(self, axes: Sequence[Axis], combine: Literal["product", "zip"] | Random) -> None:
        self.axes = tuple(axes)
        self._combine = combine
        self._n_all = prod(len(axis.values) for axis in axes)
        lengths = {axis.name: len(axis.values) for axis in axes}
        if combine == "zip" and len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise InputError(f"zip needs axes of the same length: {told}", path="combine")
        if isinstance(combine, Random) and combine.random > self._n_all:
            raise InputError(
                f"{combine.random:,} of {self._n_all:,} combinations cannot be sampled",
                path="combine.random",
                hint="combine: product takes all of them",
            )
        if len(self) > MOST_CASES:
            hint = f"at most {MOST_CASES:,}: combine: {{random: {MOST_CASES}}} takes a sample"
            raise InputError(f"{len(self):,} cases are too many", path="axes", hint=hint)

    def __len__(self) -> int:
        if isinstance(self._combine, Random):
            return self._combine.random
        return len(self.axes[0].values) if self._combine == "zip" else self._n_all

    def __getitem__(self, number: int) -> dict[str, Any]:
        if not 1 <= number <= len(self):
            raise IndexError(number)
        at = number - 1
        if self._combine == "zip":
            return {axis.name: axis.values[at] for axis in self.axes}
        if isinstance(self._combine, Random):
            at = self._drawn[at]
        values = []
        for axis in reversed(self.axes):
            at, index = divmod(at, len(axis.values))
            values.append((axis.name, axis.values[index]))
        return dict(reversed(values))

    @cached_property
    def _drawn(self) -> list[int]:
        assert isinstance(self._combine, Random)
        return sorted(random.Random(self._combine.seed).sample(range(self._n_all), self._combine.random))


# The parameters of a case: the plan's parameters, changed by the values of the axes.

#: The key of a loaded cluster, which cases can share: snapshot paths, cluster in them, Kubernetes version and feature
#: gates.
BaseKey = tuple[tuple[str, ...], str, str, tuple[tuple[str, bool], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """The parameters of a case."""

    #: The values of the plan, or those of axes that replace them. Feature gates of an axis are added to the
    #: plan's.
    snapshot: tuple[str, ...]
    #: The values of the plan, or those of axes that replace them. Feature gates of an axis are added to the
    #: plan's.
    cluster: str
    #: The values of the plan, or those of axes that replace them. Feature gates of an axis are added to the
    #: plan's.
    kubernetes_version: str
    #: The values of the plan, or those of axes that replace them. Feature gates of an axis are added to the
    #: plan's.
    feature_gates: tuple[tuple[str, bool], ...]
    #: The values of the plan, or those of axes that replace them. Feature gates of an axis are added to the
    #: plan's.
    config: str
    #: The values of the plan, or those of axes that replace them. Feature gates of an axis are added to the
    #: plan's.
    of: tuple[str, ...]
    #: The what-if edits of the axes, as name of the option and value, in the order in which they take effect.
    edits: tuple[tuple[str, str], ...]
    #: The changes of the scheduler configuration, as for ``configured``.
    weights: Mapping[str, int]
    #: The changes of the scheduler configuration, as for ``configured``.
    args: Mapping[str, Mapping[str, Any]]
    #: The seed of the random choice among nodes with equal scores; ``None`` for the first node by name.
    seed: int | None
    #: The options of the question that axes vary, by the field of its request.
    options: Mapping[str, Any]

    @property
    def base(self) -> BaseKey:
        """The key of the loaded cluster that the case starts from."""
        return self.snapshot, self.cluster, self.kubernetes_version, self.feature_gates


def variation(plan: Plan, axes: Sequence[Axis], case: Mapping[str, Any]) -> Variation:
    """Return the parameters of a case.

    Args:
        case: The value of each axis, by the axis' name.
    """
    base = plan.base
    given = [(axis, case[axis.name]) for axis in axes if case[axis.name] is not None]
    of_kind = {axis.of: (axis, value) for axis, value in given}
    args: dict[str, dict[str, Any]] = {}
    for axis, value in given:
        if axis.of.startswith(ARGS):
            plugin, _, path = axis.of.removeprefix(ARGS).partition(".")
            args.setdefault(plugin, {})[path] = value

    def those(kind: str, else_: tuple[str, ...]) -> tuple[str, ...]:
        return of_kind[kind][0].texts(of_kind[kind][1]) if kind in of_kind else else_

    more = "".join(those(FEATURE_GATES, ()))
    order = list(EDITS_BY_NAME)
    edits = [(axis.of, text) for axis, value in given if axis.of in EDITS_BY_NAME for text in axis.texts(value)]
    return Variation(
        snapshot=those(SNAPSHOT, texts(base.snapshot)),
        cluster="".join(those(CLUSTER, (base.cluster,))),
        kubernetes_version="".join(those(KUBERNETES_VERSION, (base.kubernetes_version,))),
        feature_gates=tuple(sorted({**base.feature_gates, **gates(more)}.items())),
        config="".join(those(CONFIG, (base.config,))),
        of=those(OF, texts(plan.of)),
        edits=tuple(sorted(edits, key=lambda edit: order.index(edit[0]))),
        weights={axis.of.removeprefix(WEIGHT): value for axis, value in given if axis.of.startswith(WEIGHT)},
        args=args,
        seed=of_kind[SEED][1] if SEED in of_kind else None,
        options={
            option.name: of_kind[name][1] for name, option in OPTIONS.get(plan.ask, {}).items() if name in of_kind
        },
    )


# The scheduler configuration of a case: the plan's configuration with changed plugin weights and arguments.


def configured(
    config: Mapping[str, Any] | None, weights: Mapping[str, int], args: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration with changed plugin weights and arguments in all of its profiles.

    A weight is set at the extension point ``score``, where it takes precedence over ``multiPoint``. A plugin with
    weight 0 is disabled at that extension point.

    Args:
        config: The configuration as plain data, which is not modified; ``None`` for kube-scheduler's default.
        weights: The weights, by plugin.
        args: The arguments, by plugin and path, such as ``scoringStrategy.type``.

    Raises ConfigError if a field that must contain the changes is not an object or list.

    >>> configured(None, {"ImageLocality": 5}, {})["profiles"]
    [{'plugins': {'score': {'enabled': [{'name': 'ImageLocality', 'weight': 5}]}}}]
    """
    new: dict[str, Any] = deepcopy(dict(config)) if config is not None else {"apiVersion": API_VERSION, "kind": KIND}
    if not weights and not args:
        return new
    profiles = _inside(new, "profiles", list)
    if not profiles:
        profiles.append({})
    for profile in profiles:
        if not isinstance(profile, dict):
            raise ConfigError("is not an object", path="profiles")
        if weights:
            score = _inside(_inside(profile, "plugins", dict), "score", dict)
            for plugin, weight in weights.items():
                for name in ("enabled", "disabled"):
                    kept = [
                        each
                        for each in score.get(name) or ()
                        if not (isinstance(each, dict) and each.get("name") == plugin)
                    ]
                    if kept or name in score:
                        score[name] = kept
                if weight:
                    _inside(score, "enabled", list).append({"name": plugin, "weight": weight})
                else:
                    _inside(score, "disabled", list).append({"name": plugin})
        for plugin, own in args.items():
            given = _args(_inside(profile, "pluginConfig", list), plugin)
            for path, value in own.items():
                _set(given, path, value)
    return new


def _inside(parent: dict[str, Any], name: str, kind: type) -> Any:
    """Return the object or list under a name, and create it if it is missing."""
    if parent.get(name) is None:
        parent[name] = kind()
    found = parent[name]
    if not isinstance(found, kind):
        raise ConfigError(f"is not {'a list' if kind is list else 'an object'}", path=name)
    return found


def _args(plugin_config: list[Any], plugin: str) -> dict[str, Any]:
    for each in plugin_config:
        if isinstance(each, dict) and each.get("name") == plugin:
            return _args_of(each)
    each = {"name": plugin}
    plugin_config.append(each)
    return _args_of(each)


def _args_of(plugin_config: dict[str, Any]) -> dict[str, Any]:
    """Return the args in an entry of pluginConfig, and create them if they are missing."""
    found: dict[str, Any] = _inside(plugin_config, "args", dict)
    return found


def _set(args: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for step in parents:
        args = _inside(args, step, dict)
    args[last] = value


# The reader of plans, with all checks.

#: A message of msgspec: the problem, followed by the path of the value.
_AT: Final = re.compile(r"(?s)(.*?)(?: - at `(?:key in )?\$(.*)`)?")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`")
#: The maximum number of findings that get a line and a column.
_MOST_PLACED: Final = 50
#: The rule of a finding about a key, not about its value.
_UNKNOWN_FIELD: Final = "UnknownField"


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A plan that has been checked."""

    #: The plan as it is written.
    plan: Plan
    axes: tuple[Axis, ...]
    cases: Cases
    #: The columns to measure in each case; columns of goals that ``measure`` does not name are last.
    columns: tuple[str, ...]


def read_plan(path: str | Path) -> ReadPlan:
    """Read a plan from a file.

    Raises PlanError if the file cannot be read or the plan is not valid; findings have a line and a column.
    """
    return plan_of(file_bytes(path, PlanError), str(path))


def plan_of(content: bytes, name: str) -> ReadPlan:
    """Read a plan from its text.

    Args:
        content: The text, YAML or JSON.
        name: The name of the source, for error messages.

    Raises PlanError if the plan is not valid; findings have a line and a column.
    """
    try:
        value, repeated = yaml_value(content, name)
    except InputError as error:
        raise PlanError.together(error.findings) from None
    if repeated:
        for _, (steps, position) in repeated_in_yaml(content, last=1):
            raise PlanError(f'key "{steps[-1]}" occurs twice', where=name, position=position)
    try:
        plan = msgspec.convert(value, Plan)
    except msgspec.ValidationError as error:
        raise _placed(content, name, [_of_type(str(error), value)]) from None
    findings: list[Finding] = []
    axes = []
    for axis_name, written in plan.axes.items():
        try:
            axes.append(read_axis(axis_name, written, plan.ask))
        except InputError as error:
            (finding,) = error.findings
            at = f"axes[{axis_name}]"
            inside = finding.field if finding.field.startswith("[") or not finding.field else f".{finding.field}"
            findings.append(Finding(finding.problem, at + inside, finding.hint))
    findings += _checked(plan, axes)
    if findings:
        raise _placed(content, name, findings)
    try:
        cases = Cases(axes, plan.combine)
    except InputError as error:
        raise _placed(content, name, error.findings) from None
    columns = tuple(dict.fromkeys((*(plan.measure or default_columns(plan.ask)), *plan.goals)))
    return ReadPlan(plan, tuple(axes), cases, columns)


def _checked(plan: Plan, axes: list[Axis]) -> Iterator[Finding]:
    if not plan.axes:
        yield Finding("there are no axes", "axes", "give a list of values by name, such as fail-zone: [null, eu-1a]")
    kinds = {axis.of for axis in axes}
    if not texts(plan.base.snapshot) and SNAPSHOT not in kinds:
        hint = "kschedctl snapshot -o prod.tar.gz writes one; for several use an axis: snapshot: [a.tar.gz, b.tar.gz]"
        yield Finding("has no snapshot", "base", hint)
    needs = plan.ask in (Ask.CAPACITY, Ask.DRAIN)
    if needs and not texts(plan.of) and OF not in kinds:
        what = "nodes" if plan.ask is Ask.DRAIN else "a pod, a manifest or a workload"
        yield Finding(f"{plan.ask} needs a subject", "ask", f"of: {what}")
    if plan.ask is Ask.SIMULATE and (texts(plan.of) or OF in kinds):
        yield Finding("simulate schedules all pending pods", "of", "leave it out; base.whatIf.apply adds pods")
    for name, given in plan.base.what_if.items():
        edit = EDITS_BY_NAME.get(name)
        at = f"base.whatIf[{name}]"
        if edit is None:
            close = similar(name, EDITS_BY_NAME)
            hint = f"did you mean {close[0]}?" if close else f"the what-ifs are {', '.join(EDITS_BY_NAME)}"
            yield Finding(f'"{name}" is not a what-if', at, hint)
            continue
        try:
            read_axis(name, texts(given))
        except InputError as error:
            (finding,) = error.findings
            yield Finding(finding.problem, at, finding.hint)
    for at, column in [
        *((f"measure[{i}]", column) for i, column in enumerate(plan.measure)),
        *((f"goals[{column}]", column) for column in plan.goals),
    ]:
        try:
            check_column(column, plan.ask)
        except InputError as error:
            (finding,) = error.findings
            yield Finding(finding.problem, at, finding.hint)


def _of_type(message: str, value: Any) -> Finding:
    """Convert a validation error of msgspec to a finding."""
    found = _AT.fullmatch(message)
    problem, path = (found[1], found[2] or "") if found is not None else (message, "")
    path = _path_of_wrong_key(path.removeprefix("."), value)
    unknown = _UNKNOWN.fullmatch(problem)
    if unknown is None:
        return Finding(problem[:1].lower() + problem[1:], path, "docs/sweep.md lists all fields of a plan")
    if not path:
        known = [field.encode_name for field in msgspec.structs.fields(Plan)]
    else:
        last = "axes" if path.startswith("axes[") and path.endswith("]") else path.rpartition(".")[2]
        kinds = {kind.__name__.lower().removesuffix("plan"): kind for kind in PlanStruct.__subclasses__()}
        names = {"base": "base", "axes": "axis", "values": "numberrange", "combine": "random"}
        kind = kinds.get(names.get(last, ""))
        known = [field.encode_name for field in msgspec.structs.fields(kind)] if kind is not None else []
    close = similar(unknown[1], known)
    hint = f"did you mean {close[0]}?" if close else f"the fields are {', '.join(known)}"
    return Finding(
        f'"{unknown[1]}" is not a field here', f"{path}.{unknown[1]}".removeprefix("."), hint, rule=_UNKNOWN_FIELD
    )


def _path_of_wrong_key(path: str, value: Any) -> str:
    """Return a path with the name of the invalid key, which msgspec omits: it reports ``axes[...].of``.

    The key is found by validating the plan with each key alone.
    """
    before, left_out, after = path.partition("[...]")
    if not left_out:
        return path
    *steps, last = before.split(".")
    for key in reduce(lambda found, step: found[step], (*steps, last), value):
        alone = deepcopy(value)
        parent = reduce(lambda found, step: found[step], steps, alone)
        parent[last] = {key: parent[last][key]}
        try:
            msgspec.convert(alone, Plan)
        except msgspec.ValidationError:
            return f"{before}[{key}]{after}"
    return before


def _placed(content: bytes, name: str, findings: Iterable[Finding]) -> PlanError:
    """Return the error for findings, each with ``FILE:LINE:COLUMN``, which editors can open."""
    placed = []
    for i, each in enumerate(findings):
        # The text is parsed again for each position; findings beyond the limit are counted and not shown.
        is_key = each.rule == _UNKNOWN_FIELD
        position = yaml_position(content, each.field, key=is_key) if i < _MOST_PLACED else None
        # For a finding about the text as a whole, ``place`` is sufficient.
        own = position if each.field else None
        at = f"{name}:{position.line}:{position.column}" if position is not None else name
        placed.append(replace(each, place=at, position=own))
    return PlanError.together(placed)
