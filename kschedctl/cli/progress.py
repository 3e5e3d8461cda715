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


def counting(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """The items one by one, with a line that says how many a second.

    Parameters
    ----------
    items : iterable
        What comes of the work.
    what : str
        What comes, such as ``pods``.
    total : int, optional
        How many will come, where that is known and they come from elsewhere.
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
                of = f" of {total}" if total is not None else ""
                show_progress(f"{done}{of} {what}, {_rate(done / (now - start))} per second")
            yield item
    finally:
        show_progress("")


def _rate(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


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
