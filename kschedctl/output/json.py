"""``-o json``: an answer as JSON, as described by ``answers/schema.json``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kschedctl.common.text.characters import json_text
from kschedctl.output.form import Form, Medium, collected

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.answer import Answer
    from kschedctl.questions.frame import View


class Json(Form):
    """Indented JSON."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield the answer as JSON."""
        yield as_json(collected(answer))


def as_json(value: Answer) -> str:
    """Return an answer as indented JSON."""
    import msgspec

    return json_text(msgspec.json.format(value.to_json(), indent=2)) + "\n"
