"""The syntax tree of a checked CEL expression (cel.expr.CheckedExpr), with names resolved."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kschedctl.scheduler.devices.cel.values import Uint

# The parts of the protobuf wire format that a checked CEL expression needs.

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2


class Message:
    """A protobuf message with access by field number."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        for number, value in _fields(data):
            self._fields.setdefault(number, []).append(value)

    def has(self, number: int) -> bool:
        """Report whether a field is present."""
        return number in self._fields

    def integer(self, number: int) -> int:
        """Return an unsigned integer or enum, the last value of the field; 0 if it is absent."""
        value = self._fields.get(number, [0])[-1]
        return value if isinstance(value, int) else 0

    def signed(self, number: int) -> int:
        """Return an int64; 0 if the field is absent."""
        value = self.integer(number)
        return value - (1 << 64) if value >> 63 else value

    def data(self, number: int) -> bytes:
        """Return the bytes of a field; empty if it is absent."""
        value = self._fields.get(number, [b""])[-1]
        return value if isinstance(value, bytes) else b""

    def text(self, number: int) -> str:
        """Return a string; empty if the field is absent."""
        return self.data(number).decode()

    def message(self, number: int) -> Message:
        """Return a nested message; empty if the field is absent."""
        return Message(self.data(number))

    def messages(self, number: int) -> list[Message]:
        """Return all messages of a repeated field."""
        return [Message(value) for value in self._fields.get(number, ()) if isinstance(value, bytes)]

    def integers(self, number: int) -> list[int]:
        """Return all integers of a repeated field, packed or not."""
        out: list[int] = []
        for value in self._fields.get(number, ()):
            if isinstance(value, int):
                out.append(value)
                continue
            position = 0
            while position < len(value):
                found, position = _varint(value, position)
                out.append(found)
        return out


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if kind == _BYTES:
            size, position = _varint(data, position)
        else:
            size = 8 if kind == _FIXED64 else 4
        yield number, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal value."""

    value: object


@dataclass(frozen=True, slots=True)
class Identifier:
    """A variable, a comprehension variable or a type; the name may contain dots."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """The selection ``operand.field``, or with ``test_only`` the test ``has(operand.field)``."""

    operand: Node
    field: str
    test_only: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, operator or method; the target of a method is the first argument."""

    function: str
    arguments: tuple[Node, ...]
    is_method: bool


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """A list literal such as ``[a, ?b]``; ``optional`` holds the indices of optional elements."""

    elements: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """A map literal such as ``{a: b, ?c: d}``: entries of key, value, and whether the value is optional."""

    entries: tuple[tuple[Node, Node, bool], ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A comprehension: the expansion of ``all``, ``exists``, ``map``, ``filter`` and ``cel.bind``."""

    variable: str
    iterated: Node
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


Node = Constant | Identifier | Select | Call | ListLiteral | MapLiteral | Comprehension


class UnknownSyntaxError(Exception):
    """An error for an expression that creates a protobuf message, which device selectors do not need."""


def read_checked(serialized: bytes) -> Node:
    """Read a serialized ``google.protobuf.Any`` with a CheckedExpr.

    Raises UnknownSyntaxError if the expression creates a protobuf message.
    """
    checked = Message(Message(serialized).data(2))
    names: dict[int, str] = {}
    for entry in checked.messages(2):
        reference = entry.message(2)
        if reference.has(1):
            names[entry.integer(1)] = reference.text(1)
    return _syntax_node(checked.message(4), names)


def _syntax_node(expr: Message, names: dict[int, str]) -> Node:
    expr_id = expr.integer(2)
    if expr.has(3):
        return Constant(_constant(expr.message(3)))
    if expr.has(4):
        return Identifier(names.get(expr_id, expr.message(4).text(1)))
    if expr.has(5):
        return _select(expr.message(5), expr_id, names)
    if expr.has(6):
        return _call(expr.message(6), names)
    if expr.has(7):
        made = expr.message(7)
        return ListLiteral(tuple(_syntax_node(e, names) for e in made.messages(1)), frozenset(made.integers(2)))
    if expr.has(8):
        return _map_literal(expr.message(8), names)
    return _comprehension(expr.message(9), names)


def _select(select: Message, expr_id: int, names: dict[int, str]) -> Node:
    field, test_only = select.text(2), bool(select.integer(3))
    if not test_only and expr_id in names:
        return Identifier(names[expr_id])
    return Select(_syntax_node(select.message(1), names), field, test_only)


def _call(call: Message, names: dict[int, str]) -> Node:
    arguments = [_syntax_node(argument, names) for argument in call.messages(3)]
    if not call.has(1):
        return Call(call.text(2), tuple(arguments), False)
    return Call(call.text(2), (_syntax_node(call.message(1), names), *arguments), True)


def _map_literal(made: Message, names: dict[int, str]) -> Node:
    if made.text(1):
        raise UnknownSyntaxError(made.text(1))
    return MapLiteral(
        tuple(
            (_syntax_node(entry.message(3), names), _syntax_node(entry.message(4), names), bool(entry.integer(5)))
            for entry in made.messages(2)
        )
    )


def _comprehension(made: Message, names: dict[int, str]) -> Node:
    parts = [_syntax_node(made.message(number), names) for number in (2, 4, 5, 6, 7)]
    return Comprehension(made.text(1), parts[0], made.text(3), *parts[1:])


def _constant(constant: Message) -> object:
    if constant.has(2):
        return bool(constant.integer(2))
    if constant.has(3):
        return constant.signed(3)
    if constant.has(4):
        return Uint(constant.integer(4))
    if constant.has(5):
        return struct.unpack("<d", constant.data(5))[0]
    if constant.has(6):
        return constant.text(6)
    return constant.data(7) if constant.has(7) else None
