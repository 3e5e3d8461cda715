"""YAML in block style read from line to line, at five times the speed of its events, or not at all.

What programs write is nearly all lines of three forms: a key with a scalar, a key whose value follows, an item. Which
columns they begin in says where they belong. A line is taken apart once, however often it occurs.

A scalar of another form, such as a block of text, or a flow collection is an entry that ends where a line is no further
in than its beginning. It means the same wherever it stands, so `EventReader` reads these lines by themselves. What does
not stand for itself is left to it with the whole document: anchors and aliases, what has a tag at the root, explicit
keys, merges, and everything that does not come in the order that is expected here, which is no YAML in most cases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from kschedctl.text.yaml_entries import FOLLOWS, MAX_DEPTH, OTHER, Entry, NotPlainError, parse_entry
from kschedctl.text.yaml_events import BadNodeError, EventReader

#: A text is taken apart in pieces of so many bytes, with so many at least for a line: events are as fast with fewer.
_PIECE: Final = 256 * 1024
_PER_LINE: Final = 4
_MAX_KNOWN: Final = 100_000
_MAX_OTHERS: Final = 10_000
#: Lines and entries of more characters are taken anew each time.
_MAX_REMEMBERED: Final = 1000
#: Entries that the other reader reads cost as much as so many lines read by it; a few do no harm.
_LINES_PER_OTHER: Final = 8
_FEW: Final = 16

#: What is allowed of ASCII, without the carriage return that can end a line; the rest is looked at in ``_NOT_ALLOWED``.
_ALLOWED: Final = bytes((*b"\t\n", *range(0x20, 0x7F), *range(0x80, 0x100)))
#: Line ends of YAML 1.1, byte order marks and control characters.
_NOT_ALLOWED: Final = re.compile(rb"\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]")
_MARKER: Final = re.compile(rb"---(?<![^\n]---)(?:\n|\Z)")

_Container = dict[str, Any] | list[Any]
#: The column of keys where there can be none; no line has its key there.
_NO_KEYS: Final = -2


def may_be_plain(text: bytes) -> bool:
    """Whether a text has only characters that mean here what they mean to libyaml."""
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
    r"""Where documents are: a line ``---`` ends one whatever it is in the middle of.

    Yields
    ------
    tuple of (int, int, int)
        Where a document begins with its marker, where its text begins, and where that ends.

    Examples
    --------
    >>> list(document_spans(b"a: 1\n---\nb: 2\n"))
    [(0, 0, 5), (5, 9, 14)]
    """
    marker = start = 0
    for found in _MARKER.finditer(text):
        yield marker, start, found.start()
        marker, start = found.span()
    yield marker, start, len(text)


class LineReader:
    """Builds plain data from lines, and remembers these from document to document."""

    def __init__(self) -> None:
        #: Lines; nothing for blank ones and comments.
        self._known: dict[str, Entry | None] = {}
        #: What the other reader has read, by its text, and how often it was asked.
        self._others: dict[str, _Container] = {}
        self._n_others = 0
        self._n_lines = 0

    def document(self, text: bytes) -> Any:
        """Build the value of a document.

        Parameters
        ----------
        text : bytes
            Its lines, all characters of which are allowed.

        Returns
        -------
        dict, list or None
            What `EventReader` would build, elements of ``items`` encoded as there; None where there is no line.

        Raises
        ------
        NotPlainError
            Where it is not certain what that would be, or not worth the while.
        """
        # One loop without a call for most lines: they are the cost of YAML.
        known = self._known
        lines = _Lines(text)
        nesting = _Nesting()
        # The innermost container, the column of its keys, and the key whose value may follow.
        container: Any = None
        key_column = _NO_KEYS
        open_key: str | None = None
        for numbered in lines.pieces():
            for number, line in numbered:
                try:
                    entry = known[line]
                except KeyError:
                    entry = self._parse(line)
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
                elif value is FOLLOWS:
                    container[key] = None
                    open_key = key
                else:
                    container[key] = value
        self._n_lines += lines.n_dropped + len(lines)
        return nesting.root

    def _parse(self, line: str) -> Entry | None:
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        entry = parse_entry(line)
        if len(line) <= _MAX_REMEMBERED:
            self._known[line] = entry
        return entry

    def _read_other(self, lines: _Lines, start: int, number: int, key: str | None, nesting: _Nesting) -> None:
        """Put what the other reader makes of an entry into its container, in place of the last one or after it.

        Parameters
        ----------
        start, number : int
            The line where the entry begins, and the last one that was read.
        key : str or None
            Its key; ``None`` for an item.
        """
        entry = lines.read_entry(start, number, nesting.column)
        found = self._others.get(entry)
        if found is None:
            found = _by_events(entry)
            self._n_others += 1
            if self._n_others > max(_FEW, (self._n_lines + lines.n_dropped + number) // _LINES_PER_OTHER):
                # Events alone are faster then.
                raise NotPlainError
            if len(entry) <= _MAX_REMEMBERED and len(self._others) < _MAX_OTHERS:
                self._others[entry] = found
        container = nesting.container
        if isinstance(container, list) and isinstance(found, list) and len(found) == 1:
            container[len(container) - (start < number) :] = found
        elif isinstance(container, dict) and isinstance(found, dict) and found.keys() == {key}:
            container.update(found)
        else:
            raise NotPlainError


class _Nesting:
    """The open containers of a document.

    Attributes
    ----------
    root : dict, list or None
        The document.
    container : dict, list or None
        The innermost one, to which the last entry belongs.
    column : int
        Where its entries begin.
    key_column : int
        Where its keys begin; ``_NO_KEYS`` for a list.
    """

    __slots__ = ("_around", "_items", "column", "container", "key_column", "root")

    def __init__(self) -> None:
        self.root: _Container | None = None
        self.container: Any = None
        self.column = -1
        self.key_column = _NO_KEYS
        self._around: list[tuple[Any, int]] = []
        self._items: Any = None

    def move_to(self, entry: Entry, open_key: str | None) -> bool:
        """Open and close containers up to that of an entry.

        Parameters
        ----------
        open_key : str or None
            The key of the entry before, where its value may follow.

        Returns
        -------
        bool
            False where the line continues the entry before, so that nothing is opened or closed.
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
            self._open_value(first, [] if dashes else {}, open_key)
        else:
            self._close(first, list if dashes else dict)
        for dash in dashes[1:]:
            self._open_item([], dash)
        if dashes and key is not None:
            self._open_item({}, column)
        if len(self._around) > MAX_DEPTH:
            raise NotPlainError
        self.key_column = self.column if self.container.__class__ is dict else _NO_KEYS
        return True

    def _open_value(self, column: int, inner: _Container, open_key: str | None) -> None:
        """Open the root, or the value of a key."""
        if self.container is None:
            self.root = inner
        else:
            self.container[open_key] = inner
        self._around.append((self.container, self.column))
        self.container, self.column = inner, column
        if open_key == "items" and len(self._around) == 2 and inner.__class__ is list:
            self._items = inner

    def _open_item(self, inner: _Container, column: int) -> None:
        self._around.append((self.container, self.column))
        self.container.append(inner)
        self.container, self.column = inner, column

    def _close(self, column: int, kind: type[_Container]) -> None:
        """Close what is further in than a column, down to a container of a kind."""
        container, at = self.container, self.column
        while at > column or (at == column and container.__class__ is not kind):
            container, at = self._around.pop()
        if at != column:
            raise NotPlainError
        self.container, self.column = container, at
        if container is self._items:
            # A list of objects then costs its text and not many times that in Python objects.
            container[-1] = msgspec.Raw(msgspec.json.encode(container[-1]))


class _Lines:
    """The lines of a text, from the beginning of the last entry on.

    Attributes
    ----------
    n_dropped : int
        The number of lines before them.
    """

    def __init__(self, text: bytes) -> None:
        self._pieces = _pieces(text)
        self._lines: list[str] = []
        self._numbered: Iterator[tuple[int, str]] = iter(())
        #: The lines up to here belong to entries that the other reader has read.
        self._n_read = 0
        self.n_dropped = 0

    def __len__(self) -> int:
        return len(self._lines)

    def pieces(self) -> Iterator[Iterator[tuple[int, str]]]:
        """Yield the numbered lines of one piece after the other; numbers begin anew with each."""
        for piece in self._pieces:
            # The last entry may go on.
            n_done = self._entry_before(len(self._lines))
            self.n_dropped += n_done
            self._n_read = max(self._n_read - n_done, 0)
            self._lines = self._lines[n_done:]
            n_before = len(self._lines)
            self._lines += piece
            self._numbered = enumerate(islice(self._lines, n_before, None), n_before)
            yield self._numbered

    def continued(self, number: int) -> tuple[int, str | None]:
        """Return the line and the key of the entry that a line continues."""
        start = self._entry_before(number)
        entry = parse_entry(self._lines[start])
        if entry is None or start == number:
            raise NotPlainError
        return start, entry[1]

    def read_entry(self, start: int, number: int, column: int) -> str:
        """Return the text of an entry without its indentation, and go on behind it.

        Parameters
        ----------
        start, number : int
            The line where it begins, and the last line that was read.
        column : int
            Its column; it ends where a line is no further in.
        """
        end = self._n_read = self._end_of_entry(start, column)
        if end <= number:
            # A comment further out stands between, which ends most of what could go on.
            raise NotPlainError
        n_more = end - number - 1
        next(islice(self._numbered, n_more, n_more), None)
        return "\n".join([line[column:] for line in self._lines[start:end]]) + "\n" * (end < len(self._lines))

    def _entry_before(self, number: int) -> int:
        """Return the line of the entry before a line; the line itself where the other reader has read it."""
        for before in range(number - 1, self._n_read - 1, -1):
            if parse_entry(self._lines[before]) is not None:
                return before
        return number

    def _end_of_entry(self, start: int, column: int) -> int:
        """Return the first line behind an entry that is no further in than its column; lines are added."""
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


def _by_events(entry: str) -> Any:
    """The value of a text that is one document without anchors."""
    import yaml

    try:
        # As deep in the document as it can be.
        reader = EventReader(entry.encode(), MAX_DEPTH)
        found = reader.document() if reader.next_document() else None
        if reader.next_document() or reader.anchors:
            raise NotPlainError
    except (yaml.YAMLError, BadNodeError):
        raise NotPlainError from None
    return found


def _pieces(text: bytes) -> Iterator[list[str]]:
    """The lines of a text; the last of all has no end, and is empty where the text ends with one."""
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
