"""``-o name``: the names of the resulting objects, one per line, as input of other commands.

A name that an API server would accept is printed unchanged; a snapshot can contain others, which are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kschedctl.common.text.characters import printable
from kschedctl.output.form import Form, Medium, collected

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.frame import View


class Name(Form):
    """The names of the resulting objects."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the names, one per line."""
        for name in collected(answer).names():
            yield f"{printable(name)}\n"
