"""Documents as HTML: a self-contained page, or a fragment."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from markupsafe import Markup

from kschedctl.output.page.assets import assets
from kschedctl.output.page.environment import shared_environment
from kschedctl.output.page.sections import nowhere, page_of
from kschedctl.questions.document import Block, Question


def as_page(blocks: Iterable[Block], command_line: Callable[[Question], str]) -> str:
    """Return a document as a self-contained HTML page, which makes no request and runs only its own script.

    Parameters
    ----------
    blocks : iterable of Block
        The document; its first paragraph is the title.
    command_line : callable
        Writes a next question as the command that answers it.
    """
    page = page_of(blocks, command_line, nowhere)
    return shared_environment().get_template("page.html.j2").render(page=page, assets=assets(), link=_no_link)


def as_fragment(blocks: Iterable[Block]) -> Markup:
    """Return a document as an element with its style, for notebooks; without scripts and next questions."""
    page = page_of(blocks, _no_link, nowhere)
    text = shared_environment().get_template("fragment.html.j2").render(page=page, assets=assets(), link=_no_link)
    return Markup(text)


def _no_link(_: object) -> str:
    return ""
