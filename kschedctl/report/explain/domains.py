"""The topology domains that a spread constraint counts, as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kschedctl.report.explain.data import ReasonData
from kschedctl.report.render import layout

if TYPE_CHECKING:
    from rich.console import Console


def print_domains(console: Console, reasons: Iterable[ReasonData]) -> None:
    """Print the matching pods by domain of every reason that has them."""
    for reason in reasons:
        if "domains" in reason.data:
            _print_table(console, reason.data)


def _print_table(console: Console, data: dict[str, Any]) -> None:
    key, own, counts = str(data["topologyKey"]), str(data["domain"]), data["domains"]
    fewest = min(counts.values(), default=0)
    rows = []
    for domain, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        notes = [*(("this node's",) if domain == own else ()), *(("fewest",) if count == fewest else ())]
        rows.append((domain, str(count), ", ".join(notes)))
    console.print()
    text = f"Matching pods by {key}: with this pod the skew is {data['skew']}, maxSkew {data['maxSkew']} is allowed"
    # With fewer domains than minDomains the global minimum counts as 0.
    if data["minimum"] != fewest:
        text += f" (the minimum counts as {data['minimum']})"
    layout.paragraph(console, text, indent=2)
    layout.table(console, (key, "pods", ""), rows, numeric=(1,))
