"""The section about the changes that admission made to a pod."""

from __future__ import annotations

from typing import Any

import msgspec

from kschedctl.questions.answers.explain import Explanation
from kschedctl.questions.presentation.document import GAP, Document, Paragraph, table
from kschedctl.questions.presentation.tone import Tone


def admission_section(explanation: Explanation) -> Document:
    """Lay out the changes of admission, field by field."""
    changes = explanation.admission.changes
    yield GAP
    if not changes:
        yield Paragraph("Admission changes nothing in this pod.", Tone.STRONG)
        return
    yield Paragraph("Changes by admission", Tone.STRONG)
    rows = [(change.plugin, f"{change.path}: {_shown(change.before)} -> {_shown(change.after)}") for change in changes]
    yield table(("plugin", "field: before -> after"), rows)


def _shown(value: Any) -> str:
    """Format a value as in a manifest, on one line."""
    if value is None:
        return "not set"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
