"""``-o json``: as described by the command's file in ``schema``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kschedctl.report.render.form import Form, Reply
from kschedctl.report.render.plain import plain
from kschedctl.report.render.printable import json_text

if TYPE_CHECKING:
    from rich.console import Console

    from kschedctl.report.envelope import Answer, Compound


class Json(Form):
    """JSON, indented."""

    name = "json"

    def render(self, reply: Reply, console: Callable[[], Console]) -> Iterator[str]:
        """Print the data."""
        yield as_json(reply.value())


def as_json(value: Answer | Compound) -> str:
    """An answer as JSON."""
    import msgspec

    return json_text(msgspec.json.format(msgspec.json.encode(plain(value)), indent=2)) + "\n"
