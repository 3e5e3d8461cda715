"""``-o html``: a self-contained page, to be looked at in a browser and attached to a ticket; and HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kschedctl.output.form import Form, Medium

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.answer import Answer
    from kschedctl.questions.frame import View


class Html(Form):
    """A page with the answer, charts, and tables that can be sorted and filtered."""

    draws = True

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the page."""
        from kschedctl.output.page.page import as_page
        from kschedctl.questions.documents import document

        yield as_page(document(answer, replace(view, wide=True, drawn=True)), medium.command_line)


def as_html(answer: Answer) -> str:
    """Return an answer as an HTML fragment with its style, for notebooks.

    Examples
    --------
    >>> import kschedctl
    >>> "node-8 is ready" in as_html(kschedctl.load("fixtures/shop/cluster").describe_node("node-8"))
    True
    """
    from kschedctl.output.page.page import as_fragment
    from kschedctl.questions.documents import document
    from kschedctl.questions.frame import View

    return as_fragment(document(answer, View()))
