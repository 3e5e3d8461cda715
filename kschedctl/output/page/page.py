"""``-o html``: a self-contained page, to be looked at in a browser and attached to a ticket; and HTML for notebooks."""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from msgspec.structs import replace

from kschedctl.common.text.characters import printable
from kschedctl.output.forms import Form, Medium
from kschedctl.output.page.drawing import FILTERS, is_dense, is_short
from kschedctl.questions.charts import Bars
from kschedctl.questions.document import Block, Gap, Heading, Paragraph, Provenance, Question, Questions, Tone, Verbatim
from kschedctl.questions.frame import time_in_words

if TYPE_CHECKING:
    from kschedctl.output.forms import Answers
    from kschedctl.questions.answer import Answer
    from kschedctl.questions.frame import View


class Html(Form):
    """A page with the answer, charts, and tables that can be sorted and filtered."""

    draws = True

    def render(self, answer: "Answers", view: "View", medium: Medium) -> Iterator[str]:
        from kschedctl.questions.documents import document

        yield as_page(document(answer, replace(view, wide=True, drawn=True)), medium.command_line, view.now)


def as_html(answer: "Answer") -> str:
    """Return an answer as an HTML fragment with its style, for notebooks.

    >>> import kschedctl
    >>> "node-8 is ready" in as_html(kschedctl.load("fixtures/shop/cluster").nodes("node-8"))
    True
    """
    from kschedctl.questions.documents import document
    from kschedctl.questions.frame import View

    return as_fragment(document(answer, View()))


# The style sheet and the script of pages, and the Content-Security-Policy that allows nothing else.


@dataclass(frozen=True, slots=True)
class Assets:
    """The texts that a self-contained page contains."""

    #: The style sheet and the script.
    style: Markup
    script: Markup
    #: The Content-Security-Policy: only this style and this script, and no request to anywhere.
    policy: str


@cache
def assets() -> Assets:
    """Return the assets of self-contained pages."""
    style, script = asset("style.css"), asset("script.js")
    policy = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return Assets(Markup(style), Markup(script), "; ".join(f"{name} {value}" for name, value in policy.items()))


def asset(name: str) -> str:
    """Return the text of a file of this package: ``style.css`` or ``script.js``."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# The Jinja environment of all pages: every text is escaped, and invisible characters are shown.


def environment(loaders: Iterable[BaseLoader] = ()) -> Environment:
    """Return an environment with the templates of this package, after those of ``loaders``.

    Names in a cluster can contain any character. So autoescape is on for all templates, and control and invisible
    characters are shown as escape sequences.
    """
    made = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader(__package__)]),
        autoescape=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else printable(str(value)),
    )
    made.filters.update(FILTERS)
    made.tests["short"] = is_short
    made.tests["dense"] = is_dense
    return made


@cache
def shared_environment() -> Environment:
    """Return the environment of pages without templates of others."""
    return environment()


# The sections of a page: the blocks of a document, by the headings that they come after.


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
    """The contents of a page."""

    #: The first paragraph of the document, which is the answer in a sentence.
    title: str = ""
    tone: Tone = Tone.PLAIN
    #: The subject of the answer, and its state in a word; both may be empty.
    subject: str = ""
    state: str = ""
    #: The first provenance in the document: the cluster, and the time of its state.
    provenance: Provenance = field(default_factory=lambda: Provenance((), ()))
    #: Everything else.
    sections: list[Section] = field(default_factory=lambda: [Section("")])


def page_of(
    blocks: Iterable[Block], command_line: Callable[[Question], str], address: Callable[[Question], str]
) -> Page:
    """Divide a document into the answer and sections.

    Args:
        command_line: Writes a next question as the command that answers it; empty for none.
        address: Returns the address of the page that answers a next question; empty for none.
    """
    page = Page()
    for block in blocks:
        match block:
            case Paragraph() if not page.title and not block.indent:
                page.title, page.tone = block.text, block.tone
                page.subject, page.state, *_ = *block.heading, "", ""
            case Bars() if block.says_nothing:
                pass
            case Heading():
                page.sections.append(Section(block.text))
            case Gap():
                page.sections.append(Section(""))
            case Questions():
                asked = (NextQuestion(q.text, command_line(q), address(q)) for q in block.questions)
                page.sections[-1].blocks.append(NextQuestions(tuple(q for q in asked if q.command or q.address)))
            case Verbatim():
                # Lines in a row are one element.
                shown = page.sections[-1].blocks
                before = shown.pop() if shown and isinstance(shown[-1], Lines) else Lines(())
                assert isinstance(before, Lines)
                shown.append(Lines((*before.lines, block.text)))
            case _:
                if isinstance(block, Provenance) and not page.provenance.cluster:
                    page.provenance = block
                page.sections[-1].blocks.append(block)
    page.sections = [each for each in page.sections if each.blocks]
    return page


def nowhere(question: Question) -> str:
    """Return no address: for pages that are not served."""
    return ""


# Documents as HTML: a self-contained page, or a fragment.


def as_page(blocks: Iterable[Block], command_line: Callable[[Question], str], now: datetime) -> str:
    """Return a document as a self-contained HTML page, which makes no request and runs only its own script.

    Args:
        blocks: The document; its first paragraph is the answer.
        command_line: Writes a next question as the command that answers it.
        now: The time of the page.
    """
    page = page_of(blocks, command_line, nowhere)
    values = {"page": page, "assets": assets(), "link": _no_link, "lead": nowhere, "version": version("kschedctl")}
    return (
        shared_environment()
        .get_template("page.html.j2")
        .render(**values, made_at=time_in_words(now.astimezone(UTC)), in_full=False, has_frame=True)
    )


def as_fragment(blocks: Iterable[Block]) -> Markup:
    """Return a document as an element with its style, for notebooks; without scripts and next questions."""
    page = page_of(blocks, _no_link, nowhere)
    text = (
        shared_environment()
        .get_template("fragment.html.j2")
        .render(page=page, assets=assets(), link=_no_link, lead=nowhere, in_full=False, has_frame=False)
    )
    return Markup(text)


def _no_link(_: object) -> str:
    return ""
