"""A running cluster as the commands ask it: with a line on standard error that tells how far they are."""

from __future__ import annotations

import logging
import shutil
import sys
from typing import TYPE_CHECKING, Final

from kschedctl.cli.streams import show_progress
from kschedctl.report.render.printable import printable

if TYPE_CHECKING:
    from kschedctl.live.context import LiveContext

_NO_WIDTH: Final = 80


def live_context(context: str, kubeconfig: str) -> LiveContext:
    """The cluster that the options name.

    Parameters
    ----------
    context, kubeconfig : str
        The values of the options; empty where they are not given.
    """
    from kschedctl.live.context import LiveContext

    # Failed tries are told once, in the error.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        return LiveContext(context=context, kubeconfig=kubeconfig)
    return LiveContext(context=context, kubeconfig=kubeconfig, show_progress=_show_line)


def _show_line(text: str) -> None:
    """Replace the line that is shown; an empty text takes it away."""
    width = shutil.get_terminal_size((_NO_WIDTH, 0)).columns
    show_progress(printable(text)[: width - 1])
