"""The entry point of the scripts: what Ctrl-C does while everything else is being imported."""

from __future__ import annotations

import os
import signal
from types import FrameType

from kschedctl.cli.exit_code import ExitCode


def run() -> None:
    """Run the command line."""
    # Whoever starts the program in the background may have it ignore Ctrl-C.
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        # As an exception it could end in an import, which tells it with a traceback or swallows it.
        signal.signal(signal.SIGINT, _leave)
    from kschedctl.cli.main import run as run_main

    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_main()


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(ExitCode.INTERRUPTED)
