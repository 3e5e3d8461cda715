"""What a sweep came to, as data."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from kschedctl.api.wording import counted
from kschedctl.report.sweep.data import AxisData, CaseData, GoalData, Sweep
from kschedctl.sweep.pareto import front
from kschedctl.sweep.reading import ReadPlan
from kschedctl.sweep.row import Row


def sweep_answer(read: ReadPlan, rows: Mapping[int, Row], *, finished: bool, pareto: bool = False) -> Sweep:
    """The answer.

    Parameters
    ----------
    rows : mapping of int to Row
        What came of the cases, by number.
    finished : bool
        Whether all of them were worked on.
    pareto : bool
        Whether only the Pareto front is told.
    """
    plan = read.plan
    every = [rows[number] for number in sorted(rows)]
    best = front(every, plan.goals)
    n_failed = sum(bool(row.error) for row in every)
    cases = tuple(
        CaseData(
            case=row.case,
            axes=row.axes,
            values=row.values,
            error=row.error,
            front=row.case in best,
            doubts=row.doubts or UNSET,
            warnings=row.warnings or UNSET,
        )
        for row in every
        if not pareto or row.case in best
    )
    return Sweep(
        summary=_summary(len(read.cases), len(every), n_failed, len(best) if plan.goals else None, finished=finished),
        finished=finished,
        ask=plan.ask,
        axes=tuple(AxisData(axis.name, axis.of, len(axis.values)) for axis in read.axes),
        columns=read.columns,
        goals=tuple(GoalData(column, aim) for column, aim in plan.goals.items()),
        total=len(read.cases),
        done=len(every) - n_failed,
        failed=n_failed,
        cases=cases,
    )


def _summary(total: int, n_rows: int, n_failed: int, n_best: int | None, *, finished: bool) -> str:
    done = counted(total, "case") if n_rows == total else f"{n_rows} of {counted(total, 'case')}"
    parts = [f"{n_failed} failed"] if n_failed else []
    parts += [f"{n_best} on the Pareto front"] if n_best is not None else []
    text = "; ".join([f"{done} answered" if not parts else done, *([", ".join(parts)] if parts else [])])
    return text if finished else f"interrupted: {text} so far"
