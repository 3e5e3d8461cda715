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
from typing import Any, Final

import msgspec

from kschedctl.text.yaml_events import BadNodeError, EventReader
from kschedctl.text.yaml_scalars import FIRST_OF_OTHERS, NotFiniteError, plain_key, plain_scalar

#: Lists at the left edge are taken apart in pieces of so many bytes.
_PIECE: Final = 256 * 1024
#: Deeper levels are left to the other reader, which allows some more.
_MAX_DEPTH: Final = 64
#: So are longer keys.
_MAX_KEY: Final = 200
_MAX_KNOWN: Final = 100_000
_MAX_OTHERS: Final = 10_000
#: Lines and entries of more characters are taken anew each time.
_MAX_REMEMBERED: Final = 1000
#: Entries that the other reader reads cost as much as so many lines read by it; a few do no harm.
_LINES_PER_OTHER: Final = 8
_FEW: Final = 16

#: The value of a key that has none on its line, and one that the other reader reads.
_FOLLOWS: Final = object()
_OTHER: Final = object()

#: What is allowed of ASCII, without the carriage return that can end a line; the rest is looked at in ``_NOT_ALLOWED``.
_ALLOWED: Final = bytes((*b"\t\n", *range(0x20, 0x7F), *range(0x80, 0x100)))
#: Line ends of YAML 1.1, byte order marks and control characters.
_NOT_ALLOWED: Final = re.compile(rb"\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]")
_MARKER: Final = re.compile(rb"---(?<![^\n]---)(?:\n|\Z)")
#: What begins something else than a scalar without quotes; a dash does so with a blank after it.
_INDICATORS: Final = frozenset("-?:,[]{}#&*!|>'\"%@` ")
_KEY: Final = re.compile(rf"[A-Za-z0-9_/.$][!-~]{{0,{_MAX_KEY}}}")
_QUOTED: Final = re.compile(r"\"[^\"\\\t]*\"|'[^'\t]*'")
#: Markers, directives, explicit keys and merges.
_NO_ENTRIES: Final = ("---", "...", "%", "?", "<")

#: The columns of the dashes that an entry begins with, its own column, its key where it has one, and its value.
_Entry = tuple[tuple[int, ...], int, str | None, Any]
_Container = dict[str, Any] | list[Any]


class NotPlainError(Exception):
    """Something is left to the other reader."""


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
        self._known: dict[str, _Entry | None] = {}
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
        for lines in _pieces(text):
            n_read = 0
            numbered = enumerate(lines)
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
                        start, key = _entry_before(lines, number, n_read)
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
                        if len(around) > _MAX_DEPTH:
                            raise NotPlainError
                open_key = None
                if start != number or value is _OTHER:
                    n_read = _end_of_entry(lines, start, at)
                    if n_read <= number:
                        # A comment further out stands between, which ends most of what could go on.
                        raise NotPlainError
                    # The last of all lines has no end, and is empty where the text ends with one.
                    whole = "\n".join([line[at:] for line in lines[start:n_read]]) + "\n" * (n_read < len(lines))
                    self._read_other(whole, key, container, again=start < number)
                    if self._n_others > max(_FEW, (self._n_lines + number) // _LINES_PER_OTHER):
                        # Events alone are faster then.
                        raise NotPlainError
                    for _ in range(n_read - number - 1):
                        next(numbered)
                elif key is None:
                    container.append(value)
                elif value is _FOLLOWS:
                    container[key] = None
                    open_key = key
                else:
                    container[key] = value
            self._n_lines += len(lines)
        return root

    def _taken_apart(self, line: str) -> _Entry | None:
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        entry = _entry(line)
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
        reader = EventReader(entry.encode(), _MAX_DEPTH)
        found = reader.document() if reader.next_document() else None
        if reader.next_document() or reader.anchors:
            raise NotPlainError
    except (yaml.YAMLError, BadNodeError):
        raise NotPlainError from None
    return found


def _entry_before(lines: list[str], number: int, n_read: int) -> tuple[int, str | None]:
    """The line and the key of the entry before a line, which is not among those that the other reader has read."""
    for before in range(number - 1, n_read - 1, -1):
        entry = _entry(lines[before])
        if entry is not None:
            return before, entry[2]
    raise NotPlainError


def _end_of_entry(lines: list[str], start: int, at: int) -> int:
    """The number of the first line that is no further in than an entry that begins in a column."""
    end = start + 1
    while end < len(lines):
        rest = lines[end].lstrip(" ")
        if rest and len(lines[end]) - len(rest) <= at:
            break
        end += 1
    return end


def _pieces(text: bytes) -> Iterator[list[str]]:
    """The lines of a text. A piece ends before an item at the left edge, where every other entry has ended."""
    start = 0
    while start < len(text):
        end = text.find(b"\n-", start + _PIECE) + 1 or len(text)
        yield text[start:end].decode().split("\n")
        start = end


def _entry(line: str) -> _Entry | None:
    """Take a line apart.

    Raises
    ------
    NotPlainError
        Where it is no entry in itself.
    """
    rest = line.lstrip(" ")
    if not rest or rest[0] == "#":
        return None
    column = len(line) - len(rest)
    dashes: tuple[int, ...] = ()
    while rest.startswith("- ") and len(dashes) < _MAX_DEPTH:
        dashes = (*dashes, column)
        rest = rest[2:]
        column += 2
    if not rest or rest[0] == " " or rest.startswith(_NO_ENTRIES):
        raise NotPlainError
    key, colon, text = rest.partition(": ")
    if not colon and rest[-1] != ":":
        return dashes, dashes[-1] if dashes else column, None, _scalar(rest)
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
        return dashes, dashes[-1] if dashes else column, None, _OTHER
    return dashes, column, key, _scalar(text) if colon else _FOLLOWS


def _scalar(text: str) -> Any:
    """What a scalar on one line is, where it has no more than quotes."""
    if not text or "\t" in text:
        return _OTHER
    first = text[0]
    if first not in _INDICATORS or (first == "-" and text[1:2] not in ("", " ")):
        if ": " in text or " #" in text or text[-1] in ": ":
            return _OTHER
        try:
            return plain_scalar(text) if first in FIRST_OF_OTHERS else text
        except NotFiniteError:
            raise NotPlainError from None
    if _QUOTED.fullmatch(text):
        return text[1:-1]
    return {"{}": {}, "[]": []}.get(text, _OTHER)
