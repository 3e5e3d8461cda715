"""Streaming of a large JSON list in pieces, so that memory does not grow with the file.

A piece ends where an item seems to end; decoding the piece as a list verifies that it does. A file that cannot be read
in this way is read as a whole by ``kschedctl.sources.snapshot.documents``.
"""

import os
import re
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.text.json_text import json_documents
from kschedctl.common.text.patterns import pattern
from kschedctl.objects.event import EVENT_BEGINNING
from kschedctl.sources.snapshot.documents import ObjectHeader

PIECE: Final = 4 * 1024 * 1024
#: The lengths of the text in which the end of a piece is looked for first.
_NEAR: Final = 64 * 1024
_FAR: Final = PIECE // 4
#: The maximum length of an item, in pieces.
_LONGEST_ITEM: Final = 64
_HEAD: Final = 64 * 1024
_TRIES: Final = 64
_BRACKET: Final = ord("]")

#: The beginning of a list object with simple fields, up to the opening bracket of its items.
_BEGINNING: Final = pattern(
    rb'\s*\{\s*(?:"(?:apiVersion|kind)"\s*:\s*"[^"\\]*"\s*,\s*|"metadata"\s*:\s*\{[^{}\[\]]*\}\s*,\s*)*"items"\s*:\s*\['
)
#: The beginning of the first item: its first key and, if the value of that is a string, its second key.
_ITEM: Final = pattern(rb'\s*\{\s*("\w+")\s*:\s*(?:"[^"\\]*"\s*,\s*("\w+")\s*:)?')
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


class _Beginning:
    """The text of a list before its first item, and the pattern of the ends of items that follows from it.

    Args:
        text: The beginning of the file.

    Raises NotStreamableError if it is not that of a list.
    """

    def __init__(self, text: bytes) -> None:
        begin = _BEGINNING.match(text[:_HEAD])
        if begin is None or (first := _ITEM.match(text, begin.end())) is None:
            raise NotStreamableError
        self.head: bytes = begin[0]
        self.envelope = _envelope(self.head + b"]}")
        if self.envelope.kind is None and first[1] not in (b'"apiVersion"', b'"kind"'):
            # The kind may follow the items, which may have none of their own.
            raise NotStreamableError
        pattern = rb"\{\s*" + re.escape(first[1]) + rb"\s*:"
        if first[2] is not None:
            pattern += rb'\s*"[^"\\]*"\s*,\s*' + re.escape(first[2]) + rb"\s*:"
        # Events, which lists of several kinds end with, begin with other keys.
        self.between: re.Pattern[bytes] = re.compile(rb"\}(?=\s*,\s*(?:" + pattern + rb"|" + EVENT_BEGINNING + rb"))")

    def last_piece(self, piece: bytes) -> Piece:
        """Return the last items of the list.

        Args:
            piece: An opening bracket and the text of the items, up to the end of the file.

        Raises NotStreamableError, InputError as ``stream_list`` does.
        """
        rest = _envelope(self.head + piece[1:])
        _check_tail(self.head, piece)
        if not isinstance(rest.items, list):
            raise NotStreamableError
        return Piece(self.envelope, rest.items)


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
    beginning = _Beginning(text)
    # The text of the items after an opening bracket, so that only the closing bracket is missing.
    piece = bytearray(b"[" + text[len(beginning.head) :])
    del text
    return _pieces(stream, beginning, piece, piece_size)


def _pieces(stream: BinaryIO, beginning: _Beginning, piece: bytearray, piece_size: int) -> Iterator[Piece]:
    """Yield the pieces from one on, of which the text that precedes the position of the stream is known."""
    while more := stream.read(piece_size):
        piece += more
        found = _complete_items(piece, beginning.between)
        if found is not None:
            items, end = found
            yield Piece(beginning.envelope, items)
            # The rest begins with the comma.
            piece = bytearray(b"[" + _without_comma(piece[end + 1 :]))
        elif len(piece) > _LONGEST_ITEM * piece_size:
            raise NotStreamableError
    yield beginning.last_piece(bytes(piece))


def _without_comma(text: bytes | bytearray) -> bytes | bytearray:
    return text.lstrip(b" \t\r\n,")


class ListPieces:
    """The pieces of ``stream_list``, each of which can be read without those before it.

    The places where they end depend on the text around these places alone. A piece that can be decoded as a list from
    a right place on ends at a right place, too, so that all are right if all can be decoded.

    Args:
        stream: The file, positioned at its beginning.
        piece_size: The number of bytes that ``stream_list`` reads at a time.

    Raises NotStreamableError if the text does not begin like a list.
    """

    def __init__(self, stream: BinaryIO, piece_size: int = PIECE) -> None:
        self._stream = stream
        self._piece_size = piece_size
        text = stream.read(max(piece_size, _HEAD))
        self._beginning = _Beginning(text)
        self._size = os.fstat(stream.fileno()).st_size
        #: The offsets up to which ``stream_list`` has read the text when it looks for the end of a piece.
        self._read_to: list[int] = [len(text), *range(len(text) + piece_size, self._size, piece_size)]
        if self._read_to[-1] < self._size:
            self._read_to.append(self._size)

    def __len__(self) -> int:
        return len(self._read_to)

    def read(self, number: int) -> Piece:
        """Read a piece, counted from 0.

        Raises NotStreamableError, InputError if it cannot be read, or ends at a place that is not right.
        """
        if number == len(self) - 1:
            return self._beginning.last_piece(self._piece(number, self._size))
        try:
            items = _LISTS.decode(self._piece(number, self._start(number + 1)) + b"]")
        except (msgspec.DecodeError, RecursionError):
            raise NotStreamableError from None
        return Piece(self._beginning.envelope, items)

    def stream_from(self, number: int) -> Iterator[Piece]:
        """Yield the pieces from a number on, as ``stream_list`` does, if those before it could be read."""
        read_to = self._read_to[number]
        self._stream.seek(read_to)
        piece = bytearray(self._piece(number, read_to))
        return _pieces(self._stream, self._beginning, piece, self._piece_size)

    def _piece(self, number: int, end: int) -> bytes:
        """Return an opening bracket and the text of a piece up to an offset."""
        text = self._text(self._start(number), end)
        return b"[" + (text if number == 0 else _without_comma(text))

    def _start(self, number: int) -> int:
        """Return the offset at which a piece seems to begin: behind the last item that ends in the text before it."""
        if number == 0:
            return len(self._beginning.head)
        end = self._read_to[number]
        # Usually an end is near; the whole text is not searched.
        for length in (_NEAR, _FAR):
            begin: int = max(len(self._beginning.head), end - length)
            last = deque(self._beginning.between.finditer(self._text(begin, end)), maxlen=1)
            if last:
                return begin + last[0].end()
        raise NotStreamableError

    def _text(self, begin: int, end: int) -> bytes:
        return os.pread(self._stream.fileno(), end - begin, begin)


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
    ends = [match.end() for match in between.finditer(piece, max(0, len(piece) - _FAR))]
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
