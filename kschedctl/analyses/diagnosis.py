"""The form in which all answers have diagnoses."""

from __future__ import annotations

from kschedctl.answers.diagnosis import DiagnosisData
from kschedctl.diagnosis.diagnosis import Diagnosis


def diagnosis_data(diagnosis: Diagnosis) -> DiagnosisData:
    """Return a diagnosis as data."""
    return DiagnosisData(diagnosis.rule, diagnosis.cause, diagnosis.evidence, diagnosis.checks)
