"""``-o jsonpath=TEMPLATE``: the data of ``-o json`` formatted by a template, as in kubectl.

Output that is piped is raw, as with kubectl; on a terminal invisible characters except newlines and tabs are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from kschedctl.common.text.characters import printable
from kschedctl.output.form import Form, FormError, Medium, collected

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.frame import View

#: The parts of the output that are escaped: newlines and tabs come from the template, between columns.
_SHOWN: Final = re.compile(r"[^\n\t]+")


@dataclass(frozen=True, slots=True)
class JsonPath(Form):
    """Text formatted by a JSONPath template."""

    template: str

    @classmethod
    def parse(cls, argument: str) -> Self:
        """Parse the template.

        Raises
        ------
        FormError
            If the template is invalid.
        """
        from kschedctl.output.jsonpath_steps import JsonPathError
        from kschedctl.output.jsonpath_template import parse_template

        if not argument:
            raise FormError("jsonpath: needs a template, such as jsonpath={.verdict.summary}")
        try:
            parse_template(argument)
        except JsonPathError as error:
            raise FormError(f"jsonpath: {error}") from None
        return cls(argument)

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the data formatted by the template."""
        from kschedctl.output.jsonpath_template import evaluate, parse_template

        text = evaluate(parse_template(self.template), collected(answer).to_dict())
        yield _SHOWN.sub(lambda found: printable(found[0]), text) if medium.console().file.isatty() else text
