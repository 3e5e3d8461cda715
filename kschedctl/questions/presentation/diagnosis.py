"""The sections about diagnoses, shared by all documents."""

from __future__ import annotations

from collections.abc import Sequence

from kschedctl.questions.answers.diagnosis import DiagnosisData
from kschedctl.questions.presentation.document import GAP, INDENT, Document, Paragraph, Verbatim
from kschedctl.questions.presentation.tone import Tone


def diagnosis_section(diagnoses: Sequence[DiagnosisData], *, first_is_told: bool = True) -> Document:
    """Lay out the causes with their evidence.

    Parameters
    ----------
    first_is_told : bool
        True if the first line of the document already has the first cause.
    """
    told = first_is_told
    for each in diagnoses:
        if not told:
            yield Paragraph(f"cause: {each.cause}", Tone.BAD)
        elif each is not diagnoses[0]:
            yield Paragraph(f"also: {each.cause}", Tone.MIXED)
        told = True
        for fact in each.evidence:
            yield Paragraph(fact, Tone.FAINT, INDENT)


def checks_section(diagnoses: Sequence[DiagnosisData]) -> Document:
    """Lay out the commands that show what the snapshot does not contain."""
    commands = tuple(dict.fromkeys(command for each in diagnoses for command in each.checks))
    if commands:
        yield GAP
        yield Paragraph("The snapshot does not contain more; look at", Tone.FAINT)
        for command in commands:
            yield Verbatim(command)
