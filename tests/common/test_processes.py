"""The number of cores, and the threads that make a fork unsafe."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kschedctl.common import processes
from kschedctl.common.processes import WaitingTimer, answers_of_processes, available_cores, runs_other_threads


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        pytest.param(None, 4, id="no limit is known"),
        pytest.param("max 100000", 4, id="unlimited"),
        pytest.param("200000 100000", 2, id="two cores"),
        pytest.param("150000 100000", 2, id="one and a half"),
        pytest.param("10000 100000", 1, id="a tenth"),
        pytest.param("800000 100000", 4, id="more than there are"),
    ],
)
def test_a_container_has_the_cores_of_its_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str | None, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(f"{quota}\n")
    assert available_cores(file) == cores


@contextmanager
def only_threads(monkeypatch: pytest.MonkeyPatch, *others: threading.Thread) -> Iterator[None]:
    """Hide the threads of the test runner."""
    with monkeypatch.context() as patched:
        patched.setattr(threading, "enumerate", lambda: [threading.current_thread(), *others])
        yield


def test_a_timer_is_a_thread_from_its_time_on(monkeypatch: pytest.MonkeyPatch) -> None:
    called, end = threading.Event(), threading.Event()

    def call() -> None:
        called.set()
        end.wait()

    waiting, over = WaitingTimer(3600, call), WaitingTimer(0, call)
    waiting.start()
    over.start()
    called.wait()
    try:
        for threads, runs in (((), False), ((waiting,), False), ((waiting, over), True), ((threading.Thread(),), True)):
            with only_threads(monkeypatch, *threads):
                assert runs_other_threads() == runs
                assert not (runs and processes.can_fork())
    finally:
        waiting.cancel()
        end.set()
        over.join()


def test_workers_start_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def can_fork(_: int) -> str:
        threading.enumerate = lambda: [threading.current_thread()]
        return str(processes.can_fork())

    assert answers_of_processes(can_fork, 2, 2) == ["False", "False"]


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_answers_are_in_the_order_of_the_numbers(jobs: int) -> None:
    assert answers_of_processes(lambda number: number * 10, 5, jobs) == [10, 20, 30, 40, 50]


def test_one_missing_answer_ends_all() -> None:
    assert answers_of_processes(lambda number: None if number == 3 else number, 5, 2) is None


def test_processes_that_cannot_be_started_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(processes, "WorkerProcess", refuse)
    assert answers_of_processes(lambda number: number, 5, 2) is None
