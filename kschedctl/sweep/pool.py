"""Cases over the cores of this machine: a process per core, each with one case at a time.

Each case is known to be with one process, so that a process that dies, as where memory runs out, costs that case alone:
it is tried once more, and then it has failed.
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

from kschedctl.sweep.job import Job
from kschedctl.sweep.row import Row

#: So often a case is tried whose process dies.
TRIES: Final = 2
#: What is said of a case that outlives none of its processes.
DIED: Final = "every process that worked on it was ended from outside, as happens where memory runs out"


def default_jobs() -> int:
    """How many cores there are for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_here(job: Job, numbers: Sequence[int], jobs: int) -> Generator[Row, None, None]:
    """The rows of cases, in the order in which they are done.

    Parameters
    ----------
    job : Job
        The sweep; what it has loaded is shared with the processes where the system can.
    numbers : sequence of int
        The cases.
    jobs : int
        How many processes.
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
    # A fork shares what is loaded, which for large clusters takes each process seconds and gigabytes otherwise: over
    # 500 nodes and 15,000 pods the first row comes after 0.4 s instead of 2 s. The threads that NumPy may have are no
    # harm to it: they hold no lock while nothing is multiplied, and nothing here is.
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


class _Worker:
    """A process, and the case that it is at; 0 for none."""

    def __init__(self, context: Any, job: Job, others: list[Connection]) -> None:
        self.number = 0
        self.pipe, theirs = context.Pipe()
        # A fork has the ends of pipes that are this process's; kept open there, they would hide that it is gone.
        inherited = [self.pipe, *others] if context.get_start_method() == "fork" else []
        self._process = context.Process(target=_work, args=(job, theirs, inherited), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, number: int) -> None:
        """Let it work on a case."""
        self.number = number
        # One that is gone is noticed when the row is taken.
        with suppress(BrokenPipeError):
            self.pipe.send(number)

    def take(self) -> Row | None:
        """The row that it has; ``None`` where it is gone."""
        try:
            row: Row = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return None
        self.number = 0
        return row

    def end(self) -> None:
        """End it, whatever it is at."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _work(job: Job, pipe: Connection, inherited: list[Connection]) -> None:
    """What a process does: rows for numbers, until nobody is left who wants any."""
    # Ctrl-C is for the process that started this one, which ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for other in inherited:
        other.close()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send(job.row(pipe.recv()))
