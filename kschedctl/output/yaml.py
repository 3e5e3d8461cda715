"""``-o yaml``: the data of ``-o json`` as YAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kschedctl.common.text.characters import is_invisible
from kschedctl.output.form import Form, Medium, collected

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.answer import Answer
    from kschedctl.questions.frame import View


class Yaml(Form):
    """YAML."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the answer as YAML."""
        yield as_yaml(collected(answer), unicode=medium.console().encoding.startswith("utf"))


def as_yaml(value: Answer, *, unicode: bool = True) -> str:
    """Return an answer as YAML.

    Parameters
    ----------
    value : Answer
        The answer.
    unicode : bool
        True to print characters beyond ASCII unescaped; if one of them is invisible, all are escaped.
    """
    data = value.to_dict()
    text = dumped(data, unicode=unicode)
    hidden = not text.isascii() and any(is_invisible(character) and character != "\n" for character in set(text))
    # YAML escapes only within quotes, and the writer's choice applies to all characters beyond ASCII.
    return dumped(data, unicode=False) if hidden else text


def dumped(data: Any, *, unicode: bool = False) -> str:
    """Return plain data as YAML.

    Parameters
    ----------
    unicode : bool
        True to print characters beyond ASCII unescaped.
    """
    import yaml

    text: str = yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=unicode, width=120)
    return text
