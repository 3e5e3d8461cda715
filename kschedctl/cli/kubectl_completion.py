"""The command ``kubectl_complete-ksched``, which kubectl calls to complete ``kubectl ksched``."""

import contextlib
import io
import os
import shlex
import sys
from typing import Final

from kschedctl.cli.main import app

_PROGRAM: Final = "kschedctl"
#: The directive by which kubectl also completes file names.
_FILES_TOO: Final = ":0"


def run() -> None:
    """Print the candidates for the last of the given words, one per line, in the format that kubectl reads."""
    *before, last = sys.argv[1:] or [""]
    os.environ |= {
        "_KSCHEDCTL_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join([_PROGRAM, *map(shlex.quote, before), last]),
        "COMP_CWORD": str(len(before) + 1),
    }
    said = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said):
        app(prog_name=_PROGRAM)
    # Typer prints an empty line if there are no candidates.
    print(*filter(None, said.getvalue().splitlines()), _FILES_TOO, sep="\n")
