"""Standard input as a source of snapshots and manifests."""

from __future__ import annotations

import sys
from typing import BinaryIO, Final

from kschedctl.common.errors import InputError

#: The path that stands for standard input.
STDIN: Final = "-"


def open_stdin() -> BinaryIO:
    """Return standard input as bytes.

    Raises
    ------
    InputError
        If standard input is closed.
    """
    if sys.stdin is None:
        raise InputError("cannot be read: it is closed", where="standard input")
    return sys.stdin.buffer
