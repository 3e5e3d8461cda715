"""The section about changes with which a drain or a rollout finishes."""

from __future__ import annotations

from collections.abc import Sequence

from kschedctl.answers.cures import CureData
from kschedctl.presentation.document import INDENT, Document, Heading, Paragraph, Tone, Verbatim, table


def cures_section(cures: Sequence[CureData], *, every: bool) -> Document:
    """Lay out cures as a table.

    Parameters
    ----------
    every : bool
        True to show the commands that make the changes.
    """
    if not cures:
        return
    untried = any(one.untried for one in cures)
    yield Heading("Suggestions (each tried, unless it says otherwise)" if untried else "Suggestions (each tried)")
    rows = [
        (str(number), one.summary, f"not tried: {one.untried}" if one.untried else one.then)
        for number, one in enumerate(cures, 1)
    ]
    yield table(("", "change", "then"), rows, numeric=(0,))
    if every and any(one.commands for one in cures):
        yield Paragraph("Commands", Tone.FAINT, INDENT)
        for number, one in enumerate(cures, 1):
            for line in one.commands:
                yield Verbatim(f"{number}  {line}", indent=INDENT)
