"""The handle of a running analysis: it shows progress, collects notices, and can cancel the analysis."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeVar

from kschedctl.common.errors import KschedctlError
from kschedctl.common.findings import Finding

T = TypeVar("T")


class CancelledError(KschedctlError):
    """An analysis was cancelled through its handle."""

    def __init__(self) -> None:
        super().__init__("the analysis was cancelled")


#: The exceptions that end an analysis early. An analysis that can answer in part catches them.
INTERRUPTIONS: Final = (CancelledError, KeyboardInterrupt)


class AnalysisHandle:
    """The handle of a running analysis.

    This class shows nothing and keeps the notices. The command line's subclass writes to a terminal.

    Attributes
    ----------
    notices : list of str
        Notes and warnings that are no part of the answer, such as manifest objects that scheduling does not read.
    show_line : callable or None
        Replaces the progress line that is shown; an empty line ends it. ``None`` shows no progress.
    """

    show_line: Callable[[str], None] | None = None

    def __init__(self) -> None:
        self.notices: list[str] = []
        self._cancelled = False

    def cancel(self) -> None:
        """Cancel the analysis at its next step; it answers with the part that is done, or raises `CancelledError`."""
        self._cancelled = True

    def check(self) -> None:
        """Raise `CancelledError` if the analysis was cancelled."""
        if self._cancelled:
            raise CancelledError

    def track(self, items: Collection[T], task: str) -> Iterator[T]:
        """Yield the items one by one, and show the share that is done.

        Parameters
        ----------
        task : str
            The work on them, such as ``comparing pods``.
        """
        return self.count(items, task, len(items))

    def count(self, items: Iterable[T], noun: str, total: int | None = None) -> Iterator[T]:
        """Yield the items one by one as they come, and show the number per second.

        Parameters
        ----------
        noun : str
            The name of the items, such as ``pods``.
        total : int, optional
            The number of items, if known.
        """
        self.check()
        for item in items:
            yield item
            # The check follows the yield: before it, an item that was already computed would be lost.
            self.check()

    def busy(self, task: str) -> AbstractContextManager[None]:
        """Show that work of unknown length is going on."""
        return nullcontext()

    def note(self, text: str) -> None:
        """Add a note."""
        self.notices.append(f"note: {text}")

    def warn(self, text: str) -> None:
        """Add a warning."""
        self.notices.append(f"warning: {text}")

    def warn_of(self, finding: Finding) -> None:
        """Add a finding that is no reason for refusal as a warning."""
        self.warn("\n".join(finding.lines()))
