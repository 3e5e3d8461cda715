"""What admission did to a pod, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kschedctl.report.explain.data import Explanation
from kschedctl.report.render import layout

if TYPE_CHECKING:
    from rich.console import Console


def refusals(explanation: Explanation) -> tuple[str, ...]:
    """A sentence for each quota that refuses the pod."""
    pod = explanation.pod
    return tuple(
        f"{pod.namespace}/{pod.name} would be refused by quota {refusal.quota} before the scheduler sees it: "
        f"{refusal.message}"
        for refusal in explanation.admission.quota_refusals
    )


def print_admission(console: Console, explanation: Explanation) -> None:
    """Print what admission changed, field by field."""
    changes = explanation.admission.changes
    console.print()
    if not changes:
        layout.paragraph(console, "Admission changes nothing in this pod.", "bold")
        return
    layout.paragraph(console, "What admission changes", "bold")
    rows = [(change.plugin, f"{change.path}: {_shown(change.before)} -> {_shown(change.after)}") for change in changes]
    layout.table(console, ("plugin", "field: before -> after"), rows)


def _shown(value: Any) -> str:
    """A value as in a manifest, on one line."""
    if value is None:
        return "not set"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
