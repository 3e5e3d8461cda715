"""A running cluster as the commands ask it: with a line on standard error that tells how far they are."""

from __future__ import annotations

import logging
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kschedctl.cli.streams import show_progress
from kschedctl.report.render.printable import printable

if TYPE_CHECKING:
    from kschedctl.live.context import LiveContext

_NO_WIDTH: Final = 80


def live_context(context: str, kubeconfig: str, request_seconds: float | None = None) -> LiveContext:
    """The cluster that the options name.

    Parameters
    ----------
    context, kubeconfig : str
        The values of the options; empty where they are not given.
    request_seconds : float or None
        How long a request may take; ``None`` for the default.
    """
    from kschedctl.live.context import LiveContext
    from kschedctl.live.limits import REQUEST_SECONDS

    # Failed tries are told once, in the error.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    live = LiveContext(
        context=context,
        kubeconfig=kubeconfig,
        request_seconds=REQUEST_SECONDS if request_seconds is None else request_seconds,
    )
    return replace(live, show_progress=_show_line) if sys.stderr.isatty() else live


def _show_line(text: str) -> None:
    """Replace the line that is shown; an empty text takes it away."""
    width = shutil.get_terminal_size((_NO_WIDTH, 0)).columns
    show_progress(printable(text)[: width - 1])
