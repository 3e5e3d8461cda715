"""A fast parser for YAML in block style, which reads line by line and rejects what it does not support.

It is five times as fast as the event parser. Nearly all lines that programs write have one of three forms: a key with
a scalar or a flow collection, a key whose value follows, an item. Their columns determine the nesting. Each distinct
line is parsed once.

A scalar of another form, such as a block scalar, and a longer flow collection extend to the first line that is not
indented further than the entry. Their meaning does not depend on the context, so `EventReader` parses these lines
alone. Text that does depend on its context is left to `EventReader` with the whole document: anchors and aliases, a tag
at the root, explicit keys, merges, and lines in an unexpected order, which mostly are not valid YAML.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from kschedctl.common.text.yaml_events import (
    FIRST_OF_OTHERS,
    BadNodeError,
    EventReader,
    NotFiniteError,
    plain_key,
    plain_scalar,
)
from kschedctl.common.text.yaml_flow import flow_collection

# A line of YAML in block style: its leading dashes, key and scalar.

#: The maximum nesting depth of entries; the limit of `EventReader` is higher.
MAX_DEPTH: Final = 64
_MAX_KEY: Final = 200

#: Stand-ins for the value of a key without a value on its line, and for a value that needs the full YAML parser.
FOLLOWS: Final = object()
OTHER: Final = object()

#: The characters that cannot begin an unquoted scalar; a dash can unless a blank follows.
_INDICATORS: Final = frozenset("-?:,[]{}#&*!|>'\"%@` ")
_BRACKETS: Final = frozenset("[{")
_KEY: Final = re.compile(rf"[A-Za-z0-9_/.$][!-~]{{0,{_MAX_KEY}}}")
_QUOTED: Final = re.compile(r"\"[^\"\\\t]*\"|'[^'\t]*'")
#: The beginnings of document markers, directives, explicit keys and merges.
_NO_ENTRIES: Final = ("---", "...", "%", "?", "<")

#: A parsed line: the column of a key that begins the line, the key, its value, the columns of the dashes, and the
#: column of the text after them.
Entry = tuple[int, str | None, Any, tuple[int, ...], int]
#: The column of the key if the line begins with a dash, or has no key.
NO_KEY_COLUMN: Final = -1


class NotPlainError(Exception):
    """YAML that needs the full YAML parser."""


def parse_entry(line: str) -> Entry | None:
    """Parse one line.

    Args:
        line: The line, without its line break.

    Returns: The parsed line; ``None`` for blank lines and comments.

    Raises NotPlainError if the line cannot be parsed by itself.
    """
    rest = line.lstrip(" ")
    if not rest or rest[0] == "#":
        return None
    column = len(line) - len(rest)
    dashes: tuple[int, ...] = ()
    while rest.startswith("- ") and len(dashes) < MAX_DEPTH:
        dashes = (*dashes, column)
        rest = rest[2:]
        column += 2
    if not rest or rest[0] == " " or rest.startswith(_NO_ENTRIES):
        raise NotPlainError
    if rest[0] in _BRACKETS:
        return NO_KEY_COLUMN, None, _collection(rest), dashes, column
    key, colon, text = rest.partition(": ")
    if not colon and rest[-1] != ":":
        return NO_KEY_COLUMN, None, _scalar(rest), dashes, column
    if not colon:
        key = rest[:-1]
    if _KEY.fullmatch(key):
        try:
            key = plain_key(key)
        except ValueError:
            raise NotPlainError from None
    elif _QUOTED.fullmatch(key) and len(key) <= _MAX_KEY:
        key = key[1:-1]
    else:
        return NO_KEY_COLUMN, None, OTHER, dashes, column
    return NO_KEY_COLUMN if dashes else column, key, _scalar(text) if colon else FOLLOWS, dashes, column


def _scalar(text: str) -> Any:
    """Return the value of a scalar or a flow collection on one line, or ``OTHER`` if it needs the full parser."""
    if not text or "\t" in text:
        return OTHER
    first = text[0]
    if first not in _INDICATORS or (first == "-" and text[1:2] not in ("", " ")):
        if ": " in text or " #" in text or text[-1] in ": ":
            return OTHER
        try:
            return plain_scalar(text) if first in FIRST_OF_OTHERS else text
        except NotFiniteError:
            raise NotPlainError from None
    if _QUOTED.fullmatch(text):
        return text[1:-1]
    return _collection(text) if first in _BRACKETS else OTHER


def _collection(text: str) -> Any:
    try:
        return flow_collection(text)
    except ValueError:
        return OTHER


# The first two lines of a YAML document, if they alone determine what kind of object it is.
#
# A reader that needs nothing else of a document can leave the rest unread, which takes a tenth of the time of parsing
# it.
# The first two lines determine version and kind if nothing below can set them again. In block style, an entry of the
# document itself begins in the first column. So all lines there must be comments, items of a list, or simple keys with
# other names. Quoted keys, explicit keys, merges, flow collections, tags, directives and the end of a document are no
# simple keys. Lines of a quoted scalar may begin in the first column as well; those that look like simple keys are part
# of a value, and do no harm.

#: Reports, from ``apiVersion``, ``kind`` and text of a document, whether nothing else of it is needed.
Unread: TypeAlias = Callable[[str, str, bytes], bool]
#: Returns an object, given as JSON, with the same meaning and fewer fields; ``None`` if none can be left out.
Shorten: TypeAlias = Callable[[bytes], bytes | None]

#: The next line must begin an entry of the document, or a scalar might continue there.
_HEADER: Final = re.compile(
    rb"(?:[ ]*(?:#[^\n]*)?\n)*+"
    rb"(?:apiVersion: ([A-Za-z][\w./-]*)\nkind: ([A-Za-z]\w*)|kind: ([A-Za-z]\w*)\napiVersion: ([A-Za-z][\w./-]*))"
    rb"(?:\n(?=[A-Za-z])|\n?\Z)"
)
#: The beginning of a line in the first column that may set version or kind again.
_MAY_REPEAT: Final = re.compile(rb"\n(?!(?!(?:kind|apiVersion):)[A-Za-z][A-Za-z0-9]*:[ \n]|- |-\n|[ #\n]|\Z)")


def yaml_header(text: bytes) -> tuple[str, str] | None:
    r"""Return the ``apiVersion`` and the ``kind`` of a document.

    Args:
        text: The lines of the document, which ``may_be_plain`` accepts.

    Returns: ``None`` if only a parser can tell, or if one of them is not text.

    >>> yaml_header(b"apiVersion: v1\nkind: Secret\ndata:\n  kind: b\n")
    ('v1', 'Secret')
    >>> yaml_header(b"apiVersion: v1\nkind: Secret\ndata: {}\nkind: Pod\n")
    >>> yaml_header(b"apiVersion: v1\nkind: Secret\n  or not\n")
    """
    header = _HEADER.match(text)
    if header is None or _MAY_REPEAT.search(text, header.end() - 1) is not None:
        return None
    version, kind = (header[1] or header[4]).decode(), (header[2] or header[3]).decode()
    return (version, kind) if plain_scalar(version) == version and plain_scalar(kind) == kind else None


#: Texts are split into pieces of 256 KiB. Pieces with fewer than 4 bytes per line on average are left to the event
#: parser, which is as fast there.
_PIECE: Final = 256 * 1024
_PER_LINE: Final = 4
_MAX_KNOWN: Final = 100_000
_MAX_OTHERS: Final = 10_000
#: The maximum length of cached lines and entries, in characters.
_MAX_REMEMBERED: Final = 1000
#: An entry read by the event parser costs as much as 8 lines read by it; up to 16 entries are always accepted.
_LINES_PER_OTHER: Final = 8
_FEW: Final = 16

#: The accepted bytes: ASCII without control characters and carriage returns; for others see ``_NOT_ALLOWED``.
_ALLOWED: Final = bytes((*b"\t\n", *range(0x20, 0x7F), *range(0x80, 0x100)))
#: The encoded line breaks of YAML 1.1, byte order marks and control characters.
_NOT_ALLOWED: Final = re.compile(rb"\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]")
_MARKER: Final = re.compile(rb"---(?<![^\n]---)(?:\n|\Z)")

_Container = dict[str, Any] | list[Any]
#: The column of keys in a list, which has no keys; no line has a key in this column.
_NO_KEYS: Final = -2


def may_be_plain(text: bytes) -> bool:
    """Report whether all characters of a text have the same meaning here as in libyaml."""
    if text.translate(None, _ALLOWED):
        return False
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return not _NOT_ALLOWED.search(text)


def document_spans(text: bytes) -> Iterator[tuple[int, int, int]]:
    r"""Yield the spans of documents; a line ``---`` always ends a document, even within a scalar.

    Yields: The offsets of the document's marker, of the start of its text, and of the end of its text.

    >>> list(document_spans(b"a: 1\n---\nb: 2\n"))
    [(0, 0, 5), (5, 9, 14)]
    """
    marker = start = 0
    for found in _MARKER.finditer(text):
        yield marker, start, found.start()
        marker, start = found.span()
    yield marker, start, len(text)


def documents_by_lines(
    text: bytes, reader: "LineReader", is_unread: Unread | None = None
) -> Iterator[tuple[int, Any, bool]]:
    """Yield the values of the documents of a text that ``may_be_plain`` accepts.

    Yields: The offset of the document's end; its value, which is ``None`` if it is empty; and True if the document
        counts in the numbers of documents.

    Raises NotPlainError as for `LineReader`: the next document and all after it need the event parser.
    """
    for marker, start, end in document_spans(text):
        document = text[start:end]
        if is_unread is not None and (header := yaml_header(document)) is not None:
            api_version, kind = header
            if is_unread(api_version, kind, document):
                yield end, {"apiVersion": api_version, "kind": kind}, True
                continue
        value = reader.document(document)
        yield end, value, value is not None or marker != start


class LineReader:
    """A parser that builds plain data from lines, and caches parsed lines across documents.

    repeated: True if a mapping of the last document may contain a key that it already had, as for `EventReader`.
    open_items: The columns of the root and of the elements of its ``items``, if another element could follow the
        end of the last document; only with ``items_as_text``.

    Args:
        items_as_text: True if the elements of ``items`` are encoded as JSON, as by `EventReader`.
    """

    def __init__(self, *, items_as_text: bool = True) -> None:
        self.repeated = False
        self.open_items: tuple[int, int] | None = None
        self._items_as_text = items_as_text
        #: The parsed lines; ``None`` for blank lines and comments.
        self._known: dict[str, Entry | None] = {}
        #: The entries that the event parser has read, by their text, and the number of its calls.
        self._others: dict[str, tuple[_Container, bool]] = {}
        self._n_others = 0
        self._n_lines = 0

    def document(self, text: bytes) -> Any:
        """Build the value of a document.

        Args:
            text: The lines of the document, with accepted characters only.

        Returns: The value that `EventReader` would build; ``None`` if there is no line with content. Equal values
            may be shared with other documents.

        Raises NotPlainError if that value is uncertain, or if the event parser would be faster.
        """
        # Most lines are handled in one loop without function calls, since they dominate the time.
        known = self._known
        lines = _Lines(text)
        nesting = _Nesting(items_as_text=self._items_as_text)
        self.repeated = repeated = False
        # The innermost container, the column of its keys, and the key whose value may be on the next lines.
        container: Any = None
        key_column = _NO_KEYS
        open_key: str | None = None
        for numbered in lines.pieces():
            for number, line in numbered:
                try:
                    entry = known[line]
                except KeyError:
                    if len(self._known) >= _MAX_KNOWN:
                        self._known.clear()
                    entry = parse_entry(line)
                    if len(line) <= _MAX_REMEMBERED:
                        self._known[line] = entry
                if entry is None:
                    continue
                column, key, value, _, _ = entry
                start = number
                if column != key_column:
                    if nesting.move_to(entry, open_key):
                        container, key_column = nesting.container, nesting.key_column
                    else:
                        start, key = lines.continued(number)
                        value = OTHER
                open_key = None
                if value is OTHER:
                    self._read_other(lines, start, number, key, nesting)
                elif key is None:
                    container.append(value)
                else:
                    repeated |= key in container
                    if value is FOLLOWS:
                        container[key] = None
                        open_key = key
                    else:
                        container[key] = value
        self._n_lines += lines.n_dropped + len(lines)
        self.repeated |= repeated
        self.open_items = nesting.open_items
        return nesting.root

    def _read_other(self, lines: "_Lines", start: int, number: int, key: str | None, nesting: "_Nesting") -> None:
        """Parse an entry with the event parser, and add the result to its container or replace the last element.

        Args:
            start, number: The line where the entry begins, and the last line that was read.
            key: The entry's key; ``None`` for an item.
        """
        entry = lines.read_entry(start, number, nesting.column)
        known = self._others.get(entry)
        if known is None:
            known = _by_events(entry, items_as_text=self._items_as_text)
            self._n_others += 1
            if self._n_others > max(_FEW, (self._n_lines + lines.n_dropped + number) // _LINES_PER_OTHER):
                # With more such entries the event parser alone is faster.
                raise NotPlainError
            if len(entry) <= _MAX_REMEMBERED and len(self._others) < _MAX_OTHERS:
                self._others[entry] = known
        found, repeated = known
        self.repeated |= repeated
        container = nesting.container
        if isinstance(container, list) and isinstance(found, list) and len(found) == 1:
            container[len(container) - (start < number) :] = found
        elif isinstance(container, dict) and isinstance(found, dict) and found.keys() == {key}:
            # The entry that the line continues is in the container already.
            self.repeated |= key in container and start == number
            container.update(found)
        else:
            raise NotPlainError


class _Nesting:
    """The open containers of a document.

    container: The innermost container, to which the last entry belongs.
    """

    __slots__ = ("_around", "_items", "_items_as_text", "column", "container", "key_column", "root")

    def __init__(self, *, items_as_text: bool) -> None:
        self._items_as_text = items_as_text
        self.root: _Container | None = None
        self.container: Any = None
        self.column = -1
        self.key_column = _NO_KEYS
        self._around: list[tuple[Any, int]] = []
        self._items: Any = None

    @property
    def open_items(self) -> tuple[int, int] | None:
        """The columns of the root and of the elements of its ``items``, if ``items`` is open and encodes elements."""
        opened = [*self._around, (self.container, self.column)]
        # The first one is the place of the root.
        if self._items is None or len(opened) < 3 or opened[2][0] is not self._items:
            return None
        return opened[1][1], opened[2][1]

    def move_to(self, entry: Entry, open_key: str | None) -> bool:
        """Open and close containers up to the container of an entry.

        Args:
            open_key: The key of the previous entry, if its value may follow.

        Returns: False if the line continues the previous entry; nothing is opened or closed then.
        """
        _, key, _, dashes, column = entry
        first = dashes[0] if dashes else column
        further_in = first > self.column or (bool(dashes) and first == self.column and open_key is not None)
        continues = key is None and not dashes
        if continues and (not further_in or self.container is None):
            raise NotPlainError
        if continues or (further_in and open_key is None and self.container is not None):
            return False
        if further_in:
            inner: _Container = [] if dashes else {}
            if self.container is None:
                self.root = inner
            else:
                self.container[open_key] = inner
            self._around.append((self.container, self.column))
            self.container, self.column = inner, first
            if self._items_as_text and open_key == "items" and len(self._around) == 2 and inner.__class__ is list:
                self._items = inner
        else:
            # Close the containers beyond a column, down to a container of a kind; raise ``NotPlainError`` if none
            # fits.
            kind = list if dashes else dict
            container, at = self.container, self.column
            while at > first or (at == first and container.__class__ is not kind):
                container, at = self._around.pop()
            if at != first:
                raise NotPlainError
            self.container, self.column = container, at
            if container is self._items:
                # A list of objects then needs the memory of its text, instead of many times that in Python objects.
                container[-1] = msgspec.Raw(msgspec.json.encode(container[-1]))
        for dash in dashes[1:]:
            self._open_item([], dash)
        if dashes and key is not None:
            self._open_item({}, column)
        if len(self._around) > MAX_DEPTH:
            raise NotPlainError
        self.key_column = self.column if self.container.__class__ is dict else _NO_KEYS
        return True

    def _open_item(self, inner: _Container, column: int) -> None:
        self._around.append((self.container, self.column))
        self.container.append(inner)
        self.container, self.column = inner, column


class _Lines:
    """The lines of a text, from the beginning of the last entry on.

    n_dropped: The number of lines dropped before them.
    """

    def __init__(self, text: bytes) -> None:
        self._pieces = _pieces(text)
        self._lines: list[str] = []
        self._numbered: Iterator[tuple[int, str]] = iter(())
        #: The number of lines that belong to entries read by the event parser.
        self._n_read = 0
        self.n_dropped = 0

    def __len__(self) -> int:
        return len(self._lines)

    def pieces(self) -> Iterator[Iterator[tuple[int, str]]]:
        """Yield the numbered lines of one piece after the other; the numbers are indices into the retained lines."""
        for piece in self._pieces:
            # The last entry may continue in the next piece.
            n_done = self._entry_before(len(self._lines))
            self.n_dropped += n_done
            self._n_read = max(self._n_read - n_done, 0)
            self._lines = self._lines[n_done:]
            n_before = len(self._lines)
            self._lines += piece
            self._numbered = enumerate(islice(self._lines, n_before, None), n_before)
            yield self._numbered

    def continued(self, number: int) -> tuple[int, str | None]:
        """Return the first line and the key of the entry that a line continues."""
        start = self._entry_before(number)
        entry = parse_entry(self._lines[start])
        if entry is None or start == number:
            raise NotPlainError
        return start, entry[1]

    def read_entry(self, start: int, number: int, column: int) -> str:
        """Return the text of an entry without its indentation, and continue after it.

        Args:
            start, number: The line where the entry begins, and the last line that was read.
            column: The entry's column; the entry ends at the first line that is not indented further.
        """
        end = self._n_read = self._end_of_entry(start, column)
        if end <= number:
            # A comment with less indentation is in between; most values cannot continue after it.
            raise NotPlainError
        n_more = end - number - 1
        next(islice(self._numbered, n_more, n_more), None)
        return "\n".join([line[column:] for line in self._lines[start:end]]) + "\n" * (end < len(self._lines))

    def _entry_before(self, number: int) -> int:
        """Return the line of the previous entry; the line itself if the event parser has read the previous entry."""
        for before in range(number - 1, self._n_read - 1, -1):
            if parse_entry(self._lines[before]) is not None:
                return before
        return number

    def _end_of_entry(self, start: int, column: int) -> int:
        """Return the first line after an entry that is not indented further than its column; fetch pieces as needed."""
        lines = self._lines
        end = start + 1
        while True:
            while end < len(lines):
                rest = lines[end].lstrip(" ")
                if rest and len(lines[end]) - len(rest) <= column:
                    return end
                end += 1
            piece = next(self._pieces, None)
            if piece is None:
                return end
            lines += piece


def _by_events(entry: str, *, items_as_text: bool) -> tuple[Any, bool]:
    """Return the value of a text that is one document without anchors, and whether a key may be repeated in it.

    Raises NotPlainError if it is no such text.
    """
    import yaml

    try:
        # Assume the deepest possible nesting of the entry in its document.
        reader = EventReader(entry.encode(), MAX_DEPTH, items_as_text=items_as_text)
        found = reader.document() if reader.next_document() else None
        if reader.next_document() or reader.anchors:
            raise NotPlainError
    except (yaml.YAMLError, BadNodeError):
        raise NotPlainError from None
    return found, reader.repeated


def _pieces(text: bytes) -> Iterator[list[str]]:
    """Yield the lines of each piece of a text; the last line of all is the text after the last line break."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start + _PIECE) + 1 or len(text)
        lines = text[start:end].decode().split("\n")
        if end - start > _PIECE and len(lines) * _PER_LINE > end - start:
            raise NotPlainError
        if end < len(text):
            lines.pop()
        yield lines
        start = end
