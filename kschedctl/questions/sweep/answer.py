"""The answer of ``sweep``: a table with one row per case."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType, structs

from kschedctl.common.frames import Cell, ColumnType, Tabular, common_type
from kschedctl.questions.answer import CompoundAnswer, Data


class Ask(StrEnum):
    """The command that answers every case."""

    SIMULATE = "simulate"
    EXPLAIN = "explain"
    CAPACITY = "capacity"
    DRAIN = "drain"


class Aim(StrEnum):
    """The better direction of a column: higher or lower values."""

    MAXIMISE = "maximise"
    MINIMISE = "minimise"


class AxisData(Data, frozen=True):
    """An axis: a parameter that varies from case to case."""

    name: Annotated[str, "The name of the axis."]
    of: Annotated[str, "The kind of parameter: a what-if, a weight, an argument, a snapshot, ..."]
    values: Annotated[int, "The number of values."]


class SweepGoalData(Data, frozen=True):
    """A goal: a column to maximise or minimise."""

    column: Annotated[str, "The column."]
    aim: Annotated[Aim, "The better direction of the column."]


class CaseData(Data, frozen=True, kw_only=True):
    """A case: one combination of parameter values, with its results."""

    case: Annotated[int, "The number of the case, from 1."]
    axes: Annotated[dict[str, Any], "The value on each axis, as in the plan."]
    values: Annotated[
        dict[str, int | float | None],
        "The results by column; null if there is nothing to measure. Empty if the case failed.",
    ]
    error: Annotated[str, "The error; empty if the case did not fail."]
    front: Annotated[bool, "True if the case is on the Pareto front of the goals."]
    doubts: Annotated[
        tuple[str, ...] | UnsetType, "The warnings that make the results uncertain; absent if there are none."
    ] = UNSET
    warnings: Annotated[
        tuple[str, ...] | UnsetType, "Further warnings, with which the results are exact; absent if there are none."
    ] = UNSET


class Sweep(CompoundAnswer, Tabular, frozen=True, kw_only=True, tag="Sweep"):
    """The table of all cases."""

    summary: Annotated[str, "The result in one sentence."]
    interrupted: Annotated[bool, "True if the run was cancelled, so that the answer covers only the cases done so far."]
    ask: Annotated[Ask, "The command that answers every case."]
    axes: Annotated[tuple[AxisData, ...], "The axes of the plan."]
    columns: Annotated[tuple[str, ...], "The columns of the results, in the order of the table."]
    goals: Annotated[tuple[SweepGoalData, ...], "The goals; empty without any."]
    total: Annotated[int, "The number of cases in the plan."]
    done: Annotated[int, "The number of cases with results."]
    failed: Annotated[int, "The number of cases that failed."]
    cases: Annotated[tuple[CaseData, ...], "The cases by number; with --pareto only those on the Pareto front."]

    @property
    def complete(self) -> bool:
        """True if no case has warnings that make its results uncertain."""
        return not any(case.doubts for case in self.cases)

    @property
    def yes(self) -> bool:
        """True if no case failed."""
        return not self.failed

    @property
    def front(self) -> "Sweep":
        """The table reduced to the cases on the Pareto front."""
        return structs.replace(self, cases=tuple(case for case in self.cases if case.front))

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the numbers of the cases, one line per case: ``case/NUMBER``."""
        return tuple(f"case/{case.case}" for case in self.cases)

    def column_types(self) -> dict[str, ColumnType]:
        """Return the columns of the table in machine-readable formats, with the types of their values."""
        types: dict[str, ColumnType] = {"case": int}
        for axis in self.axes:
            name = f"axis.{axis.name}" if axis.name in _TAKEN or axis.name in self.columns else axis.name
            types[name] = common_type((cell(case.axes.get(axis.name)) for case in self.cases), str)
        for column in self.columns:
            types[column] = common_type((case.values.get(column) for case in self.cases), float)
        return types | ({"front": bool} if self.goals else {}) | {"error": str}

    def table(self) -> Iterator[tuple[Cell, ...]]:
        """Yield the rows of the table in machine-readable formats, one per case."""
        for case in self.cases:
            axes = (cell(case.axes.get(axis.name)) for axis in self.axes)
            numbers = (case.values.get(column) for column in self.columns)
            yield (case.case, *axes, *numbers, *((case.front,) if self.goals else ()), case.error)


_TAKEN = frozenset({"case", "front", "error"})


def cell(value: Any) -> Cell:
    """Return the value of an axis as a table cell: scalars unchanged, other values as JSON."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return msgspec.json.encode(value).decode()
