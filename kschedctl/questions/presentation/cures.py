"""The table of changes with which a pod is scheduled, or a drain or rollout finishes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kschedctl.questions.answers.cures import CureData
from kschedctl.questions.presentation.document import INDENT, Document, Heading, Paragraph, Verbatim, table
from kschedctl.questions.presentation.tone import Tone


def cures_section(cures: Sequence[CureData], *, every: bool) -> Document:
    """Lay out cures; nothing if there are none.

    Parameters
    ----------
    every : bool
        True to show the commands that make the changes.
    """
    if not cures:
        return
    yield heading(untried=any(one.untried for one in cures))
    rows = [(one.summary, untried_or(one.untried, one.then), one.commands) for one in cures]
    yield from numbered_changes(rows, every=every)


def heading(*, untried: bool) -> Heading:
    """Return the heading of suggestions; ``untried`` is true if some of them cannot be tried."""
    return Heading("Suggestions (each tried, unless it says otherwise)" if untried else "Suggestions (each tried)")


def untried_or(untried: str, then: str) -> str:
    """Return the result of a change, or the reason why it was not tried."""
    return f"not tried: {untried}" if untried else then


def numbered_changes(rows: Iterable[tuple[str, str, Sequence[str]]], *, every: bool) -> Document:
    """Lay out changes with their results, and optionally the commands that make them.

    Parameters
    ----------
    rows : iterable of (str, str, sequence of str)
        The change, its result, and its commands.
    every : bool
        True to show the commands.
    """
    numbered = [(str(number), *row) for number, row in enumerate(rows, 1)]
    yield table(
        ("", "change", "then"), [(number, summary, then) for number, summary, then, _ in numbered], numeric=(0,)
    )
    lines = [f"{number}  {line}" for number, _, _, commands in numbered for line in commands]
    if every and lines:
        yield Paragraph("Commands", Tone.FAINT, INDENT)
        yield from (Verbatim(line, indent=INDENT) for line in lines)
