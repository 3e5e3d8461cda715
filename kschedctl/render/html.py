"""Answers as HTML, for notebooks: the document of an answer without the suggested commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from kschedctl.answers.base import Answer
from kschedctl.presentation.document import (
    Block,
    Heading,
    Lines,
    Paragraph,
    Phrases,
    Scatter,
    Table,
    Tone,
    Verbatim,
)
from kschedctl.presentation.frame import View
from kschedctl.presentation.registry import document
from kschedctl.render.svg import picture
from kschedctl.text.printable import printable

#: The style of a tone; colours that can be read on light and dark backgrounds.
_STYLES: Final = {
    Tone.PLAIN: "",
    Tone.STRONG: "font-weight:bold",
    Tone.FAINT: "opacity:.7",
    Tone.GOOD: "font-weight:bold;color:#2a9d3f",
    Tone.BAD: "font-weight:bold;color:#d64541",
    Tone.MIXED: "font-weight:bold;color:#b8860b",
    Tone.CAUTION: "color:#b8860b",
}


def as_html(answer: Answer) -> str:
    """Return an answer as a self-contained HTML fragment.

    Examples
    --------
    >>> import kschedctl
    >>> as_html(kschedctl.load("fixtures/shop/cluster").describe_node("node-8"))[:64]
    '<div><p style="font-weight:bold;color:#2a9d3f">node-8 is ready; '
    """
    return f"<div>{''.join(_parts(document(answer, View())))}</div>"


def _parts(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Heading():
                yield _element("h4", block.text)
            case Paragraph():
                yield _element("p", block.text, _STYLES[block.tone])
            case Phrases():
                yield _element("p", " \N{MIDDLE DOT} ".join(block.texts))
            case Verbatim():
                yield _element("pre", block.text)
            case Table():
                yield _table(block)
            case Scatter():
                yield picture([block])
            case _:
                # A gap has no text, and commands are for a shell.
                pass


def _table(block: Table) -> str:
    head = "".join(_element("th", heading, "text-align:left") for heading in block.headings)
    tones = block.tones or (Tone.PLAIN,) * len(block.rows)
    rows = (
        "".join(_cell(lines, tone, right=i in block.numeric) for i, lines in enumerate(row))
        for row, tone in zip(block.rows, tones, strict=True)
    )
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _cell(lines: Lines, tone: Tone, *, right: bool) -> str:
    style = ";".join(part for part in (f"text-align:{'right' if right else 'left'}", _STYLES[tone]) if part)
    return f'<td style="{style}">{"<br>".join(map(_text, lines))}</td>'


def _element(name: str, text: str, style: str = "") -> str:
    attributes = f' style="{style}"' if style else ""
    return f"<{name}{attributes}>{_text(text)}</{name}>"


def _text(text: str) -> str:
    """Return a text with invisible characters and markup escaped."""
    return escape(printable(text))
