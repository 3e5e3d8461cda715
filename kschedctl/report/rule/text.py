"""Pages of rules for people."""

from __future__ import annotations

from kschedctl.report.document import GAP, Document, Paragraph, Phrases, Tone, Verbatim, table
from kschedctl.report.rule.data import RulePage, RulePages


def document(pages: RulePages, *, wide: bool) -> Document:
    """One page, or of several a line each; with ``wide`` all of them."""
    if len(pages.items) > 1 and not wide:
        rows = [
            (
                page.code,
                page.severity if page.on else "off",
                page.place or "-",
                page.page.split("\n\n")[0].replace("\n", " "),
            )
            for page in pages.items
        ]
        yield table(("rule", "severity", "place", "what it finds"), rows)
        return
    for i, page in enumerate(pages.items):
        if i:
            yield from (GAP, GAP)
        yield from _page(page)


def _page(page: RulePage) -> Document:
    yield Paragraph(f"{page.code} {page.name}", Tone.STRONG)
    state = page.severity if page.on else f"off unless it is selected, {page.severity}"
    facts = [state] + ([f"{page.place}: {page.place_in_words}"] if page.place else [])
    yield Phrases((*facts, *(("needs --snapshot",) if page.needs_snapshot else ())))
    for part in page.page.split("\n\n"):
        yield GAP
        yield Paragraph(part.replace("\n", " ").replace("``", ""))
    for title, text in (("Fails", page.fails), ("Passes", page.passes)):
        yield GAP
        yield Paragraph(title, Tone.STRONG)
        for line in text.splitlines():
            yield Verbatim(line)
