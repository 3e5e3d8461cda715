"""``-o yaml``: the data of ``-o json``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kschedctl.report.render.form import Form, Reply
from kschedctl.report.render.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

    from kschedctl.report.envelope import Answer, Compound


class Yaml(Form):
    """YAML."""

    name = "yaml"

    def render(self, reply: Reply, console: Callable[[], Console]) -> Iterator[str]:
        """Print the data."""
        yield as_yaml(reply.value())


def as_yaml(value: Answer | Compound) -> str:
    """An answer as YAML."""
    import yaml

    text: str = yaml.dump(plain(value), Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120)
    return text
