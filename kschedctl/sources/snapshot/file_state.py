"""Detection of files that change while they are read: the result would be a mix of both versions."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from kschedctl.common.errors import InputError

State = tuple[int, int, int, int]
CHANGED: Final = "was changed while it was read"


def state(of: os.stat_result) -> State:
    """Return the values that identify a file and its version: device, inode, size and modification time."""
    return of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns


def check_unchanged(descriptor: int, path: str, before: State) -> None:
    """Raise InputError if an open file, or the file at its path, has changed.

    Parameters
    ----------
    descriptor : int
        The open file.
    path : str
        The path it was opened with.
    before : tuple
        The file's state before reading.
    """
    now = [state(os.fstat(descriptor))]
    with suppress(FileNotFoundError):
        # A file that was only deleted was still read completely.
        now.append(state(os.stat(path)))
    if any(each != before for each in now):
        raise InputError(CHANGED, where=path, hint="read it again once nothing writes to it")
