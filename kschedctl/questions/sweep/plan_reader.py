"""The reader of plans, with all checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, Final

import msgspec

from kschedctl.common.errors import InputError, PlanError
from kschedctl.common.findings import Finding
from kschedctl.common.text.positions import yaml_position
from kschedctl.common.text.tree import repeated_in_yaml
from kschedctl.common.text.yaml import yaml_value
from kschedctl.common.wording import similar
from kschedctl.questions.answers.sweep import Ask
from kschedctl.questions.sweep.axis import EDITS_BY_NAME, OF, SNAPSHOT, Axis, read_axis
from kschedctl.questions.sweep.cases import Cases
from kschedctl.questions.sweep.columns import check_column, default_columns
from kschedctl.questions.sweep.plan import Plan, PlanStruct, texts
from kschedctl.sources.snapshot.files import file_bytes

#: A message of msgspec: the problem, followed by the path of the value.
_AT: Final = re.compile(r"(?s)(.*?)(?: - at `(?:key in )?\$(.*)`)?")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`")
#: The maximum number of findings that get a line and a column.
_MOST_PLACED: Final = 50
#: The rule of a finding about a key, not about its value.
_UNKNOWN_FIELD: Final = "UnknownField"


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A plan that has been checked.

    Attributes
    ----------
    plan : Plan
        The plan as it is written.
    axes : tuple of Axis
        The axes.
    cases : Cases
        The cases.
    columns : tuple of str
        The columns to measure in each case; columns of goals that ``measure`` does not name are last.
    """

    plan: Plan
    axes: tuple[Axis, ...]
    cases: Cases
    columns: tuple[str, ...]


def read_plan(path: str | Path) -> ReadPlan:
    """Read a plan from a file.

    Raises
    ------
    PlanError
        If the file cannot be read or the plan is not valid; findings have a line and a column.
    """
    return plan_of(file_bytes(path, PlanError), str(path))


def plan_of(content: bytes, name: str) -> ReadPlan:
    """Read a plan from its text.

    Parameters
    ----------
    content : bytes
        The text, YAML or JSON.
    name : str
        The name of the source, for error messages.

    Raises
    ------
    PlanError
        If the plan is not valid; findings have a line and a column.
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
            axes.append(read_axis(axis_name, written))
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
    path = _named(path.removeprefix("."), value)
    unknown = _UNKNOWN.fullmatch(problem)
    if unknown is None:
        return Finding(problem[:1].lower() + problem[1:], path, "docs/sweep.md lists all fields of a plan")
    known = _known_fields(path)
    close = similar(unknown[1], known)
    hint = f"did you mean {close[0]}?" if close else f"the fields are {', '.join(known)}"
    return Finding(
        f'"{unknown[1]}" is not a field here', f"{path}.{unknown[1]}".removeprefix("."), hint, rule=_UNKNOWN_FIELD
    )


def _named(path: str, value: Any) -> str:
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


def _known_fields(path: str) -> list[str]:
    """Return the names of the fields that are allowed at a path."""
    if not path:
        return [field.encode_name for field in msgspec.structs.fields(Plan)]
    last = "axes" if path.startswith("axes[") and path.endswith("]") else path.rpartition(".")[2]
    kinds = {kind.__name__.lower().removesuffix("plan"): kind for kind in PlanStruct.__subclasses__()}
    names = {"base": "base", "axes": "axis", "values": "numberrange", "combine": "random"}
    kind = kinds.get(names.get(last, ""))
    return [field.encode_name for field in msgspec.structs.fields(kind)] if kind is not None else []


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
