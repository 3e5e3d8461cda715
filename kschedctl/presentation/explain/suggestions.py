"""The section about changes with which a pod would fit."""

from __future__ import annotations

from kschedctl.answers.explain import SuggestionData
from kschedctl.api.wording import counted, listed
from kschedctl.presentation.cures import heading, numbered_changes, untried_or
from kschedctl.presentation.document import INDENT, Document, Paragraph


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
    yield heading(untried=any(one.untried for one in suggestions))
    if not suggestions:
        if exhausted:
            told = "none: no single change and no pair of changes of the supported kinds helps"
        else:
            told = f"none of the {tried} changes and pairs of changes that were tried helps; not all were tried"
        yield Paragraph(told, indent=INDENT)
        return
    rows = [(one.summary, untried_or(one.untried, _then(one)), one.commands) for one in suggestions]
    yield from numbered_changes(rows, every=every)


def _then(one: SuggestionData) -> str:
    if one.then.members is None:
        told = f"is scheduled to {'one of ' if len(one.then.nodes) > 1 else ''}{listed(one.then.nodes)}"
    else:
        told = f"{counted(one.then.members, 'member')} {'is' if one.then.members == 1 else 'are'} scheduled"
    if one.evicts:
        told = f"evicts {listed(one.evicts)}, then {told}"
    if one.violates:
        told += f"; violates disruption budget {listed(one.violates)}"
    return "; ".join((told, *one.consequences))
