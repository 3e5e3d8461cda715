"""The forms for programs: JSON, YAML, CSV, JSON Lines and names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kschedctl.common.text.characters import is_invisible, json_text, printable
from kschedctl.output.forms import Form, Medium, as_table, collected

if TYPE_CHECKING:
    from kschedctl.output.forms import Answers
    from kschedctl.questions.answer import Answer
    from kschedctl.questions.frame import View


class Json(Form):
    """``-o json``: indented JSON."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        yield as_json(collected(answer))


def as_json(value: Answer) -> str:
    """Return an answer as indented JSON."""
    import msgspec

    return json_text(msgspec.json.format(value.json_bytes(), indent=2)) + "\n"


# ``-o yaml``: the data of ``-o json`` as YAML.


class Yaml(Form):
    """``-o yaml``: YAML."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        yield as_yaml(collected(answer), unicode=medium.console().encoding.startswith("utf"))


def as_yaml(value: Answer, *, unicode: bool = True) -> str:
    """Return an answer as YAML.

    Args:
        unicode: True to print characters beyond ASCII unescaped; if one of them is invisible, all are escaped.
    """
    data = value.to_dict()
    text = dumped(data, unicode=unicode)
    hidden = not text.isascii() and any(is_invisible(character) and character != "\n" for character in set(text))
    # YAML escapes only within quotes, and the writer's choice applies to all characters beyond ASCII.
    return dumped(data, unicode=False) if hidden else text


def dumped(data: Any, *, unicode: bool = False) -> str:
    """Return plain data as YAML.

    Args:
        unicode: True to print characters beyond ASCII unescaped.
    """
    import yaml

    text: str = yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=unicode, width=120)
    return text


# ``-o csv``: tabular answers as CSV (RFC 4180).


class Csv(Form):
    """``-o csv``: a line of headings, then a line per row."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        value = as_table(answer)
        yield _line(value.headings())
        for row in value.table():
            yield _line(row)


def _line(cells: Iterable[object]) -> str:
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([_text(cell) for cell in cells])
    return out.getvalue()


def _text(cell: object) -> object:
    """Return a cell in the notation of the other formats: booleans in lower case."""
    return str(cell).lower() if isinstance(cell, bool) else cell


# ``-o jsonl``: one JSON object per line, for the rows of a table or for findings.


class JsonLines(Form):
    """``-o jsonl``: one object per row or finding."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
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
    return json_text(answer.json_bytes()) + "\n"


# ``-o name``: the names of the resulting objects, one per line, as input of other commands.
#
# A name that an API server would accept is printed unchanged; a snapshot can contain others, which are escaped.


class Name(Form):
    """``-o name``: the names of the resulting objects."""

    def render(self, answer: Answers, view: View, medium: Medium) -> Iterator[str]:
        for name in collected(answer).names():
            yield f"{printable(name)}\n"
