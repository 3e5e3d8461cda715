"""The analysis behind ``sweep``: runs the cases of a plan, on this machine or on the workers of a Dask scheduler."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import UNSET

from kschedctl.common.errors import InputError
from kschedctl.common.processes import available_cores
from kschedctl.common.wording import counted
from kschedctl.questions.handle import INTERRUPTIONS, AnalysisHandle
from kschedctl.questions.sweep.answer import Aim, AxisData, CaseData, Sweep, SweepGoalData
from kschedctl.questions.sweep.cases import ReadPlan, read_plan
from kschedctl.questions.sweep.execution import run_here
from kschedctl.questions.sweep.job import Row, SweepJob
from kschedctl.questions.sweep.results import Results, open_results


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """A request to run the cases of a plan."""

    #: The path of the plan.
    plan: str
    #: True to refuse a plan without goals, which has no Pareto front.
    needs_goals: bool = False
    #: The number of processes; 0 for one per core.
    jobs: int = 0
    #: The address of a Dask scheduler; empty for this machine.
    dask: str = ""
    #: The file to which rows are written as they are computed; empty for none.
    results: str = ""
    #: True to continue an existing file of results.
    resume: bool = False


def sweep(request: SweepRequest, handle: AnalysisHandle) -> Sweep:
    """Run the cases of a plan; if the run is cancelled, the answer covers the completed cases.

    Raises InputError if the plan, its only snapshot, the file of results or the Dask scheduler cannot be used.
    """
    job = _job(request.plan)
    if request.needs_goals and not job.read.plan.goals:
        hint = "goals: {waiting: minimise}"
        raise InputError("has no goals, so there is no Pareto front", where=request.plan, hint=hint)
    with open_results(request.results, job, resume=request.resume) as results:
        finished = _work(job, results, request, handle)
    return sweep_answer(job.read, results.rows, finished=finished)


def configuration(plan: str, number: int) -> dict[str, Any]:
    """Return the KubeSchedulerConfiguration of a case as plain data.

    Raises InputError if the plan has no such case.
    """
    job = _job(plan)
    if not 1 <= number <= len(job.read.cases):
        raise InputError(f"the plan has no case {number}", where=plan, hint=f"the last one is {len(job.read.cases)}")
    return job.configuration(number)


def _job(plan: str) -> SweepJob:
    return SweepJob(read_plan(plan), Path(plan).parent)


def _work(job: SweepJob, results: Results, request: SweepRequest, handle: AnalysisHandle) -> bool:
    """Run the remaining cases; return False if the run is cancelled."""
    left = results.left(len(job.read.cases))
    try:
        for row in handle.count(_rows(job, left, request, handle), "cases", len(left)):
            results.add(row)
    except INTERRUPTIONS:
        return False
    return True


def _rows(job: SweepJob, left: Sequence[int], request: SweepRequest, handle: AnalysisHandle) -> Iterator[Row]:
    if not left:
        return
    if request.dask:
        from kschedctl.questions.sweep.execution import run_there

        yield from run_there(job, left, request.dask)
        return
    first = job.variation(job.in_order(left)[0]).base
    with handle.busy("reading the snapshot"):
        # If all cases use one snapshot, its error ends the sweep; with several snapshots it fails only their cases.
        if len({job.variation(number).base for number in left}) == 1:
            job.start(first)
    yield from run_here(job, left, request.jobs or available_cores())


def sweep_answer(read: ReadPlan, rows: Mapping[int, Row], *, finished: bool) -> Sweep:
    """Return the answer of a sweep from its rows.

    Args:
        rows: The rows of the completed cases, by the number of the case.
        finished: False if the run was cancelled.
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
    )
    total = len(read.cases)
    n_rows = len(every)
    n_best = len(best) if plan.goals else None
    done = counted(total, "case") if n_rows == total else f"{n_rows} of {counted(total, 'case')}"
    parts = [f"{n_failed} failed"] if n_failed else []
    parts += [f"{n_best} on the Pareto front"] if n_best is not None else []
    text = "; ".join([f"{done} answered" if not parts else done, *([", ".join(parts)] if parts else [])])
    return Sweep(
        summary=text if finished else f"interrupted: {text} so far",
        interrupted=not finished,
        ask=plan.ask,
        axes=tuple(AxisData(axis.name, axis.of, len(axis.values)) for axis in read.axes),
        columns=read.columns,
        goals=tuple(SweepGoalData(column, aim) for column, aim in plan.goals.items()),
        total=len(read.cases),
        done=len(every) - n_failed,
        failed=n_failed,
        cases=cases,
    )


def front(rows: Iterable[Row], goals: Mapping[str, Aim]) -> frozenset[int]:
    """Return the numbers of the cases on the Pareto front: those that no other case dominates.

    A case dominates another one if it is at least as good in every goal and better in one. Failed cases and cases
    without a value for a goal are not on the front.

    >>> rows = [Row(case=i, axes={}, values={"a": a, "b": b}) for i, (a, b) in enumerate([(1, 1), (2, 1), (1, 0)])]
    >>> sorted(front(rows, {"a": Aim.MAXIMISE, "b": Aim.MINIMISE}))
    [1, 2]
    """
    if not goals:
        return frozenset()
    points: dict[tuple[float, ...], list[int]] = {}
    for row in rows:
        numbers = [row.values.get(goal) for goal in goals]
        known = [number for number in numbers if number is not None]
        if not row.error and len(known) == len(numbers):
            point = tuple(-n if aim is Aim.MAXIMISE else n for n, aim in zip(known, goals.values(), strict=True))
            points.setdefault(point, []).append(row.case)
    # In lexicographic order no point is dominated by a later one, so points are never removed from the front.
    best: list[tuple[float, ...]] = []
    for point in sorted(points):
        if not any(all(a <= b for a, b in zip(other, point, strict=True)) for other in best):
            best.append(point)
    return frozenset(case for point in best for case in points[point])
