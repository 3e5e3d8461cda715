"""The steps of a JSONPath: names, ``..``, ``*``, indexes, slices, unions and filters ``[?(@.a=="b")]``."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from kschedctl.common.errors import InputError

_STEP: Final = re.compile(
    r"""\s+|[@$]
    |(?P<quote>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<recursive>\.\.)
    |\[\?\((?P<filter>(?:[^"'()]|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')*)\)\]
    |\[(?P<array>(?:[^\]"']|"[^"]*"|'[^']*')*)\]
    |\.?(?P<field>(?:\\.|[^\s.,\[\]$@{}"'\\?()])+)
    |\.(?=\[|$)""",
    re.VERBOSE,
)
_KEY: Final = re.compile(r"""(['"])(.*)\1""", re.DOTALL)
_INDEX: Final = re.compile(r"(-?\d{1,18})?(?:(:)(-?\d{1,18})?(?::(-?\d{1,18})?)?)?")
_COMPARISON: Final = re.compile(r"""((?:[^!<>="']|"[^"]*"|'[^']*')+?)\s*(==|!=|<=|>=|<|>)\s*(.+)""", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?")
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Values = list[Any]
#: A step of a path: maps the values found so far to the values found by the step.
Step = Callable[[Values], Values]


class JsonPathError(InputError):
    """An invalid template, or a template that does not fit the data."""


def printed(value: Any) -> str:
    """Return a value as kubectl prints it: strings unchanged, everything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        # Go's JSON encoder escapes these characters by default, for HTML.
        return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return json.dumps(value)


def walk(steps: tuple[Step, ...], values: Values) -> Values:
    """Apply all steps of a path in order."""
    for step in steps:
        values = step(values)
    return values


def parse_steps(path: str) -> tuple[Step, ...]:
    """Parse a path.

    Raises
    ------
    JsonPathError
        If the path is invalid.
    """
    steps: list[Step] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or match.end() == at:
            raise JsonPathError(f'"{path[at:]}" cannot be parsed')
        at = match.end()
        match match.lastgroup:
            case "quote":
                steps.append(_constant(_unquoted(match["quote"])))
            case "recursive":
                steps.append(_descend)
            case "filter":
                steps.append(_filter(match["filter"]))
            case "array":
                steps.append(_array(match["array"]))
            case "field":
                steps.append(_named(match["field"], match[0].startswith("."), previous=path[: match.start()]))
    return tuple(steps)


def _named(name: str, dotted: bool, previous: str) -> Step:
    if name == "*":
        return _children
    if not dotted and not previous.endswith(".."):
        if name in ("true", "false"):
            return _constant(name == "true")
        if _NUMBER.fullmatch(name):
            return _constant(json.loads(name.removeprefix("+")))
        raise JsonPathError(f'"{name}" is not a path: a path begins with a dot, as in {{.{name}}}')
    return _field(name.replace("\\", ""))


def _unquoted(text: str) -> str:
    inside = text[1:-1]
    if text[0] == "'":
        inside = inside.replace("\\'", "'").replace('"', '\\"')
    try:
        return str(json.loads(f'"{inside}"', strict=False))
    except ValueError:
        raise JsonPathError(f"{text} has an invalid escape sequence") from None


def _constant(value: Any) -> Step:
    return lambda values: [value for _ in values]


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _contents(value: Any) -> Values:
    return list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []


def _children(values: Values) -> Values:
    return [child for value in values for child in _contents(value)]


def _descend(values: Values) -> Values:
    """Return the values and all non-empty dicts and lists below them."""
    out = []
    for value in values:
        if contents := _contents(value):
            out += [value, *_descend(contents)]
    return out


def _array(text: str) -> Step:
    inside = text.strip()
    union = re.split(r""",(?=(?:[^'"]|'[^']*'|"[^"]*")*$)""", inside)
    if len(union) > 1:
        steps = [_array(part) for part in union]
        return lambda values: [found for step in steps for found in step(values)]
    if inside == "*":
        return _slice(None, None, None)
    if key := _KEY.fullmatch(inside):
        return _field(key[2].replace("\\", ""))
    match = _INDEX.fullmatch(inside)
    if match is None or not inside:
        raise JsonPathError(f"[{text}] is not an index, slice or quoted key")
    start, end, step = (int(part) if part else None for part in (match[1], match[3], match[4]))
    return _slice(start, end, step) if match[2] else _index(start or 0)


def _sequences(values: Values) -> Iterator[list[Any]]:
    for value in values:
        if value is None:
            continue
        if not isinstance(value, list):
            raise JsonPathError(f"{printed(value)[:60]} is not an array")
        yield value


def _index(index: int) -> Step:
    def step(values: Values) -> Values:
        out = []
        for sequence in _sequences(values):
            if not -len(sequence) <= index < len(sequence):
                raise JsonPathError(f"array index out of bounds: index {index}, length {len(sequence)}")
            out.append(sequence[index])
        return out

    return step


def _slice(start: int | None, end: int | None, step: int | None) -> Step:
    if step is not None and step <= 0:
        raise JsonPathError("the step of a slice must be greater than 0")

    def take(values: Values) -> Values:
        out = []
        for sequence in _sequences(values):
            length = len(sequence)
            first = (start or 0) + (length if (start or 0) < 0 else 0)
            last = length if end is None else end + (length if end < 0 else 0)
            if first != last and (not 0 <= first < length or not 0 <= last <= length):
                raise JsonPathError(f"array index out of bounds: {first} to {last}, length {length}")
            if first > last:
                raise JsonPathError(f"starting index {first} is greater than ending index {last}")
            out += sequence[first : last : step or 1]
        return out

    return take


def _filter(text: str) -> Step:
    comparison = _COMPARISON.fullmatch(text.strip())
    left = parse_steps(comparison[1] if comparison else text)
    right = parse_steps(comparison[3]) if comparison else ()
    compare = _OPERATORS[comparison[2]] if comparison else None

    def passes(value: Any) -> bool:
        found = walk(left, [value])
        if compare is None:
            return bool(found)
        other = walk(right, [value])
        if not found or not other:
            return False
        if len(found) > 1 or len(other) > 1:
            raise JsonPathError(f"[?({text})] compares more than one value at a time")
        return _compared(compare, found[0], other[0])

    return lambda values: [item for sequence in _sequences(values) for item in sequence if passes(item)]


def _compared(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    def kind(value: Any) -> type:
        return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)

    if kind(left) is not kind(right) or isinstance(left, dict | list) or left is None:
        raise JsonPathError(f"{printed(left)} and {printed(right)} cannot be compared")
    return bool(compare(left, right))
