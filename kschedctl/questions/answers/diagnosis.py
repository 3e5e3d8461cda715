"""Diagnoses as data: the form that all answers share."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.questions.answers.base import Data


class DiagnosisData(Data, frozen=True):
    """The cause of a problem."""

    rule: Annotated[str, Meta(description="The name of the rule that found the cause.")]
    cause: Annotated[str, Meta(description="The cause in one clause, with names and numbers.")]
    evidence: Annotated[tuple[str, ...], Meta(description="Facts that show the cause.")]
    checks: Annotated[tuple[str, ...], Meta(description="Commands that show what the snapshot does not contain.")]
