"""The sections of a page: the blocks of a document, by the headings that they come after."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kschedctl.questions.document import Block, Gap, Heading, Paragraph, Question, Questions, Tone, Verbatim


@dataclass(frozen=True, slots=True)
class NextQuestion:
    """A next question, with the command that answers it and the address of the page that does; either may be empty."""

    text: str
    command: str
    address: str


@dataclass(frozen=True, slots=True)
class NextQuestions:
    """The next questions that can be answered by a command or a page."""

    questions: tuple[NextQuestion, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines that are shown as they are, such as commands."""

    lines: tuple[str, ...]


@dataclass(slots=True)
class Section:
    """A section: a heading, empty for none, and the blocks below it."""

    heading: str
    blocks: list[Block | Lines | NextQuestions] = field(default_factory=list)


@dataclass(slots=True)
class Page:
    """The contents of a page.

    Attributes
    ----------
    title : str
        The first paragraph of the document, which is the answer in a sentence.
    tone : Tone
        The tone of the answer.
    sections : list of Section
        Everything else.
    """

    title: str = ""
    tone: Tone = Tone.PLAIN
    sections: list[Section] = field(default_factory=lambda: [Section("")])


def page_of(
    blocks: Iterable[Block], command_line: Callable[[Question], str], address: Callable[[Question], str]
) -> Page:
    """Divide a document into the answer and sections.

    Parameters
    ----------
    command_line : callable
        Writes a next question as the command that answers it; empty for none.
    address : callable
        Returns the address of the page that answers a next question; empty for none.
    """
    page = Page()
    for block in blocks:
        match block:
            case Paragraph() if not page.title and not block.indent:
                page.title, page.tone = block.text, block.tone
            case Heading():
                page.sections.append(Section(block.text))
            case Gap():
                page.sections.append(Section(""))
            case Questions():
                asked = (NextQuestion(q.text, command_line(q), address(q)) for q in block.questions)
                page.sections[-1].blocks.append(NextQuestions(tuple(q for q in asked if q.command or q.address)))
            case Verbatim():
                _append_line(page.sections[-1].blocks, block)
            case _:
                page.sections[-1].blocks.append(block)
    page.sections = [each for each in page.sections if each.blocks]
    return page


def _append_line(blocks: list[Block | Lines | NextQuestions], block: Verbatim) -> None:
    """Append a line to the lines before it, so that lines in a row are one element."""
    before = blocks.pop() if blocks and isinstance(blocks[-1], Lines) else Lines(())
    assert isinstance(before, Lines)
    blocks.append(Lines((*before.lines, block.text)))


def nowhere(question: Question) -> str:
    """Return no address: for pages that are not served."""
    return ""
