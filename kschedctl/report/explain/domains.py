"""The topology domains that a spread constraint counts, as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kschedctl.report.document import GAP, Document, Paragraph, table
from kschedctl.report.explain.data import ReasonData


def domains_section(reasons: Iterable[ReasonData]) -> Document:
    """Print the matching pods by domain of every reason that has them."""
    for reason in reasons:
        if "domains" in reason.data:
            yield from _table_section(reason.data)


def _table_section(data: dict[str, Any]) -> Document:
    key, own, counts = str(data["topologyKey"]), str(data["domain"]), data["domains"]
    fewest = min(counts.values(), default=0)
    rows = []
    for domain, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        notes = [*(("this node's",) if domain == own else ()), *(("fewest",) if count == fewest else ())]
        rows.append((domain, str(count), ", ".join(notes)))
    yield GAP
    text = f"Matching pods by {key}: with this pod the skew is {data['skew']}, maxSkew {data['maxSkew']} is allowed"
    # With fewer domains than minDomains the global minimum counts as 0.
    if data["minimum"] != fewest:
        text += f" (the minimum counts as {data['minimum']})"
    yield Paragraph(text, indent=2)
    yield table((key, "pods", ""), rows, numeric=(1,))
