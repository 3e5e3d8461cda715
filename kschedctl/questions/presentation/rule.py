"""The document of ``rule``: pages about lint rules."""

from __future__ import annotations

from kschedctl.questions.answers.rule import RulePage, RulePages
from kschedctl.questions.presentation.document import GAP, Document, Heading, Paragraph, Phrases, Verbatim, table
from kschedctl.questions.presentation.frame import View, one_by_one
from kschedctl.questions.presentation.tone import Tone


def document(pages: RulePages, view: View) -> Document:
    """Lay out one page, or one line per page if there are several and the view is not wide."""
    if len(pages.items) > 1 and not view.wide:
        rows = [
            (
                page.code,
                page.severity if page.on else "off",
                page.place or "-",
                page.page.split("\n\n")[0].replace("\n", " "),
            )
            for page in pages.items
        ]
        yield table(("rule", "severity", "place", "problem"), rows)
        return
    yield from one_by_one(pages.items, view, _page)


def _page(page: RulePage, view: View) -> Document:
    yield Paragraph(f"{page.code} {page.name}", Tone.STRONG)
    state = page.severity if page.on else f"off by default, {page.severity}"
    facts = [state] + ([f"{page.place}: {page.place_in_words}"] if page.place else [])
    yield Phrases((*facts, *(("needs --snapshot",) if page.needs_snapshot else ())))
    for part in page.page.split("\n\n"):
        yield GAP
        yield Paragraph(part.replace("\n", " ").replace("``", ""))
    for title, text in (("Fails", page.fails), ("Passes", page.passes)):
        yield Heading(title)
        for line in text.splitlines():
            yield Verbatim(line)
