"""The reference section of docs/reasons.md: all in-tree plugins and their reasons."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kschedctl.questions.reference import reasons

REASONS: Final[Mapping[str, list[Any]]] = tomllib.loads(
    (Path(__file__).parents[1] / "conformance" / "reasons.toml").read_text()
)


def reference() -> str:
    """Return the section as Markdown."""
    notes = {
        plugin: {entry if isinstance(entry, str) else entry["reason"]: releases(entry) for entry in entries}
        for plugin, entries in REASONS.items()
    }
    lines: list[str] = []
    for title, texts in reasons(notes).items():
        lines += ["", f"## {title}"]
        for name, text in texts.items():
            lines += ["", f"### {name}", "", text]
    return "\n".join(lines[1:])


def releases(entry: Any) -> str:
    """Return the releases that give a reason, in words; empty if all do."""
    if isinstance(entry, str):
        return ""
    since, until = entry.get("since"), entry.get("until")
    if since and until:
        return f" ({since})" if since == until else f" ({since} to {until})"
    return f" (since {since})" if since else f" (until {until})"
