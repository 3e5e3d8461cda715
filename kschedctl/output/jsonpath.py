"""``-o jsonpath=TEMPLATE``: the data of ``-o json`` formatted by a template, as in kubectl.

Output that is piped is raw, as with kubectl; on a terminal invisible characters except newlines and tabs are escaped.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.common.text.characters import printable
from kschedctl.output.forms import Form, FormError, Medium, collected

if TYPE_CHECKING:
    from kschedctl.output.forms import Answers
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

        Raises FormError if the template is invalid.
        """
        if not argument:
            raise FormError("jsonpath: needs a template, such as jsonpath={.verdict.summary}")
        try:
            parse_template(argument)
        except JsonPathError as error:
            raise FormError(f"jsonpath: {error}") from None
        return cls(argument)

    def render(self, answer: "Answers", view: "View", medium: Medium) -> Iterator[str]:
        text = evaluate(parse_template(self.template), collected(answer).to_dict())
        yield _SHOWN.sub(lambda found: printable(found[0]), text) if medium.console().file.isatty() else text


# The steps of a JSONPath: names, ``..``, ``*``, indexes, slices, unions and filters ``[?(@.a=="b")]``.

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

    Raises JsonPathError if the path is invalid.
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
                steps.append(_named_step(match["field"], match[0].startswith("."), previous=path[: match.start()]))
    return tuple(steps)


def _named_step(name: str, dotted: bool, previous: str) -> Step:
    if name == "*":
        return lambda values: [child for value in values for child in _contents(value)]
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


# JSONPath templates as in kubectl (client-go ``util/jsonpath``).
#
# Text is printed unchanged; ``{...}`` contains a path (see ``jsonpath_steps``), a quoted text, ``range`` or ``end``. A
# missing key prints nothing; an index that is out of bounds is an error.

_ACTION: Final = re.compile(r"""\{((?:[^{}"']|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')*)\}""")


@dataclass(frozen=True, slots=True)
class LiteralText:
    """Literal text of a template."""

    text: str


@dataclass(frozen=True, slots=True)
class RangeBlock:
    """A ``range`` block: a path, and the parts that are evaluated for each value that it finds."""

    steps: tuple[Step, ...]
    body: "tuple[Part, ...]"


@dataclass(frozen=True, slots=True)
class Path:
    """A path whose values are printed."""

    steps: tuple[Step, ...]


Part = LiteralText | RangeBlock | Path


def parse_template(template: str) -> tuple[Part, ...]:
    """Parse a template.

    Raises JsonPathError if the template is invalid.
    """
    return _block(_tokens(template), depth=0)


def evaluate(parts: tuple[Part, ...], data: Any) -> str:
    """Evaluate a template over data.

    Raises JsonPathError if a path does not fit the data.

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
