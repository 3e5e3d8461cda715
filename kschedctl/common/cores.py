"""The cores that this process is allowed to use, and the threads that it runs."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

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

    Parameters
    ----------
    interval : float
        The time to wait, in seconds.
    function : callable
        The function to call then; it is not called at the end of the program.
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
