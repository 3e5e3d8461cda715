"""Extender responses, decoded as by Go: field names in any case, null as zero value, and Go's error messages.

The types are those of ``k8s.io/kube-scheduler/extender/v1``.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import hexdigits
from typing import Any, Final

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.text.json_text import encodable
from kschedctl.objects.core import Node
from kschedctl.scheduler.extenders.transport import Response
from kschedctl.scheduler.framework.extender import ExtenderError, MetaVictims
from kschedctl.sources.snapshot.decoding import decode

# JSON decoded as by Go's stream decoder: only the first value counts, and errors have Go's messages.

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_UNEXPECTED_END: Final = "unexpected EOF"


class GoNumber(str):
    """A JSON number in its original notation."""

    __slots__ = ()


class _ConstantError(Exception):
    """The error for NaN and Infinity, which are not JSON numbers."""


def first_value(response: Response) -> Any:
    """Return the first JSON value of a response, with numbers in their original notation.

    Raises ExtenderError if the response has no complete JSON value.
    """
    text = response.body.decode(errors="replace")
    start = _SPACE.match(text)
    at = start.end() if start is not None else 0
    if at == len(text):
        raise ExtenderError(response.broken_off or "EOF")
    decoder = json.JSONDecoder(parse_int=GoNumber, parse_float=GoNumber, parse_constant=_no_constant)
    try:
        return decoder.raw_decode(text, at)[0]
    except json.JSONDecodeError as error:
        problem = _syntax(text, error)
    except RecursionError:
        problem = "exceeded max depth"
    except _ConstantError as error:
        problem = str(error)
    # For a response that broke off, the reason of the break is reported instead of the syntax error.
    raise ExtenderError(response.broken_off if problem == _UNEXPECTED_END and response.broken_off else problem)


def _no_constant(text: str) -> Any:
    # NaN, Infinity and -Infinity: Go reports the first invalid character.
    if text.startswith("-"):
        raise _ConstantError("invalid character 'I' in numeric literal")
    raise _ConstantError(f"invalid character '{text[0]}' looking for beginning of value")


def _syntax(text: str, error: json.JSONDecodeError) -> str:
    """Return the message of Go's decoder for a syntax error.

    Go's message names the expected syntax element. If both decoders agree on the position, it is derived from Python's
    message.
    """
    at = error.pos
    if error.msg.startswith("Invalid control character"):
        return f"invalid character {_quoted(text[at])} in string literal"
    if error.msg.startswith("Unterminated string"):
        return _UNEXPECTED_END
    if error.msg.startswith("Invalid \\escape"):
        after = text[at + 1 : at + 2]
        return f"invalid character {_quoted(after)} in string escape code" if after else _UNEXPECTED_END
    if error.msg.startswith("Invalid \\uXXXX"):
        digits = text[text.rindex("\\u", 0, at + 2) + 2 :][:4]
        wrong = next((digit for digit in digits if digit not in hexdigits), "")
        return f"invalid character {_quoted(wrong)} in \\u hexadecimal character escape" if wrong else _UNEXPECTED_END
    space = _SPACE.match(text, at)
    at = space.end() if space is not None else at
    if at >= len(text) or re.fullmatch("-|[.]|[.]?[0-9]*[eE][+-]?", text[at:]):
        return _UNEXPECTED_END
    if text[at] == "-":
        return f"invalid character {_quoted(text[at + 1])} in numeric literal"
    looked_for = {
        "Expecting value": "looking for beginning of value",
        "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
        "Illegal trailing comma before end of object": "looking for beginning of object key string",
        "Illegal trailing comma before end of array": "looking for beginning of value",
        "Expecting ':' delimiter": "after object key",
        "Expecting ',' delimiter": "after array element" if _in_array(text, at) else "after object key:value pair",
    }.get(error.msg, "looking for beginning of value")
    if error.msg.startswith("Illegal trailing comma"):
        at = text.index("}" if "object" in error.msg else "]", at)
    return _literal(text, at) or f"invalid character {_quoted(text[at])} {looked_for}"


def _literal(text: str, at: int) -> str:
    """Return the error of a misspelled true, false or null; empty without one."""
    for literal in ("true", "false", "null"):
        if text[at] == literal[0]:
            for i, expected in enumerate(literal):
                if at + i >= len(text):
                    return _UNEXPECTED_END
                if text[at + i] != expected:
                    return f"invalid character {_quoted(text[at + i])} in literal {literal} (expecting '{expected}')"
    return ""


def _in_array(text: str, at: int) -> bool:
    """Report whether the innermost open bracket before a position is an array's."""
    opened: list[str] = []
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: "_" * len(found[0]), text[:at])
    for character in outside:
        if character in "[{":
            opened.append(character)
        elif character in "]}" and opened:
            opened.pop()
    return bool(opened) and opened[-1] == "["


def _quoted(character: str) -> str:
    """Return a character as Go quotes it."""
    if character in ("'", "\\"):
        return f"'\\{character}'"
    if character == '"':
        return "'\"'"
    return f"'{character}'" if character.isprintable() else f"'{json.dumps(character)[1:-1]}'"


_INT64: Final = 2**63
_FAILED_NODES: Final = "v1.FailedNodesMap"


class SentBackNode(Node, frozen=True, kw_only=True):
    """A node that an extender sent back, with its JSON text, which is sent to the next extender unchanged."""

    text: bytes = b"{}"


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """An extender's response to ``filter``."""

    #: The nodes that pass, as objects; ``None`` if the response has none.
    nodes: tuple[SentBackNode, ...] | None
    #: The nodes that pass, by name; ``None`` if the response has none.
    node_names: tuple[str, ...] | None
    #: The messages of rejected nodes, by name.
    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]
    #: The extender's error; empty without one.
    error: str


def filter_answer(response: Response) -> FilterAnswer:
    """Decode the response to ``filter``.

    Raises ExtenderError if the response is invalid.
    """
    fields = _Struct("ExtenderFilterResult", first_value(response))
    names = fields.get("NodeNames", list, "[]string")
    return FilterAnswer(
        nodes=_sent_back_nodes(fields),
        node_names=None if names is None else tuple(fields.text("NodeNames", name) for name in names),
        failed=fields.texts("FailedNodes", _FAILED_NODES),
        failed_and_unresolvable=fields.texts("FailedAndUnresolvableNodes", _FAILED_NODES),
        error=fields.text("Error", fields.value("Error")),
    )


def priorities(response: Response) -> tuple[tuple[str, int], ...]:
    """Decode the response to ``prioritize``: hosts and their scores.

    Raises ExtenderError if the response is invalid.
    """
    value = first_value(response)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ExtenderError(f"json: cannot unmarshal {_json_type(value)} into Go value of type v1.HostPriorityList")
    found = []
    for item in value:
        fields = _Struct("HostPriority", item)
        found.append((fields.text("Host", fields.value("Host")), fields.integer("Score")))
    return tuple(found)


def preemption_answer(response: Response) -> dict[str, MetaVictims]:
    """Decode the response to ``preempt``: victims by node.

    Raises ExtenderError if the response is invalid.
    """
    field = "NodeNameToMetaVictims"
    outer = _Struct("ExtenderPreemptionResult", first_value(response))
    found: dict[str, MetaVictims] = {}
    for name, value in (outer.get(field, dict, "map[string]*v1.MetaVictims") or {}).items():
        if value is not None and not isinstance(value, dict):
            raise outer.wrong(field, value, "v1.MetaVictims")
        own = _Struct("MetaVictims", value, f"{field}.")
        pods = own.get("Pods", list, "[]*v1.MetaPod") or []
        uids = (_Struct("MetaPod", pod, f"{field}.Pods.") for pod in pods if pod is not None)
        found[name] = MetaVictims(
            tuple(pod.text("UID", pod.value("UID")) for pod in uids), own.integer("NumPDBViolations")
        )
    return found


def binding_error(response: Response) -> str:
    """Decode the response to ``bind``: the extender's error; empty without one.

    Raises ExtenderError if the response is invalid.
    """
    fields = _Struct("ExtenderBindingResult", first_value(response))
    return fields.text("Error", fields.value("Error"))


class _Struct:
    """A JSON object decoded as a Go struct. Field names are case-insensitive; the last one of equal names counts.

    Args:
        name: The struct's name, for errors.
        value: The object; null is an empty one.
        path: The prefix of field names in errors.
    """

    def __init__(self, name: str, value: Any, path: str = "") -> None:
        if value is not None and not isinstance(value, dict):
            raise ExtenderError(f"json: cannot unmarshal {_json_type(value)} into Go value of type v1.{name}")
        self._name = name
        self._path = path
        self._fields = {field.lower(): inner for field, inner in (value or {}).items()}

    def value(self, field: str) -> Any:
        return self._fields.get(field.lower())

    def get(self, field: str, kind: type, go_type: str) -> Any:
        """Return the value of a field, or ``None``."""
        value = self.value(field)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(field, value, go_type)
        return value

    def text(self, field: str, value: Any) -> str:
        """Return the string in a field; null is empty."""
        if value is None:
            return ""
        if not isinstance(value, str) or isinstance(value, GoNumber):
            raise self.wrong(field, value, "string")
        return value

    def texts(self, field: str, go_type: str) -> dict[str, str]:
        """Return the map of strings in a field; null is empty."""
        return {key: self.text(field, value) for key, value in (self.get(field, dict, go_type) or {}).items()}

    def integer(self, field: str) -> int:
        """Return the int64 in a field; null is 0."""
        value = self.value(field)
        if value is None:
            return 0
        if not isinstance(value, GoNumber):
            raise self.wrong(field, value, "int64")
        number = int(value) if re.fullmatch("-?[0-9]{1,20}", value) else _INT64
        if not -_INT64 <= number < _INT64:
            raise self.wrong(field, value, "int64", f"number {value}")
        return number

    def wrong(self, field: str, value: Any, go_type: str, shown: str = "") -> ExtenderError:
        where = f"Go struct field {self._name}.{self._path}{field} of type {go_type}"
        return ExtenderError(f"json: cannot unmarshal {shown or _json_type(value)} into {where}")


def _sent_back_nodes(fields: _Struct) -> tuple[SentBackNode, ...] | None:
    value = fields.get("Nodes", dict, "v1.NodeList")
    if value is None:
        return None
    items = _Struct("NodeList", value, "Nodes.").get("items", list, "[]v1.Node") or []
    try:
        return tuple(
            SentBackNode(metadata=node.metadata, spec=node.spec, status=node.status, text=text)
            for item in items
            for text in (msgspec.json.encode(_plain(item or {})),)
            for node in (decode(text, Node),)
        )
    except InputError as error:
        raise ExtenderError(f"its nodes cannot be read: {error}") from None
    except RecursionError:
        raise ExtenderError("its nodes cannot be read: exceeded max depth") from None


def _plain(value: Any) -> Any:
    """Return the value with numbers in their notation as JSON text, and without lone surrogates."""
    if isinstance(value, GoNumber):
        return msgspec.Raw(value.encode())
    if isinstance(value, dict):
        return {encodable(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, str):
        return encodable(value)
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _json_type(value: Any) -> str:
    if isinstance(value, GoNumber):
        return "number"
    names = ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), "null")
