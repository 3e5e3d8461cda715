"""The answer of ``sweep``: a table."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from kschedctl.answers.base import CompoundAnswer, Data

#: What stands in a cell of the table.
Cell = str | int | float | bool | None


class Ask(StrEnum):
    """The question of every case; each is a command of that name."""

    SIMULATE = "simulate"
    EXPLAIN = "explain"
    CAPACITY = "capacity"
    DRAIN = "drain"


class Aim(StrEnum):
    """The better direction of a column: more or less of it."""

    MAXIMISE = "maximise"
    MINIMISE = "minimise"


class AxisData(Data, frozen=True):
    """What changes from case to case."""

    name: str
    of: Annotated[str, Meta(description="What changes along it: a what-if, a weight, an argument, a snapshot, ...")]
    values: Annotated[int, Meta(description="How many values it has.")]


class SweepGoalData(Data, frozen=True):
    """What is hoped for."""

    column: str
    aim: Aim


class CaseData(Data, frozen=True, kw_only=True):
    """A case."""

    case: Annotated[int, Meta(description="Its number, from 1.")]
    axes: Annotated[dict[str, Any], Meta(description="Its value on each axis, as the plan has it.")]
    values: Annotated[
        dict[str, int | float | None],
        Meta(description="What was measured, by column; null where there is nothing to measure. Empty if it failed."),
    ]
    error: Annotated[str, Meta(description="Why it failed; empty if it did not.")]
    front: Annotated[bool, Meta(description="Whether it is on the Pareto front of the goals.")]
    doubts: Annotated[
        tuple[str, ...] | UnsetType, Meta(description="What puts its numbers in doubt; left out where nothing does.")
    ] = UNSET
    warnings: Annotated[
        tuple[str, ...] | UnsetType,
        Meta(description="What to be careful about besides, although the numbers are exact; left out if nothing."),
    ] = UNSET


class Sweep(CompoundAnswer, frozen=True, kw_only=True, tag="Sweep"):
    """The table."""

    summary: str
    finished: Annotated[bool, Meta(description="Whether all cases were worked on; else these are those done so far.")]
    ask: Annotated[Ask, Meta(description="What was asked in every case.")]
    axes: tuple[AxisData, ...]
    columns: tuple[str, ...]
    goals: tuple[SweepGoalData, ...]
    total: Annotated[int, Meta(description="How many cases the plan has.")]
    done: Annotated[int, Meta(description="How many of them have numbers.")]
    failed: Annotated[int, Meta(description="How many failed.")]
    cases: Annotated[tuple[CaseData, ...], Meta(description="By number; with --pareto those of the front alone.")]

    @property
    def complete(self) -> bool:
        """True if nothing puts the numbers in doubt."""
        return not any(case.doubts for case in self.cases)

    @property
    def yes(self) -> bool:
        """True if all cases were answered."""
        return not self.failed

    @property
    def interrupted(self) -> bool:
        """True if the run was cancelled before its end."""
        return not self.finished

    @property
    def front(self) -> Sweep:
        """The table with the cases of the Pareto front alone."""
        return structs.replace(self, cases=tuple(case for case in self.cases if case.front))

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """The numbers of the cases."""
        return tuple(f"case/{case.case}" for case in self.cases)

    def headings(self) -> tuple[str, ...]:
        """The columns as a table for programs has them."""
        axes = (
            f"axis.{axis.name}" if axis.name in _TAKEN or axis.name in self.columns else axis.name for axis in self.axes
        )
        return ("case", *axes, *self.columns, *(("front",) if self.goals else ()), "error")

    def table(self) -> Iterator[tuple[Cell, ...]]:
        """The rows as a table for programs has them, under ``headings``."""
        for case in self.cases:
            axes = (cell(case.axes.get(axis.name)) for axis in self.axes)
            numbers = (case.values.get(column) for column in self.columns)
            yield (case.case, *axes, *numbers, *((case.front,) if self.goals else ()), case.error)


_TAKEN = frozenset({"case", "front", "error"})


def cell(value: Any) -> Cell:
    """An axis' value as it stands in a cell: what is no single value as JSON."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return msgspec.json.encode(value).decode()
