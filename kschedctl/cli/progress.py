"""The handle of analyses in commands: progress on a terminal after one second, notices on standard error."""

import shutil
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar

from kschedctl.cli.streams import note, show_progress, warn, warn_of
from kschedctl.common.processes import WaitingTimer
from kschedctl.common.text.characters import printable
from kschedctl.questions.handle import AnalysisHandle

if TYPE_CHECKING:
    from rich.progress import Progress

    from kschedctl.common.findings import Finding

T = TypeVar("T")
#: The time before progress is shown, in seconds.
_PATIENCE: Final = 1.0
#: The time between two updates of a line, in seconds.
_STEP: Final = 0.2
#: The width of a terminal that does not report it, in characters.
_NO_WIDTH: Final = 80


class TerminalHandle(AnalysisHandle):
    """The handle of analyses in commands. If standard error is no terminal, only notices are written."""

    def __init__(self) -> None:
        super().__init__()
        self._shows = sys.stderr.isatty()
        self.show_line = _show_line if self._shows else None

    def track(self, items: Collection[T], task: str) -> Iterator[T]:
        if not self._shows:
            yield from super().track(items, task)
            return
        start = time.monotonic()
        progress: Progress | None = None
        try:
            for done, item in enumerate(items):
                self.check()
                if progress is None and time.monotonic() - start > _PATIENCE:
                    progress = _bar()
                    shown = progress.add_task(task, total=len(items), completed=done)
                if progress is not None:
                    progress.update(shown, completed=done)
                yield item
        finally:
            if progress is not None:
                progress.stop()

    def count(self, items: Iterable[T], noun: str, total: int | None = None) -> Iterator[T]:
        if not self._shows:
            yield from super().count(items, noun, total)
            return
        start = time.monotonic()
        shown = start + _PATIENCE - _STEP
        try:
            self.check()
            for done, item in enumerate(items, 1):
                now = time.monotonic()
                if now - shown > _STEP:
                    shown = now
                    of = f" of {total}" if total is not None else ""
                    show_progress(f"{done}{of} {noun}, {_rate(done / (now - start))} per second")
                yield item
                self.check()
        finally:
            show_progress("")

    def busy(self, task: str) -> AbstractContextManager[None]:
        return _spinner(task) if self._shows else super().busy(task)

    def note(self, text: str) -> None:
        note(text)

    def warn(self, text: str) -> None:
        warn(text)

    def warn_of(self, finding: "Finding") -> None:
        warn_of(finding)


def _show_line(text: str) -> None:
    width = shutil.get_terminal_size((_NO_WIDTH, 0)).columns
    show_progress(printable(text)[: width - 1])


def _rate(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


@contextmanager
def _spinner(task: str) -> Iterator[None]:
    lock = Lock()
    with ExitStack() as shown:
        over = False

        def show() -> None:
            from rich.console import Console

            with lock:
                if not over:
                    shown.enter_context(Console(stderr=True).status(task))

        timer = WaitingTimer(_PATIENCE, show)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                over = True


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.start()
    return progress
