"""``-o name``: the names that the answer comes to, a line each, for other commands.

A name that an API server would take is printed as it is; a snapshot can hold others, which are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kschedctl.render.form import Form, Medium, collected
from kschedctl.text.printable import printable

if TYPE_CHECKING:
    from kschedctl.presentation.frame import View
    from kschedctl.render.form import Answers


class Name(Form):
    """Names alone."""

    name = "name"

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Print the names."""
        for name in collected(answer).names():
            yield f"{printable(name)}\n"
