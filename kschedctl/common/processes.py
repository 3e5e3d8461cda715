"""The cores that this process is allowed to use, and worker processes that answer one number at a time."""

import math
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

# Most runs start no processes, and no command waits for the import of multiprocessing until it does.

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext

# The cores that this process is allowed to use, and the threads that it runs.

#: The CPU time that the processes of a container may use, and the period, in microseconds (cgroup v2).
_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")


def available_cores(quota: Path = _QUOTA) -> int:
    """Return the number of cores that are available to this process, rounded up in a container with a CPU limit."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        most, period = quota.read_text(encoding="ascii").split()
        return max(1, min(cores, math.ceil(int(most) / int(period))))
    except (OSError, ValueError):
        # There is no such file, or the time is unlimited: ``max``.
        return cores


#: Held while processes are forked, and while the function of a timer runs.
FORKING: Final = threading.Lock()


class WaitingTimer(threading.Timer):
    """A timer that does not count as a running thread until its time is over: until then it only waits.

    Args:
        interval: The time to wait, in seconds.
        function: The function to call then; it is not called at the end of the program.
    """

    def __init__(self, interval: float, function: Callable[[], object]) -> None:
        super().__init__(interval, self._call)
        self.daemon = True
        self.is_over = False
        self._function = function

    def _call(self) -> None:
        with FORKING:
            self.is_over = True
            self._function()


def runs_other_threads() -> bool:
    """Report whether other threads run than the current one, which may hold locks; timers that wait hold none."""
    return any(
        thread is not threading.current_thread() and not (isinstance(thread, WaitingTimer) and not thread.is_over)
        for thread in threading.enumerate()
    )


R = TypeVar("R")


def process_context() -> "BaseContext":
    """Return the way to start processes: on Linux a fork, which shares what this process has loaded."""
    # NumPy's threads are no danger for the fork: they hold locks only during matrix multiplications, and none runs
    # while a worker starts.
    from multiprocessing import get_context

    return get_context("fork" if sys.platform == "linux" else "spawn")


def can_fork() -> bool:
    """Report whether a fork is possible and safe: on Linux, in a main process that runs no other threads.

    A thread may hold a lock at the moment of the fork, which nobody would release in the new process.
    """
    # A worker process has imported it; other processes need not, to know that they are none.
    loaded = sys.modules.get("multiprocessing.process")
    is_worker = loaded is not None and loaded.parent_process() is not None
    return sys.platform == "linux" and not is_worker and not runs_other_threads()


class WorkerProcess(Generic[R]):
    """A worker process with the number that it is working on; 0 for none.

    Args:
        answer: Returns the answer to a number; called in the process.
    """

    def __init__(self, context: Any, answer: Callable[[int], R], others: "Sequence[WorkerProcess[R]]") -> None:
        self.number = 0
        self.pipe, theirs = context.Pipe()
        # A fork inherits this process's ends of the pipes; if they stayed open there, the end of this process would go
        # unnoticed.
        is_fork = context.get_start_method() == "fork"
        inherited = [self.pipe, *(other.pipe for other in others)] if is_fork else []
        self._process = context.Process(target=_work, args=(answer, theirs, inherited), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with warnings.catch_warnings():
                # Python 3.12 warns of forks beside threads; the callers know which threads run.
                warnings.simplefilter("ignore", DeprecationWarning)
                self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, number: int) -> None:
        self.number = number
        # The death of the process is noticed when the answer is received.
        with suppress(BrokenPipeError):
            self.pipe.send(number)

    def take(self) -> R | None:
        """Receive the answer to the current number; return ``None`` if the process has died."""
        try:
            answer: R = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return None
        self.number = 0
        return answer

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _work(answer: Callable[[int], object], pipe: "Connection", inherited: "Sequence[Connection]") -> None:
    """Run the loop of a worker process: receive numbers and send answers, until the pipe is closed."""
    # The parent process handles Ctrl-C and ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for other in inherited:
        other.close()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send(answer(pipe.recv()))


#: The maximum number of processes that read an input; with more, the rest of the reading takes most of the time.
_MOST_READERS: Final = 8


def number_of_readers() -> int:
    """Return the number of processes that read a large input: one per core, at most 8; 1 where a fork is not safe."""
    cores = min(available_cores(), _MOST_READERS)
    return cores if cores > 1 and can_fork() else 1


#: The most answers per process that are known before their turn.
_MOST_EARLY: Final = 4


def answers_in_order(
    answer: Callable[[int], R | None], n_numbers: int, jobs: int, *, only_safely: bool = False
) -> "Generator[R | None]":
    """Yield the answers to the numbers from 1 on, in this order, each as soon as it is known.

    Args:
        answer: Returns the answer to a number; called in one of up to ``jobs`` processes.
        only_safely: True to start processes only where a fork is possible and safe.

    Ends early if a process dies, or a fork is not possible or not safe.
    """
    from multiprocessing.connection import wait

    waiting = deque(range(1, n_numbers + 1))
    found: dict[int, R | None] = {}
    workers: list[WorkerProcess[tuple[R | None]]] = []
    context = process_context()
    try:
        with FORKING:
            if only_safely and not can_fork():
                return
            for _ in range(min(jobs, n_numbers)):
                # A process that has died answers nothing, so that an answer is never ``None`` itself.
                workers.append(WorkerProcess(context, lambda number: (answer(number),), workers))
        for number in range(1, n_numbers + 1):
            while number not in found:
                for worker in workers:
                    # Answers that come before their turn take memory.
                    if not worker.number and waiting and len(found) < _MOST_EARLY * jobs:
                        worker.give(waiting.popleft())
                ready = wait([worker.pipe for worker in workers if worker.number])
                for worker in [worker for worker in workers if worker.pipe in ready]:
                    answered = worker.number
                    if (received := worker.take()) is None:
                        return
                    found[answered] = received[0]
            yield found.pop(number)
    except OSError:
        return
    finally:
        for worker in workers:
            worker.end()


def answers_of_processes(
    answer: Callable[[int], R | None], n_numbers: int, jobs: int, *, only_safely: bool = False
) -> list[R] | None:
    """Return the answers to the numbers from 1 on, computed by up to ``jobs`` processes.

    Args:
        only_safely: True to start processes only where a fork is possible and safe.

    Returns: The answers in the order of the numbers; ``None`` if one of them is ``None``, or if a process dies or a
        fork is not possible or not safe.
    """
    found: list[R] = []
    for each in answers_in_order(answer, n_numbers, jobs, only_safely=only_safely):
        if each is None:
            return None
        found.append(each)
    return found if len(found) == n_numbers else None
