"""``-o jsonl``: one JSON object per line, for the rows of a table or for findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kschedctl.common.text.characters import json_text
from kschedctl.output.form import Form, Medium, as_table, collected

if TYPE_CHECKING:
    from kschedctl.output.form import Answers
    from kschedctl.questions.answer import Answer
    from kschedctl.questions.frame import View


class JsonLines(Form):
    """JSON Lines: one object per row or finding."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        """Yield a line per row or finding."""
        from kschedctl.common.text.json_text import encoded_json
        from kschedctl.questions.lint.answer import LintReport

        found = collected(answer)
        if isinstance(found, LintReport):
            rows: Iterable[object] = found.findings
        else:
            table = as_table(found)
            headings = table.headings()
            rows = (dict(zip(headings, row, strict=True)) for row in table.table())
        for row in rows:
            yield json_text(encoded_json(row)) + "\n"


def json_line(answer: Answer) -> str:
    """Return a whole answer as one line of JSON."""
    return json_text(answer.to_json()) + "\n"
