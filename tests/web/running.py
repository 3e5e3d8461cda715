"""The installed command as a process of its own, and a plain HTTP client for it."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.paths import ROOT

_ADDRESS = re.compile(r"serving .* at http://(\[[^]]+\]|[^:/]+):(\d+)/")


class Running(NamedTuple):
    """A running server."""

    host: str
    port: int
    process: subprocess.Popen[bytes]
    log: Path

    def memory(self) -> float:
        """Return the resident memory of the server and its worker processes, in megabytes."""
        return resident([self.process.pid, *self.children()])

    def children(self) -> list[int]:
        """Return the processes that the server has started, and theirs."""
        return _below(self.process.pid)

    def workers(self) -> list[int]:
        """Return the worker processes: the fork server starts them."""
        return [pid for child in _children(self.process.pid) for pid in _children(child)]

    def open(self) -> socket.socket:
        """Return a new connection."""
        return socket.create_connection((self.host, self.port), timeout=120)


@contextmanager
def running(*arguments: str) -> Iterator[Running]:
    """Run ``kschedctl serve`` on a free port of loopback until the block ends; it then ends by SIGTERM."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        words = [sys.executable, "-m", "kschedctl", "serve", "--listen", "127.0.0.1:0", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        # A pipe that nobody reads would stop a server that writes many warnings.
        with log.open("w") as out:
            process = subprocess.Popen(words, stderr=out, stdout=out, env=environment, cwd=ROOT)
        try:
            while (found := _ADDRESS.search(log.read_text())) is None:
                assert process.poll() is None, log.read_text()
                time.sleep(0.02)
            yield Running(found[1].strip("[]"), int(found[2]), process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=300)


def _below(pid: int) -> list[int]:
    return [each for child in _children(pid) for each in (child, *_below(child))]


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the CPU time of processes, in seconds."""
    return sum(map(_cpu_ticks, pids)) / os.sysconf("SC_CLK_TCK")


def resident(pids: Iterable[int]) -> float:
    """Return the resident memory of processes, in megabytes."""
    return sum(map(_resident, pids)) / 1024


def _cpu_ticks(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return sum(map(int, stat.rpartition(")")[2].split()[11:13]))


def _resident(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) if found else 0
