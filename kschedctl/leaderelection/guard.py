"""The guard of the command that runs while leading: a small program that imports nothing from this package.

``guard.py ORDERS REPORTS CLOCK COMMAND...`` reads lines from the file descriptor ORDERS. The first ``until SECONDS``
starts the command, as a process group; each later one changes the time at which everything that the command has started
is killed, by the clock with that number. Everything is also killed as soon as the command ends, or ORDERS ends without
``done``. The command therefore never runs unguarded, and dies in time even if the program that started the guard is
killed, is stopped or hangs.

The guard writes to REPORTS: ``started PID`` or ``failed REASON``, and ``ended CODE`` once everything is dead. The
command stays a zombie until ``done``, so that its process ID is not reused before. The exit code is 1 if the time had
passed.

On Linux the guard is a child subreaper (``prctl(2)``): processes in sessions of their own become its children when
their parents end, so that it finds them. The kernel kills the command if the guard is killed (``PR_SET_PDEATHSIG``).
Other systems have neither: there, the guard kills the process group of the command.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

#: The longest wait, in seconds: after a suspend of the machine the guard notices the time within this period.
_TICK = 0.25
#: The pause between two searches for processes that are still alive, in seconds.
_PAUSE = 0.01
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
#: The offset of exit codes for signals: 128 plus the signal's number, as in shells.
_OF_SIGNALS = 128
#: Signals of the terminal that end the other processes must not end the guard: it ends with its orders.
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: Signals that Python ignores, and that programs expect to be effective.
_OF_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
#: Options of ``prctl`` (``linux/prctl.h``).
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def prctl(option: int, value: int) -> None:
    """Call ``prctl`` on Linux; do nothing elsewhere."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become_subreaper() -> None:
    """Become the parent of all descendants whose parents end, on Linux."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def descendants(of: int) -> list[tuple[int, int, int]]:
    """Return the running descendants of a process: process ID, parent and process group; none except on Linux."""
    children: dict[int, list[tuple[int, int, int, str]]] = {}
    for one in _processes():
        children.setdefault(one[1], []).append(one)
    found, parents = [], [of]
    for parent in parents:
        for pid, _, group, state in children.get(parent, ()):
            parents.append(pid)
            if state not in "ZX":
                found.append((pid, parent, group))
    return found


def _processes() -> Iterator[tuple[int, int, int, str]]:
    """Yield all processes: process ID, parent, process group and state."""
    if sys.platform != "linux":
        return
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                # The name of the program, in parentheses, may contain anything.
                state, parent, group, *_ = file.read().rpartition(b")")[2].split()
                yield int(name), int(parent), int(group), state.decode()


def kill_group(group: int) -> None:
    """Kill a process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def kill_all(pids: list[int]) -> bool:
    """Kill processes, and report whether there were any that this user is allowed to kill."""
    found = False
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            found = True
    return found


class Guard:
    """The guard of one command."""

    def __init__(self, orders: int, reports: int, clock: int, command: list[str]) -> None:
        self._orders, self._reports, self._clock, self._command = orders, reports, clock, command
        self._before = {number: signal.signal(number, signal.SIG_IGN) for number in _IGNORED}
        self._until, self._read = 0.0, b""
        self._pid = 0
        for fd in (orders, reports):
            os.set_inheritable(fd, False)
        self._woken, waking = os.pipe()
        for fd in (self._woken, waking):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> int:
        """Run the command to its end, and return the exit code of the guard."""
        done = self._obey()
        if done is not False:
            return 0
        try:
            become_subreaper()
            self._start()
        except (OSError, ImportError) as error:
            self._report(f"failed {error}")
            return 0
        code = None
        while code is None and not done and self._left > 0:
            if self._orders in select.select([self._orders, self._woken], [], [], min(self._left, _TICK))[0]:
                done = self._obey()
            code = self._ended()
        late = code is None and not done
        kill_group(self._pid)
        while kill_all([pid for pid, _, _ in descendants(os.getpid())]):
            time.sleep(_PAUSE)
        while code is None:
            code = self._ended()
            time.sleep(_PAUSE)
        self._report(f"ended {code}")
        while done is False:
            done = self._obey()
        return int(late)

    @property
    def _left(self) -> float:
        return self._until - time.clock_gettime(self._clock)

    def _obey(self) -> bool | None:
        """Read orders; return true after ``done``, and ``None`` if the orders end without it, which ends the time."""
        read = os.read(self._orders, 4096)
        if not read:
            self._until = 0.0
            return None
        *lines, self._read = (self._read + read).split(b"\n")
        for line in lines:
            if line == b"done":
                return True
            self._until = float(line.removeprefix(b"until "))
        return False

    def _start(self) -> None:
        """Start the command, and report it once the command is executed."""
        executed, executing = os.pipe()
        guard = os.getpid()
        self._pid = os.fork()
        if not self._pid:
            try:
                os._exit(self._execute(guard))
            finally:
                os._exit(_NOT_EXECUTABLE)
        os.close(executing)
        os.read(executed, 1)
        os.close(executed)
        self._report(f"started {self._pid}")

    def _execute(self, guard: int) -> int:
        """Execute the command in this process; return the exit code if this fails."""
        os.setpgid(0, 0)
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            return 0
        signal.set_wakeup_fd(-1)
        for number in (*_OF_PYTHON, *(number for number, was in self._before.items() if was != signal.SIG_IGN)):
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvp(self._command[0], self._command)
        except OSError as error:
            os.write(2, f"error: {self._command[0]}: {error.strerror}\n".encode(errors="surrogateescape"))
            return _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE

    def _ended(self) -> int | None:
        """Return the exit code of the command as in shells, or ``None`` while it runs; reap other children."""
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if found.si_pid == self._pid:
                return found.si_status + (0 if found.si_code == os.CLD_EXITED else _OF_SIGNALS)
            os.waitpid(found.si_pid, 0)
        return None

    def _report(self, text: str) -> None:
        # The program that reads the reports may be gone.
        with suppress(OSError):
            os.write(self._reports, f"{text}\n".encode())


if __name__ == "__main__":
    sys.exit(Guard(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]).run())
