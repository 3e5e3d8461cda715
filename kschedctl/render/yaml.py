"""``-o yaml``: the data of ``-o json``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kschedctl.render.form import Form, Medium, collected
from kschedctl.render.plain import plain
from kschedctl.text.printable import unseen

if TYPE_CHECKING:
    from kschedctl.answers.base import Answer
    from kschedctl.presentation.frame import View
    from kschedctl.render.form import Answers


class Yaml(Form):
    """YAML."""

    name = "yaml"

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Print the data."""
        yield as_yaml(collected(answer), unicode=medium.console().encoding.startswith("utf"))


def as_yaml(value: Answer, *, unicode: bool = True) -> str:
    """An answer as YAML.

    Parameters
    ----------
    value : Answer
        The answer.
    unicode : bool
        Whether characters beyond ASCII may stand as they are; where one of them cannot be seen, all are escaped.
    """
    data = plain(value)
    text = dumped(data, unicode=unicode)
    hidden = not text.isascii() and any(unseen(character) and character != "\n" for character in set(text))
    # YAML escapes within quotes alone, and its writer chooses these once for all characters beyond ASCII.
    return dumped(data, unicode=False) if hidden else text


def dumped(data: Any, *, unicode: bool = False) -> str:
    """Plain data as YAML.

    Parameters
    ----------
    unicode : bool
        As for ``as_yaml``.
    """
    import yaml

    text: str = yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=unicode, width=120)
    return text
