"""The table of topology domains that a spread constraint counts."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from kschedctl.answers.explain import ReasonData
from kschedctl.plugins.pod_topology_spread.filtering import SkewTooHigh
from kschedctl.presentation.document import GAP, Document, Paragraph, table


def domains_section(reasons: Iterable[ReasonData]) -> Document:
    """Lay out the number of matching pods per domain, for every reason that has it."""
    for reason in reasons:
        if isinstance(reason.operands, SkewTooHigh) and reason.operands.domains is not UNSET:
            yield from _table_section(reason.operands, reason.operands.domains)


def _table_section(skew: SkewTooHigh, counts: dict[str, int]) -> Document:
    key, fewest = skew.topology_key, min(counts.values(), default=0)
    rows = []
    for domain, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        notes = [*(("this node's",) if domain == skew.domain else ()), *(("fewest",) if count == fewest else ())]
        rows.append((domain, str(count), ", ".join(notes)))
    yield GAP
    text = f"Matching pods by {key}: with this pod the skew is {skew.skew}, maxSkew {skew.max_skew} is allowed"
    # With fewer domains than minDomains the global minimum counts as 0.
    if skew.minimum != fewest:
        text += f" (the minimum counts as {skew.minimum})"
    yield Paragraph(text, indent=2)
    yield table((key, "pods", ""), rows, numeric=(1,))
