"""Execution of cases on the cores of this machine: one process per core, and one case at a time per process.

Each case is assigned to one known process. If a process dies, for example because memory runs out, only its case is
affected: the case is retried once and then counts as failed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import Any, Final

from kschedctl.sweep.job import SweepJob
from kschedctl.sweep.row import Row

#: The number of attempts for a case whose process dies.
TRIES: Final = 2
#: The error of a case whose process died in every attempt.
DIED: Final = "every process that ran this case was killed, possibly because memory ran out"


def default_jobs() -> int:
    """Return the number of cores that are available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_here(job: SweepJob, numbers: Sequence[int], jobs: int) -> Generator[Row, None, None]:
    """Run cases on this machine and yield their rows in the order of completion.

    Parameters
    ----------
    job : SweepJob
        The job of the sweep. On Linux, the processes share its loaded clusters.
    numbers : sequence of int
        The numbers of the cases.
    jobs : int
        The maximum number of processes.
    """
    waiting = deque(job.in_order(numbers))
    tried: Counter[int] = Counter()
    workers: list[_Worker] = []
    context = _context()
    try:
        while waiting or any(worker.number for worker in workers):
            while len(workers) < min(jobs, len(waiting) + sum(bool(worker.number) for worker in workers)):
                workers.append(_Worker(context, job, [worker.pipe for worker in workers]))
            for worker in workers:
                if not worker.number and waiting:
                    worker.give(waiting.popleft())
            ready = wait([worker.pipe for worker in workers if worker.number])
            for worker in [worker for worker in workers if worker.pipe in ready]:
                row = worker.take()
                if row is not None:
                    yield row
                    continue
                workers.remove(worker)
                number = worker.number
                worker.end()
                tried[number] += 1
                if tried[number] < TRIES:
                    waiting.appendleft(number)
                else:
                    yield job.failed(number, DIED)
    finally:
        for worker in workers:
            worker.end()


def _context() -> BaseContext:
    # A fork shares the loaded cluster, which would otherwise cost each process seconds and gigabytes for a large
    # cluster: with 500 nodes and 15,000 pods the first row is ready after 0.4 s instead of 2 s. NumPy's threads are no
    # danger for the fork: they hold locks only during matrix multiplications, and none runs here.
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


class _Worker:
    """A worker process with the number of its current case; 0 for none."""

    def __init__(self, context: Any, job: SweepJob, others: list[Connection]) -> None:
        self.number = 0
        self.pipe, theirs = context.Pipe()
        # A fork inherits this process's ends of the pipes; if they stayed open there, the end of this process would go
        # unnoticed.
        inherited = [self.pipe, *others] if context.get_start_method() == "fork" else []
        self._process = context.Process(target=_work, args=(job, theirs, inherited), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, number: int) -> None:
        """Assign a case to the process."""
        self.number = number
        # The death of the process is noticed when the row is received.
        with suppress(BrokenPipeError):
            self.pipe.send(number)

    def take(self) -> Row | None:
        """Receive the row of the current case; return ``None`` if the process has died."""
        try:
            row: Row = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return None
        self.number = 0
        return row

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _work(job: SweepJob, pipe: Connection, inherited: list[Connection]) -> None:
    """Run the loop of a worker process: receive the numbers of cases and send rows, until the pipe is closed."""
    # The parent process handles Ctrl-C and ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for other in inherited:
        other.close()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send(job.row(pipe.recv()))
