"""The exit codes of the program."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of all commands."""

    YES = 0
    NO = 1
    USAGE = 2
    INCOMPLETE = 3
    BUG = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141
