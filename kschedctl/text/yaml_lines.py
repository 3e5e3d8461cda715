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
        root: _Container | None = None
        items: Any = None
        # The container of the last entry and its column, those around it, and the key whose value may follow.
        container: Any = None
        at = -1
        around: list[tuple[Any, int]] = []
        open_key: str | None = None
        pieces = _pieces(text)
        # Lines, those that are still to be read included, and how many of them the other reader has read.
        lines: list[str] = []
        n_read = 0
        for piece in pieces:
            # The last entry may go on.
            n_gone = _entry_before(lines, len(lines), n_read)
            self._n_lines += n_gone
            lines = lines[n_gone:]
            n_read = max(n_read - n_gone, 0)
            n_before = len(lines)
            lines += piece
            numbered = enumerate(islice(lines, n_before, None), n_before)
            for number, line in numbered:
                try:
                    entry = known[line]
                except KeyError:
                    entry = self._taken_apart(line)
                if entry is None:
                    continue
                dashes, column, key, value = entry
                start = number
                if dashes or column != at or key is None or container.__class__ is not dict:
                    first = dashes[0] if dashes else column
                    further_in = first > at or (bool(dashes) and first == at and open_key is not None)
                    no_entry = key is None and not dashes
                    if no_entry and (not further_in or container is None):
                        raise NotPlainError
                    if no_entry or (further_in and open_key is None and container is not None):
                        # The entry before goes on, over several lines.
                        start = _entry_before(lines, number, n_read)
                        entry = known.get(lines[start]) or parse_entry(lines[start])
                        if entry is None or start == number:
                            raise NotPlainError
                        key = entry[2]
                    elif further_in:
                        inner: _Container = [] if dashes else {}
                        if container is None:
                            root = inner
                        else:
                            container[open_key] = inner
                        around.append((container, at))
                        container, at = inner, first
                        if open_key == "items" and len(around) == 2 and dashes:
                            items = container
                    else:
                        kind = list if dashes else dict
                        while at > first or (at == first and container.__class__ is not kind):
                            container, at = around.pop()
                        if at != first:
                            raise NotPlainError
                        if container is items:
                            # A list of objects then costs its text and not many times that in Python objects.
                            container[-1] = msgspec.Raw(msgspec.json.encode(container[-1]))
                    if start == number:
                        for dash in dashes[1:]:
                            around.append((container, at))
                            container.append([])
                            container, at = container[-1], dash
                        if dashes and key is not None:
                            around.append((container, at))
                            container.append({})
                            container, at = container[-1], column
                        if len(around) > MAX_DEPTH:
                            raise NotPlainError
                open_key = None
                if start != number or value is OTHER:
                    n_read = _end_ofparse_entry(lines, pieces, start, at)
                    if n_read <= number:
                        # A comment further out stands between, which ends most of what could go on.
                        raise NotPlainError
                    whole = "\n".join([line[at:] for line in lines[start:n_read]]) + "\n" * (n_read < len(lines))
                    self._read_other(whole, key, container, again=start < number)
                    if self._n_others > max(_FEW, (self._n_lines + number) // _LINES_PER_OTHER):
                        # Events alone are faster then.
                        raise NotPlainError
                    for _ in range(n_read - number - 1):
                        next(numbered)
                elif key is None:
                    container.append(value)
                elif value is FOLLOWS:
                    container[key] = None
                    open_key = key
                else:
                    container[key] = value
        self._n_lines += len(lines)
        return root

    def _taken_apart(self, line: str) -> Entry | None:
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        entry = parse_entry(line)
        if len(line) <= _MAX_REMEMBERED:
            self._known[line] = entry
        return entry

    def _read_other(self, entry: str, key: str | None, container: Any, *, again: bool) -> None:
        """Put what the other reader makes of an entry into its container, in place of the last one or after it."""
        found = self._others.get(entry)
        if found is None:
            found = _by_events(entry)
            self._n_others += 1
            if len(entry) <= _MAX_REMEMBERED and len(self._others) < _MAX_OTHERS:
                self._others[entry] = found
        if isinstance(container, list) and isinstance(found, list) and len(found) == 1:
            container[len(container) - again :] = found
        elif isinstance(container, dict) and isinstance(found, dict) and found.keys() == {key}:
            container.update(found)
        else:
            raise NotPlainError


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


def _entry_before(lines: list[str], number: int, n_read: int) -> int:
    """The line of the entry before a line, if it is not among those that the other reader has read."""
    for before in range(number - 1, n_read - 1, -1):
        if parse_entry(lines[before]) is not None:
            return before
    return number


def _end_ofparse_entry(lines: list[str], pieces: Iterator[list[str]], start: int, at: int) -> int:
    """The number of the first line that is no further in than an entry that begins in a column; lines are added."""
    end = start + 1
    while True:
        while end < len(lines):
            rest = lines[end].lstrip(" ")
            if rest and len(lines[end]) - len(rest) <= at:
                return end
            end += 1
        piece = next(pieces, None)
        if piece is None:
            return end
        lines += piece


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
