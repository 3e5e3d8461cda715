"""Reports of an outage: a line per cause, and at its end the number of failed attempts."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from kschedctl.common.wording import counted


class Outage:
    """The failed attempts since the last success, for messages of a process that retries without end.

    Any thread may call the methods.

    Parameters
    ----------
    tell : callable
        Receives the messages.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._causes: set[str] = set()
        self._attempts = 0
        self._lock = Lock()

    def failed(self, text: str) -> None:
        """Count a failed attempt, and report its cause unless it was reported since the last success."""
        with self._lock:
            self._attempts += 1
            new = text not in self._causes
            self._causes.add(text)
        if new:
            self._tell(text)

    def ended(self, text: str) -> None:
        """Report a success with the number of attempts that failed before, if there was more than one."""
        with self._lock:
            attempts, self._attempts = self._attempts, 0
            self._causes.clear()
        if attempts > 1:
            self._tell(f"{text} after {counted(attempts, 'failed attempt')}")
