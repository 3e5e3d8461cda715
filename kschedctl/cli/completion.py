"""Completion of ``kubectl ksched``: kubectl asks an executable of this name for what could come next."""

from __future__ import annotations

import os
import shlex
import sys

from kschedctl.cli.main import app

_PROGRAM = "kschedctl"
#: Tells kubectl to offer files as well.
_FILES_TOO = ":0"


def run() -> None:
    """Print what could stand in the last place of the words given, a line each, in the form that kubectl reads."""
    *before, last = sys.argv[1:] or [""]
    os.environ |= {
        "_KSCHEDCTL_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join([_PROGRAM, *map(shlex.quote, before), last]),
        "COMP_CWORD": str(len(before) + 1),
    }
    try:
        app(prog_name=_PROGRAM)
    except SystemExit:
        print(_FILES_TOO)
