"""The command line within this process: what it prints and its exit code, as a process of its own would have them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import patch

from kschedctl.cli import main


class Printed(NamedTuple):
    code: int
    out: str
    err: str


def run(*arguments: str, columns: int = 0, encoding: str = "utf-8") -> Printed:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
    environment = patch.dict(os.environ, {"COLUMNS": str(columns)})
    with environment, patch.object(sys, "argv", ["kschedctl", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            main.run()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Printed(code, *(stream.buffer.getvalue().decode(encoding) for stream in (out, err)))
