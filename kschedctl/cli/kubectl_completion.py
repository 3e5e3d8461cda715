"""The command ``kubectl_complete-ksched``, by which ``kubectl ksched`` completes."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from typing import Final

from kschedctl.cli.main import app

_PROGRAM: Final = "kschedctl"
#: Tells kubectl to offer files as well.
_FILES_TOO: Final = ":0"


def run() -> None:
    """Print what could stand in the last place of the words given, a line each, in the form that kubectl reads."""
    *before, last = sys.argv[1:] or [""]
    os.environ |= {
        "_KSCHEDCTL_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join([_PROGRAM, *map(shlex.quote, before), last]),
        "COMP_CWORD": str(len(before) + 1),
    }
    said = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said):
        app(prog_name=_PROGRAM)
    # Where nothing could stand, typer prints an empty line.
    print(*filter(None, said.getvalue().splitlines()), _FILES_TOO, sep="\n")
