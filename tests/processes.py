"""The state of processes that tests have started."""

from __future__ import annotations

import signal
from pathlib import Path


def alive(pid: int) -> bool:
    """Report whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def default_terminal_signals() -> None:
    """Undo what a shell does to commands in the background: it makes them ignore the signals of a terminal."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
