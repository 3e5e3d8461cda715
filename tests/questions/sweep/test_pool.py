"""Cases over processes: the same rows whatever their number, and what becomes of those whose process dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kschedctl.questions.sweep.job import SweepJob
from kschedctl.questions.sweep.pool import DIED, run_here
from kschedctl.questions.sweep.row import Row
from tests.paths import ROOT
from tests.questions.sweep.plans import make_job

AXES = {"fail-zone": [None, "a", "b", "c"], "size": {"of": "set-request", "values": ["cpu=1", "cpu=2", "cpu=5"]}}


class Deadly(SweepJob):
    """Some of whose cases end the process that works on them: some always, some once."""

    always: frozenset[int] = frozenset()
    once: frozenset[int] = frozenset()

    def row(self, number: int) -> Row:
        mark = self.folder / f"died-{number}"
        if number in self.always or (number in self.once and not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().row(number)


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_rows_are_the_same_over_any_number_of_processes(jobs: int, tmp_path: Path) -> None:
    job = make_job(tmp_path, axes=AXES)
    numbers = range(1, len(job.read.cases) + 1)
    found = sorted(run_here(job, numbers, jobs), key=lambda row: row.case)
    assert found == [job.row(number) for number in numbers]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_that_dies_costs_its_case_alone_and_that_is_tried_once_more(jobs: int, tmp_path: Path) -> None:
    job = make_job(tmp_path, axes=AXES)
    deadly = Deadly(job.read, job.folder)
    deadly.always, deadly.once = frozenset({3, 12}), frozenset({1, 7})
    found = sorted(run_here(deadly, range(1, 13), jobs), key=lambda row: row.case)
    assert found == [job.failed(n, DIED) if n in deadly.always else job.row(n) for n in range(1, 13)]
    assert {path.name for path in tmp_path.glob("died-*")} == {"died-1", "died-3", "died-7", "died-12"}


def test_nothing_is_left_running_where_nobody_wants_the_rest(tmp_path: Path) -> None:
    def children() -> set[str]:
        return {*Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}

    others = children()
    rows = run_here(make_job(tmp_path, axes=AXES), range(1, 13), 2)
    next(rows)
    started = children() - others
    assert len(started) == 2
    rows.close()
    assert not {child for child in started if Path(f"/proc/{child}/cwd").exists()}


@pytest.mark.slow
def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    make_job(tmp_path, axes=AXES)
    script = """
import os, sys, time
from pathlib import Path
from kschedctl.questions.sweep.pool import run_here
from tests.questions.sweep.plans import make_job
rows = run_here(make_job(Path(sys.argv[1]), axes={"seed": {"values": {"from": 1, "to": 500}}}), range(1, 501), 3)
next(rows)
print(*Path(f"/proc/self/task/{os.getpid()}/children").read_text().split(), flush=True)
for row in rows:
    pass
"""
    arguments = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        children = process.stdout.readline().split()
        process.kill()
    assert children
    end = time.monotonic() + 120
    while time.monotonic() < end and any(running(child) for child in children):
        time.sleep(0.1)
    assert not [child for child in children if running(child)]


def running(child: str) -> bool:
    try:
        return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
