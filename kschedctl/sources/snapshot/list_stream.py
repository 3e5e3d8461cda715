"""Streaming of a large JSON list in pieces, so that memory does not grow with the file.

A piece ends where an item seems to end; decoding the piece as a list verifies that it does. A file that cannot be read
in this way is read as a whole by ``kschedctl.sources.snapshot.documents``.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.text.json_text import json_documents
from kschedctl.objects.event import EVENT_BEGINNING
from kschedctl.sources.snapshot.documents import ObjectHeader

PIECE: Final = 4 * 1024 * 1024
#: The maximum length of an item, in pieces.
_LONGEST_ITEM: Final = 64
_HEAD: Final = 64 * 1024
_TRIES: Final = 64
_BRACKET: Final = ord("]")

#: The beginning of a list object with simple fields, up to the opening bracket of its items.
_BEGINNING: Final = re.compile(
    rb'\s*\{\s*(?:"(?:apiVersion|kind)"\s*:\s*"[^"\\]*"\s*,\s*|"metadata"\s*:\s*\{[^{}\[\]]*\}\s*,\s*)*"items"\s*:\s*\['
)
#: The beginning of the first item: its first key and, if the value of that is a string, its second key.
_ITEM: Final = re.compile(rb'\s*\{\s*("\w+")\s*:\s*(?:"[^"\\]*"\s*,\s*("\w+")\s*:)?')
_LISTS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ENVELOPES: Final = msgspec.json.Decoder(ObjectHeader[msgspec.Raw])
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class NotStreamableError(Exception):
    """The error of a file that is not a list that can be streamed; it may have another format or be broken."""


class Piece(msgspec.Struct, frozen=True):
    """Consecutive items of the list."""

    #: Kind and version of the list, if they precede the items.
    envelope: ObjectHeader[msgspec.Raw]
    items: list[msgspec.Raw]


def stream_list(stream: BinaryIO, piece_size: int = PIECE) -> Iterator[Piece]:
    """Read a JSON list piece by piece.

    Args:
        stream: The file, positioned at its beginning.
        piece_size: The number of bytes to read at a time.

    Raises NotStreamableError if the text turns out not to be a single list; it may be raised after pieces were
        yielded.
    Raises InputError if the list has its kind, version or items twice.
    """
    text = stream.read(max(piece_size, _HEAD))
    begin = _BEGINNING.match(text[:_HEAD])
    if begin is None or (first := _ITEM.match(text, begin.end())) is None:
        raise NotStreamableError
    head = begin[0]
    envelope = _envelope(head + b"]}")
    if envelope.kind is None and first[1] not in (b'"apiVersion"', b'"kind"'):
        # The kind may follow the items, which may have none of their own.
        raise NotStreamableError
    pattern = rb"\{\s*" + re.escape(first[1]) + rb"\s*:"
    if first[2] is not None:
        pattern += rb'\s*"[^"\\]*"\s*,\s*' + re.escape(first[2]) + rb"\s*:"
    # Events, which lists of several kinds end with, begin with other keys.
    between = re.compile(rb"\}(?=\s*,\s*(?:" + pattern + rb"|" + EVENT_BEGINNING + rb"))")
    # The text of the items after an opening bracket, so that only the closing bracket is missing.
    piece = bytearray(b"[" + text[begin.end() :])
    del text
    while more := stream.read(piece_size):
        piece += more
        found = _complete_items(piece, between)
        if found is not None:
            items, end = found
            yield Piece(envelope, items)
            # The rest begins with the comma.
            piece = bytearray(b"[" + piece[end + 1 :].lstrip(b" \t\r\n,"))
        elif len(piece) > _LONGEST_ITEM * piece_size:
            raise NotStreamableError
    rest = _envelope(head + piece[1:])
    _check_tail(head, bytes(piece))
    if not isinstance(rest.items, list):
        raise NotStreamableError
    yield Piece(envelope, rest.items)


def _check_tail(head: bytes, last: bytes) -> None:
    """Raise InputError if a field after the items replaces what was read: of two equal keys, the second one counts.

    Args:
        head: The text before the items.
        last: The last items in brackets, and the well-formed text after them.
    """
    _, items, _ = next(json_documents(last, _ENVELOPES))
    after = _FIELDS.decode(b"{" + last[len(items) :].lstrip(b" \t\r\n,"))
    before = _FIELDS.decode(head + b"]}")
    if repeated := [name for name in ("apiVersion", "kind", "items") if name in before and name in after]:
        problem = f'the list has the field "{repeated[0]}" twice'
        raise InputError(problem, path=repeated[0], hint="delete the wrong one")


def _complete_items(piece: bytearray, between: re.Pattern[bytes]) -> tuple[list[msgspec.Raw], int] | None:
    """Return the complete items that another item follows, and their end; ``None`` if no end is found.

    Write the closing bracket into the piece, in place of the character after the last complete item.
    """
    # Usually an end is within the last MiB; otherwise the whole piece is searched.
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


def _envelope(text: bytes) -> ObjectHeader[msgspec.Raw]:
    try:
        return _ENVELOPES.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotStreamableError from None
