"""How far a long command is, on a terminal: shown once it has lasted a second, and never in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final, TypeVar

from kschedctl.cli.streams import show_progress

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")
#: What is over sooner needs no word, in seconds.
_PATIENCE: Final = 1.0
#: How often a line is written anew, in seconds.
_STEP: Final = 0.2


def tracked(items: Collection[T], what: str) -> Iterator[T]:
    """The items one by one, with a bar on standard error that says how many are done.

    Parameters
    ----------
    items : collection
        What is worked on.
    what : str
        What is done, such as ``comparing pods``.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    start = time.monotonic()
    progress: Progress | None = None
    try:
        for done, item in enumerate(items):
            if progress is None and time.monotonic() - start > _PATIENCE:
                progress = _bar()
                task = progress.add_task(what, total=len(items), completed=done)
            if progress is not None:
                progress.update(task, completed=done)
            yield item
    finally:
        if progress is not None:
            progress.stop()


def counting(items: Iterable[T], what: str) -> Iterator[T]:
    """The items one by one, of which nobody knows how many will come, with a line that says how many a second.

    Parameters
    ----------
    items : iterable
        What comes of the work.
    what : str
        What comes, such as ``pods``.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    start = time.monotonic()
    shown = start + _PATIENCE - _STEP
    try:
        for done, item in enumerate(items, 1):
            now = time.monotonic()
            if now - shown > _STEP:
                shown = now
                show_progress(f"{done} {what}, {done / (now - start):.0f} per second")
            yield item
    finally:
        show_progress("")


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A word on standard error while something goes on of which nobody knows how long it takes."""
    if not sys.stderr.isatty():
        yield
        return
    lock = Lock()
    with ExitStack() as shown:
        over = False

        def show() -> None:
            from rich.console import Console

            with lock:
                if not over:
                    shown.enter_context(Console(stderr=True).status(what))

        timer = Timer(_PATIENCE, show)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                over = True


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.start()
    return progress
