"""The form in which all answers have diagnoses."""

from __future__ import annotations

from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.questions.answers.diagnosis import DiagnosisData


def diagnosis_data(diagnosis: Diagnosis) -> DiagnosisData:
    """Return a diagnosis as data."""
    return DiagnosisData(diagnosis.rule, diagnosis.cause, diagnosis.evidence, diagnosis.checks)
