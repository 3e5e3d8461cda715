"""``-o jsonpath=TEMPLATE``: what a template makes of the data of ``-o json``, as kubectl prints it.

Programs get it raw, as from kubectl; on a terminal what cannot be seen is escaped, but for newlines and tabs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from kschedctl.render.form import Form, FormError, Medium, collected
from kschedctl.render.plain import plain
from kschedctl.text.printable import printable

if TYPE_CHECKING:
    from kschedctl.presentation.frame import View
    from kschedctl.render.form import Answers

#: Templates have newlines and tabs of their own, between columns.
_SHOWN: Final = re.compile(r"[^\n\t]+")


@dataclass(frozen=True, slots=True)
class JsonPath(Form):
    """A template's text."""

    template: str

    name = "jsonpath"
    argument = "TEMPLATE"

    @classmethod
    def parse(cls, argument: str) -> Self:
        """Read the template.

        Raises
        ------
        FormError
            Where it is none.
        """
        from kschedctl.render.jsonpath_steps import JsonPathError
        from kschedctl.render.jsonpath_template import parse_template

        try:
            parse_template(argument)
        except JsonPathError as error:
            raise FormError(f"jsonpath: {error}") from None
        return cls(argument)

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Print what the template makes of the data."""
        from kschedctl.render.jsonpath_template import evaluate, parse_template

        text = evaluate(parse_template(self.template), plain(collected(answer)))
        yield _SHOWN.sub(lambda found: printable(found[0]), text) if medium.console().file.isatty() else text
