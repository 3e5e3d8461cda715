"""``-o name``: the names that the answer comes to, a line each, for other commands.

A name that an API server would take is printed as it is; a snapshot can hold others, which are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kschedctl.report.render.form import Form, Reply
from kschedctl.report.render.printable import printable

if TYPE_CHECKING:
    from rich.console import Console


class Name(Form):
    """Names alone."""

    name = "name"

    def render(self, reply: Reply, console: Callable[[], Console]) -> Iterator[str]:
        """Print the names."""
        for name in reply.value().names():
            yield f"{printable(name)}\n"
