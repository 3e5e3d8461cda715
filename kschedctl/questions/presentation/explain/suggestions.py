"""The section about changes with which a pod would fit."""

from __future__ import annotations

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.explain import SuggestionData
from kschedctl.questions.presentation.cures import heading, numbered_changes, untried_or
from kschedctl.questions.presentation.document import INDENT, Document, Paragraph


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
        True if the search did not stop at its limit of tries.
    every : bool
        True to show the commands that make the changes.
    """
    yield heading(untried=any(one.untried for one in suggestions))
    if not suggestions:
        told = "none"
        if tried:
            told = f"none helps: {counted(tried, 'change')} {'was' if tried == 1 else 'were'} tried, alone or in pairs"
        yield Paragraph(told if exhausted else f"{told}; not all were tried", indent=INDENT)
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
