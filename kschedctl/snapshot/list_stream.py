"""The items of a large JSON list, read piece by piece, so that memory does not grow with the file.

A piece ends where an item seems to end; that it does is shown by its being a list of whole values. What does not work
out that way is read as a whole, by ``kschedctl.snapshot.documents``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

import msgspec

from kschedctl.snapshot.documents import Envelope

PIECE: Final = 4 * 1024 * 1024
#: An item may be this many pieces long.
_LONGEST_ITEM: Final = 64
_HEAD: Final = 64 * 1024
_TRIES: Final = 64
_BRACKET: Final = ord("]")

#: An object whose first fields are plain, up to the bracket of its items.
_BEGINNING: Final = re.compile(
    rb'\s*\{\s*(?:"(?:apiVersion|kind)"\s*:\s*"[^"\\]*"\s*,\s*|"metadata"\s*:\s*\{[^{}\[\]]*\}\s*,\s*)*"items"\s*:\s*\['
)
#: How the first item begins: its first key, and where that holds a text also the second.
_ITEM: Final = re.compile(rb'\s*\{\s*("\w+")\s*:\s*(?:"[^"\\]*"\s*,\s*("\w+")\s*:)?')
_LISTS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ENVELOPES: Final = msgspec.json.Decoder(Envelope[msgspec.Raw])


class NotStreamableError(Exception):
    """The file is no list that can be read piece by piece; it may be anything else, or broken."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some items of the list, in their order.

    Attributes
    ----------
    envelope : Envelope
        Kind and version of the list, as far as they stand before the items.
    """

    envelope: Envelope[msgspec.Raw]
    items: list[msgspec.Raw]


def stream_list(stream: BinaryIO, piece_size: int = PIECE) -> Iterator[Piece]:
    """Read a JSON list piece by piece.

    Parameters
    ----------
    stream : BinaryIO
        At its beginning.
    piece_size : int
        How many bytes are read at a time.

    Raises
    ------
    NotStreamableError
        Where the text turns out not to be one list, at any time.
    """
    text = stream.read(max(piece_size, _HEAD))
    begin = _BEGINNING.match(text[:_HEAD])
    if begin is None or (first := _ITEM.match(text, begin.end())) is None:
        raise NotStreamableError
    head = begin[0]
    envelope = _envelope(head + b"]}")
    if envelope.kind is None and first[1] not in (b'"apiVersion"', b'"kind"'):
        # The kind may follow the items, and they may have none of their own.
        raise NotStreamableError
    between = _between(first)
    # The items' text behind an opening bracket, so that it only has to be closed.
    piece = bytearray(b"[" + text[begin.end() :])
    del text
    while more := stream.read(piece_size):
        piece += more
        found = _close(piece, between)
        if found is not None:
            items, end = found
            yield Piece(envelope, items)
            # What is left begins with the comma.
            piece = bytearray(b"[" + piece[end + 1 :].lstrip(b" \t\r\n,"))
        elif len(piece) > _LONGEST_ITEM * piece_size:
            raise NotStreamableError
    rest = _envelope(head + piece[1:])
    if not isinstance(rest.items, list):
        raise NotStreamableError
    yield Piece(envelope, rest.items)


def _between(first: re.Match[bytes]) -> re.Pattern[bytes]:
    """What stands between two items, if the next begins as the first did."""
    pattern = rb"\}(?=\s*,\s*\{\s*" + re.escape(first[1]) + rb"\s*:"
    if first[2] is not None:
        pattern += rb'\s*"[^"\\]*"\s*,\s*' + re.escape(first[2]) + rb"\s*:"
    return re.compile(pattern + rb")")


def _close(piece: bytearray, between: re.Pattern[bytes]) -> tuple[list[msgspec.Raw], int] | None:
    """The items up to the last whole one that another follows, and where it ends; ``None`` where no end is found.

    Writes the closing bracket into the piece, in place of what stands behind that item.
    """
    # Mostly an end is near; only else the whole piece is searched.
    ends = [match.end() for match in between.finditer(piece, max(0, len(piece) - PIECE // 4))]
    ends = ends or [match.end() for match in between.finditer(piece)]
    for end in ends[: -_TRIES - 1 : -1]:
        behind = piece[end]
        piece[end] = _BRACKET
        try:
            return _LISTS.decode(memoryview(piece)[: end + 1]), end
        except (msgspec.DecodeError, RecursionError):
            piece[end] = behind
    return None


def _envelope(text: bytes) -> Envelope[msgspec.Raw]:
    try:
        return _ENVELOPES.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotStreamableError from None
