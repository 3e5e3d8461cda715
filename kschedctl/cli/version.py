"""The answer to ``--version``."""

from __future__ import annotations

import kschedctl
from kschedctl.cli.streams import write


def print_version() -> None:
    """Print the name and the version of the program."""
    write(f"kschedctl {kschedctl.__version__}\n")
