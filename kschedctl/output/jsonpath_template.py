"""JSONPath templates as in kubectl (client-go ``util/jsonpath``).

Text is printed unchanged; ``{...}`` contains a path (see ``jsonpath_steps``), a quoted text, ``range`` or ``end``. A
missing key prints nothing; an index that is out of bounds is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kschedctl.output.jsonpath_steps import JsonPathError, Step, parse_steps, printed, walk

_ACTION: Final = re.compile(r"""\{((?:[^{}"']|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')*)\}""")


@dataclass(frozen=True, slots=True)
class LiteralText:
    """Literal text of a template."""

    text: str


@dataclass(frozen=True, slots=True)
class RangeBlock:
    """A ``range`` block: a path, and the parts that are evaluated for each value that it finds."""

    steps: tuple[Step, ...]
    body: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """A path whose values are printed."""

    steps: tuple[Step, ...]


Part = LiteralText | RangeBlock | Path


def parse_template(template: str) -> tuple[Part, ...]:
    """Parse a template.

    Raises
    ------
    JsonPathError
        If the template is invalid.
    """
    return _block(_tokens(template), depth=0)


def evaluate(parts: tuple[Part, ...], data: Any) -> str:
    """Evaluate a template over data.

    Raises
    ------
    JsonPathError
        If a path does not fit the data.

    Examples
    --------
    >>> evaluate(parse_template("{range .items[*]}{.name}{'; '}{end}"), {"items": [{"name": "a"}, {"name": "b"}]})
    'a; b; '
    """
    out = []
    for part in parts:
        match part:
            case LiteralText(text):
                out.append(text)
            case RangeBlock(steps, body):
                out += [evaluate(body, value) for value in walk(steps, [data])]
            case Path(steps):
                out.append(" ".join(map(printed, walk(steps, [data]))))
    return "".join(out)


def _tokens(template: str) -> Iterator[tuple[str, str]]:
    """Yield literal text and the contents of braces, in order."""
    at = 0
    while at < len(template):
        brace = template.find("{", at)
        if brace < 0:
            yield "text", template[at:]
            return
        if brace > at:
            yield "text", template[at:brace]
        action = _ACTION.match(template, brace)
        if action is None:
            raise JsonPathError(f'"{template[brace:]}" has no closing brace')
        yield "action", action[1]
        at = action.end()


def _block(tokens: Iterator[tuple[str, str]], depth: int) -> tuple[Part, ...]:
    parts: list[Part] = []
    for kind, text in tokens:
        inside = text.strip()
        if kind == "text":
            parts.append(LiteralText(text))
        elif inside == "end":
            if not depth:
                raise JsonPathError("{end} has no {range}")
            return tuple(parts)
        elif inside == "range" or re.match(r"range[\s.@$\[]", inside):
            parts.append(RangeBlock(parse_steps(inside.removeprefix("range")), _block(tokens, depth + 1)))
        else:
            parts.append(Path(parse_steps(inside)))
    return tuple(parts)
