"""The parts of the protobuf wire format that a checked CEL expression needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2


class Message:
    """A protobuf message with access by field number.

    Parameters
    ----------
    data : bytes
        The encoded message.
    """

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
