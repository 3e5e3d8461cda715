"""YAML, parsed as kubectl parses it and converted to JSON document by document.

Two parsers produce the same values. ``yaml_lines`` parses the line formats that programs write. Other text is left to
``yaml_events``, which uses libyaml: a single entry with everything below it if the entry is self-contained, else
the document and all that follow. The resulting JSON is processed like JSON input.

Measured on the output of ``kubectl get pods -o yaml``, and on a table of 426 corner cases with the values of
sigs.k8s.io/yaml 1.6,

===========================  ======  ====================
parser                       MB/s    cases that differ
===========================  ======  ====================
lines and events (here)          50  3
events of libyaml alone         9.4  3
PyYAML 6.0.3, CSafeLoader       1.6  160
rapidyaml 0.15.2, to JSON        53  225
ryaml 0.5.1                      17  175
===========================  ======  ====================

rapidyaml parses YAML 1.1 scalars, tags and aliases of keys differently on its way to JSON, retains both of two equal
keys, and writes rejected input to standard error. It would therefore need input whose scalars and columns have been
checked before, and checking them amounts to parsing them.

The three cases that differ here: an empty first document is skipped; text after ``...`` without ``---``, and a
``!!binary`` value that is not text, are errors, whereas go-yaml drops them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.findings.location import Location, Position
from kschedctl.common.text.yaml_entries import NotPlainError
from kschedctl.common.text.yaml_events import BadNodeError, EventReader
from kschedctl.common.text.yaml_header import Shorten, Unread
from kschedctl.common.text.yaml_lines import LineReader, document_spans, documents_by_lines, may_be_plain

#: The size in bytes from which several processes read a text.
LARGE: Final = 8 * 1024**2


def yaml_documents(
    text: bytes | memoryview,
    file: str,
    first: int = 1,
    is_unread: Unread | None = None,
    shorten: Shorten | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Yield the documents of a YAML text as JSON, without empty ones.

    Parameters
    ----------
    text : bytes or memoryview
        The YAML text, in UTF-8.
    file : str
        The file's name, for error messages.
    first : int
        The number of the first document.
    is_unread : Unread, optional
        The documents of which only ``apiVersion`` and ``kind`` are needed. They have no other fields in the result if
        their first lines determine both; the rest of their text is then not parsed, and its errors are not found.
    shorten : Shorten, optional
        The shortening of objects, which are documents or elements of the ``items`` of a document of the kind ``List``;
        called in processes that read a large text.

    Yields
    ------
    tuple of (int, bytes)
        The document's number, counting empty documents, and its JSON.

    Raises
    ------
    InputError
        If the text is not valid YAML, or has no equivalent in JSON; with line and column.
    """
    text = bytes(text)
    if len(text) >= LARGE:
        # Most texts are small, and are read before another process has started.
        from kschedctl.common.text.yaml_parts import documents_by_processes

        documents = documents_by_processes(text, is_unread, shorten)
        if documents is not None:
            number = first
            for json, counts in documents:
                if json:
                    yield number, json
                number += counts
            return
    for number, value, _ in _values(text, file, first, is_unread, items_as_text=True):
        yield number, msgspec.json.encode(value)


def documents_by_events(text: bytes, file: str, first: int = 1, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield documents like ``yaml_documents``, with libyaml alone, starting at offset `start` with number `first`."""
    for number, value, _ in _by_events(text, file, first, start, items_as_text=True):
        yield number, msgspec.json.encode(value)


def yaml_values(text: bytes, file: str, first: int = 1) -> Iterator[tuple[int, Any, bool]]:
    """Yield the documents of a YAML text as plain data.

    Parameters and errors are those of ``yaml_documents``. The last element of each tuple is True if a mapping
    contained a key that it already had: repeated, or merged by ``<<``. Equal values may be shared.
    """
    return _values(text, file, first, items_as_text=False)


def _values(
    text: bytes, file: str, first: int, is_unread: Unread | None = None, *, items_as_text: bool
) -> Iterator[tuple[int, Any, bool]]:
    number = first
    rest = 0
    if may_be_plain(text):
        reader = LineReader(items_as_text=items_as_text)
        with suppress(NotPlainError):
            for end, value, counts in documents_by_lines(text, reader, is_unread):
                if value is not None:
                    yield number, value, reader.repeated
                number += counts
                rest = end
            return
    yield from _by_events(text, file, number, rest, items_as_text=items_as_text)


def _by_events(
    text: bytes, file: str, first: int, start: int, *, items_as_text: bool
) -> Iterator[tuple[int, Any, bool]]:
    number = first
    with _told(file, text.count(b"\n", 0, start), start, first) as told:
        reader = EventReader(text[start:], items_as_text=items_as_text)
        while reader.next_document():
            reader.repeated = False
            value = reader.document()
            if value is not None:
                yield number, value, reader.repeated
            number += 1
            told.number = number


def yaml_value(text: bytes, file: str, number: int = 1, lines: LineReader | None = None) -> tuple[Any, bool]:
    r"""Return the value of a text that is one document, and whether a key may be repeated in it.

    Parameters
    ----------
    text : bytes
        The YAML text, in UTF-8.
    file, number : str and int
        The file's name and the document's number, for error messages.
    lines : LineReader, optional
        A reader of plain data, whose cache of lines is used again for other texts.

    Returns
    -------
    value : Any
        Plain data; ``None`` if the document is empty. Equal values may be shared with other texts.
    repeated : bool
        True if a mapping contained a key that it already had: repeated, or merged by ``<<``.

    Raises
    ------
    InputError
        If the text is not valid YAML, is more than one document, or has no equivalent in JSON.

    Examples
    --------
    >>> yaml_value(b"a: 1\nb: [x]\na: 2\n", "pod.yaml")
    ({'a': 2, 'b': ['x']}, True)
    """
    lines = LineReader(items_as_text=False) if lines is None else lines
    document = _only_document(text) if may_be_plain(text) else None
    if document is not None:
        with suppress(NotPlainError):
            return lines.document(document), lines.repeated
    with _told(file, number=number):
        reader = EventReader(text, items_as_text=False)
        value = reader.document() if reader.next_document() else None
        if reader.next_document():
            raise BadNodeError("has more than one document", None)
        return value, reader.repeated


def _only_document(text: bytes) -> bytes | None:
    """Return the text of the only document of a text, without its marker; ``None`` if there may be several."""
    spans = list(islice(document_spans(text), 3))
    if len(spans) == 2 and spans[1][0] == 0:
        del spans[0]
    return text[spans[0][1] : spans[0][2]] if len(spans) == 1 else None


class _Told:
    """The number of the document being parsed, for error messages."""

    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def _told(file: str, n_lines: int = 0, start: int = 0, number: int = 1) -> Iterator[_Told]:
    """Convert errors of the YAML parser to ``InputError`` with the document and position."""
    import yaml

    told = _Told(number)
    try:
        yield told
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.problem, error.context) if part)
        raise _error(problem, Location(file, told.number), mark, n_lines) from None
    except yaml.reader.ReaderError as error:
        raise InputError(
            f"is not readable as YAML: {error.reason} at byte {start + error.position}",
            where=Location(file, told.number),
            hint="UTF-8 text without control characters is expected",
        ) from None
    except BadNodeError as error:
        raise _error(error.problem, Location(file, told.number), error.mark, n_lines, error.hint) from None


def _error(problem: str, location: Location, mark: Any, n_lines: int, hint: str = "") -> InputError:
    position = Position(n_lines + mark.line + 1, mark.column + 1) if mark is not None else None
    return InputError(problem, where=location, hint=hint, position=position)
