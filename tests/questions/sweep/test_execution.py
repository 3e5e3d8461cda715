"""Cases over processes: the same rows whatever their number, and what becomes of those whose process dies."""

import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from kschedctl.questions.sweep.execution import DIED, run_here
from kschedctl.questions.sweep.job import Row, SweepJob
from tests.cli.in_process import Printed, run
from tests.cli.transcript import SHOP
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
from kschedctl.questions.sweep.execution import run_here
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


DASK = Path(sysconfig.get_path("scripts")) / "dask"
#: Its cases take some seconds together.
PLAN = {
    "apiVersion": "kschedctl/v1",
    "kind": "Sweep",
    "base": {"snapshot": str(SHOP)},
    "axes": {
        "fail-zone": [None, "eu-central-1a", "eu-central-1b", "nowhere"],
        "of the pods": {"of": "set-request", "values": ["cpu=100m", "cpu=2"]},
        "seed": {"values": {"from": 1, "to": 12}},
    },
    "measure": ["placed", "waiting", "evicted", "nodesUsed", "utilisation.cpu.stdev", "skew.zone"],
    "goals": {"placed": "maximise", "nodesUsed": "minimise"},
}


def until(true: Callable[[], bool], what: str, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.05)


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "dask.log").open("ab") as log:
        process = subprocess.Popen([DASK, *arguments], cwd=folder, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers with a thread each, none of which is started again: address and workers."""
    file = folder / "scheduler.json"
    with ExitStack() as running:
        here = ("--host", "127.0.0.1", "--no-dashboard")
        running.enter_context(started(folder, "scheduler", "--scheduler-file", str(file), "--port", "0", *here))
        until(file.exists, "the scheduler")
        options = ("--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard")
        workers = [
            running.enter_context(
                started(folder, "worker", *options, "--name", f"w{i}", "--local-directory", str(folder))
            )
            for i in range(2)
        ]
        log = folder / "dask.log"
        until(lambda: log.read_bytes().count(b"Registered to:") == 2, "two workers")
        address = yaml.safe_load(file.read_text())["address"]
        yield address, workers


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Printed]:
    """Return the plan, and its answer by this machine alone."""
    plan = tmp_path_factory.mktemp("sweep") / "plan.yaml"
    plan.write_text(yaml.safe_dump(PLAN, sort_keys=False))
    return plan, run("sweep", str(plan), "-o", "json", "-j", "2")


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True], ids=["both live", "one is killed in the middle"])
def test_the_table_is_the_same(killed: bool, here: tuple[Path, Printed], tmp_path: Path) -> None:
    plan, expected = here
    n_cases = expected.out.count('"case":')
    assert n_cases == 96
    results = tmp_path / "results.jsonl"
    with cluster(tmp_path) as (address, workers):
        options = ("-o", "json", "--dask", address, "--results", str(results))
        words = [sys.executable, "-m", "kschedctl", "sweep", str(plan), *options]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as there:
            until(lambda: results.exists() and results.read_bytes().count(b"\n") > 20, "the first cases")
            if killed:
                os.kill(workers[0].pid, signal.SIGKILL)
                assert results.read_bytes().count(b"\n") < n_cases
            out, err = there.communicate(timeout=120)
        assert [worker.poll() for worker in workers] == [-signal.SIGKILL if killed else None, None]
    assert out.decode() == expected.out, err.decode()
    assert there.returncode == expected.code == 1


@pytest.mark.slow
def test_where_there_are_no_workers_that_is_said(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(yaml.safe_dump(PLAN, sort_keys=False))
    file = tmp_path / "scheduler.json"
    with started(tmp_path, "scheduler", "--scheduler-file", str(file), "--port", "0", "--host", "127.0.0.1"):
        until(file.exists, "the scheduler")
        address = yaml.safe_load(file.read_text())["address"]
        words = [sys.executable, "-m", "kschedctl", "sweep", str(plan), "--dask", address]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr == f"error: {address}: the Dask scheduler has no workers\n  dask worker ADDRESS starts one\n"


@pytest.mark.parametrize("address", ["nonsense", "tcp://here", "", "tcp://a b:1"])
def test_what_is_no_address(address: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(yaml.safe_dump(PLAN, sort_keys=False))
    done = run("sweep", str(plan), "--dask", address or " ")
    assert done.code == 2
    assert "is not an address of a Dask scheduler" in done.err
