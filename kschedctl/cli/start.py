"""The entry point of the scripts: it handles Ctrl-C while the rest is being imported."""

import gc
import os
import signal
import sys
from typing import Final

from kschedctl.cli.streams import ExitCode

#: Python's own threshold is 700 objects: the imports of a command then cause 180 searches for garbage that find none.
#: They make some 120,000 objects, and a search through so many takes longer than any import.
OBJECTS_BETWEEN_COLLECTIONS: Final = 200_000


def run() -> None:
    """Run the command line."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    # NumPy would start a thread for every core when it is imported, and they would wait in a loop for matrix
    # multiplications, of which there are none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A program that is started in the background may have Ctrl-C ignored.
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        # A KeyboardInterrupt during an import could print a traceback or be swallowed.
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(ExitCode.INTERRUPTED))
    if sys.argv[1:] == ["--version"]:
        # The import of typer takes longer than everything else in this answer.
        from kschedctl.cli.exiting import exit_with, print_version

        exit_with(print_version)
    from kschedctl.cli.main import run as run_main

    if interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_main()
