"""Files that are written to while they are read: what was read of them would be a mix of both."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from kschedctl.errors import InputError

State = tuple[int, int, int, int]
CHANGED: Final = "was changed while it was read"


def state(of: os.stat_result) -> State:
    """What tells a file from another one, and from itself after a change."""
    return of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns


def check_unchanged(descriptor: int, path: str, before: State) -> None:
    """Raise InputError where an open file, or what its path leads to, is no longer what it was.

    Parameters
    ----------
    descriptor : int
        The open file.
    path : str
        What it was opened by.
    before : tuple
        Its state before the reading.
    """
    now = [state(os.fstat(descriptor))]
    with suppress(FileNotFoundError):
        # What was only removed was read whole.
        now.append(state(os.stat(path)))
    if any(each != before for each in now):
        raise InputError(CHANGED, where=path, hint="read it again once nothing writes to it")
