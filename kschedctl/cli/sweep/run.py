"""What ``sweep`` does once its options are read: read the plan, work on its cases, answer, draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from kschedctl.cli.progress import busy, counting
from kschedctl.cli.shell import command_line
from kschedctl.cli.streams import note, write
from kschedctl.errors import InputError
from kschedctl.report.document import Document
from kschedctl.report.envelope import Compound
from kschedctl.report.render.form import Outcome, Reply
from kschedctl.report.render.yaml import dumped
from kschedctl.report.sweep.answer import sweep_answer
from kschedctl.report.sweep.data import Sweep
from kschedctl.report.sweep.plot import picture
from kschedctl.report.sweep.text import document
from kschedctl.sweep.job import Job
from kschedctl.sweep.pool import default_jobs, run_here
from kschedctl.sweep.reading import read_plan
from kschedctl.sweep.results import Results, opened
from kschedctl.sweep.row import Row


class SweepReply(Reply):
    """One run of ``sweep``.

    Parameters
    ----------
    plan : str
        The plan's file.
    jobs : int
        How many processes; 0 for one per core.
    dask : str
        The address of a Dask scheduler; empty for this machine.
    results : str
        Where rows are written as they come; empty for nowhere.
    resume : bool
        Whether the file of results goes on.
    pareto : bool
        Whether only the Pareto front is told.
    plot : str
        Where the cases are drawn; empty for nowhere.
    force : bool
        Whether a picture that is there is replaced.
    """

    def __init__(
        self, plan: str, *, jobs: int, dask: str, results: str, resume: bool, pareto: bool, plot: str, force: bool
    ) -> None:
        self._plan = plan
        self._jobs = jobs
        self._dask = dask
        self._results = results
        self._resume = resume
        self._pareto = pareto
        self._plot = plot
        self._force = force

    def value(self) -> Sweep | Compound:
        """The table."""
        return self._answer

    def document(self, *, wide: bool) -> Document:
        """The same for people."""
        return document(self._answer, () if wide else tuple(self._questions()), every=wide)

    def outcome(self) -> Outcome:
        """Whether all cases were answered."""
        answer = self._answer
        return Outcome(yes=not answer.failed, complete=answer.complete, interrupted=not answer.finished)

    @cached_property
    def _answer(self) -> Sweep:
        job = job_of(self._plan)
        if self._pareto and not job.read.plan.goals:
            raise InputError(
                "has no goals, so that there is no front", where=self._plan, hint="goals: {waiting: minimise}"
            )
        if self._plot:
            self._check_plot(job)
        with opened(self._results, job, resume=self._resume) as results:
            finished = self._work(job, results)
        rows = results.rows
        if self._plot:
            whole = sweep_answer(job.read, rows, finished=finished)
            Path(self._plot).write_text(picture(whole), encoding="utf-8")
            note(f"{self._plot}: the cases by {' and '.join(goal.column for goal in whole.goals[:2])}")
        return sweep_answer(job.read, rows, finished=finished, pareto=self._pareto)

    def _check_plot(self, job: Job) -> None:
        if len(job.read.plan.goals) < 2:
            raise InputError(
                "has not two goals to draw cases by", where=self._plan, hint="goals: {placed: maximise, ...}"
            )
        if Path(self._plot).exists() and not self._force:
            raise InputError("is there already", where=self._plot, hint="--force replaces it")

    def _work(self, job: Job, results: Results) -> bool:
        """Work on what is left; false where Ctrl-C ended it."""
        left = results.left(len(job.read.cases))
        try:
            for row in counting(self._rows(job, left), "cases", len(left)):
                results.add(row)
        except KeyboardInterrupt:
            return False
        return True

    def _rows(self, job: Job, left: Sequence[int]) -> Iterator[Row]:
        if not left:
            return
        if self._dask:
            from kschedctl.sweep.over_dask import run_there

            yield from run_there(job, left, self._dask)
            return
        first = job.variation(job.in_order(left)[0]).base
        with busy("reading the snapshot"):
            # Whatever is wrong with it is wrong with the plan; of several, only some may be.
            one = len({job.variation(number).base for number in left}) == 1
            if one:
                job.start(first)
        yield from run_here(job, left, self._jobs or default_jobs())

    def _questions(self) -> Iterator[tuple[str, str]]:
        answer = self._answer
        best = next((case.case for case in answer.cases if case.front), None)
        tuned = any(axis.of.partition(".")[0] in ("weight", "args", "config") for axis in answer.axes)
        if best is not None and tuned:
            yield (
                f"The scheduler's configuration of case {best}",
                command_line("sweep", self._plan, "--config-of", str(best)),
            )


def job_of(plan: str) -> Job:
    """The sweep of a plan.

    Raises
    ------
    ConfigError
        Where something in the plan is wrong.
    """
    return Job(read_plan(plan), Path(plan).parent)


def print_configuration(plan: str, number: int) -> None:
    """Print the KubeSchedulerConfiguration of a case.

    Raises
    ------
    InputError
        Where the plan has no such case.
    """
    job = job_of(plan)
    if number > len(job.read.cases):
        raise InputError(f"there is no case {number}", where=plan, hint=f"the last one is {len(job.read.cases)}")
    write(dumped(job.configuration(number)))
