"""The same table over a Dask cluster of two workers, also where one of them is killed in the middle."""

from __future__ import annotations

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

from tests.cli.in_process import run
from tests.cli.transcript import SHOP

DASK = Path(sysconfig.get_path("scripts")) / "dask"
#: Its cases take some seconds together.
PLAN = {
    "apiVersion": "kschedctl/v1",
    "kind": "Sweep",
    "base": {"snapshot": str(SHOP)},
    "axes": {
        "fail-zone": [None, "eu-central-1a", "eu-central-1b", "nowhere"],
        "of the pods": {"of": "set-request", "values": ["cpu=100m", "cpu=2"]},
        "seed": {"values": {"from": 1, "to": 30}},
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


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True], ids=["both live", "one is killed in the middle"])
def test_the_table_is_the_same(killed: bool, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(yaml.safe_dump(PLAN, sort_keys=False))
    here = run("sweep", str(plan), "-o", "json", "-j", "2")
    n_cases = here.out.count('"case":')
    assert n_cases == 240
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
    assert out.decode() == here.out, err.decode()
    assert there.returncode == here.code == 1


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
