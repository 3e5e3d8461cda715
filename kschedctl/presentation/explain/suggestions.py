"""The section about changes with which a pod would fit."""

from __future__ import annotations

from typing import Final

from kschedctl.answers.explain import SuggestionData
from kschedctl.api.wording import listed
from kschedctl.presentation.document import INDENT, Document, Heading, Paragraph, Tone, Verbatim, table

_HEADING: Final = "Suggestions (each tried)"
_SOME_UNTRIED: Final = "Suggestions (each tried, unless it says otherwise)"


def suggestions_section(
    suggestions: tuple[SuggestionData, ...], tried: int, *, exhausted: bool, every: bool
) -> Document:
    """Lay out the changes with which a pod would fit.

    Parameters
    ----------
    suggestions : tuple of SuggestionData
        The changes that were found.
    tried : int
        The number of changes that were tried.
    exhausted : bool
        True if all changes of the supported kinds were tried.
    every : bool
        True to show the commands that make the changes.
    """
    yield Heading(_SOME_UNTRIED if any(one.untried for one in suggestions) else _HEADING)
    if not suggestions:
        if exhausted:
            told = "none: no single change and no pair of changes of the supported kinds helps"
        else:
            told = f"none of the {tried} changes and pairs of changes that were tried helps; not all were tried"
        yield Paragraph(told, indent=INDENT)
        return
    rows = [(str(number), one.summary, _then(one)) for number, one in enumerate(suggestions, 1)]
    yield table(("", "change", "then"), rows, numeric=(0,))
    if every:
        yield Paragraph("Commands", Tone.FAINT, INDENT)
        for number, one in enumerate(suggestions, 1):
            for line in one.commands:
                yield Verbatim(f"{number}  {line}", indent=INDENT)


def _then(one: SuggestionData) -> str:
    if one.untried:
        return f"not tried: {one.untried}"
    told = f"is scheduled to {'one of ' if len(one.then.nodes) > 1 else ''}{listed(one.then.nodes)}"
    if one.evicts:
        told = f"evicts {listed(one.evicts)}, then {told}"
    if one.violates:
        told += f"; violates disruption budget {listed(one.violates)}"
    return "; ".join((told, *one.consequences))
