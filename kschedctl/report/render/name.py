"""``-o name``: the names that the answer comes to, a line each, for other commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kschedctl.report.render.form import Form, Reply

if TYPE_CHECKING:
    from rich.console import Console


class Name(Form):
    """Names alone."""

    name = "name"

    def render(self, reply: Reply, console: Callable[[], Console]) -> Iterator[str]:
        """Print the names."""
        yield reply.value().names()
