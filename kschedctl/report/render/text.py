"""The answer for people, on a terminal or in a pipe: in short, and with ``-o wide`` in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kschedctl.report.render.form import Form, Reply

if TYPE_CHECKING:
    from rich.console import Console


class Text(Form):
    """What fits on a screen."""

    name = ""

    def render(self, reply: Reply, console: Callable[[], Console]) -> Iterator[str]:
        """Print the blocks of the answer."""
        from kschedctl.report.render.terminal import render

        yield from render(reply.document(wide=False), console())


class Wide(Form):
    """Everything, one by one."""

    name = "wide"

    def render(self, reply: Reply, console: Callable[[], Console]) -> Iterator[str]:
        """Print the blocks of the answer in full."""
        from kschedctl.report.render.terminal import render

        yield from render(reply.document(wide=True), console())
