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

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location, Position
from kschedctl.common.processes import answers_of_processes, number_of_readers
from kschedctl.common.text.patterns import pattern
from kschedctl.common.text.yaml_events import BadNodeError, EventReader
from kschedctl.common.text.yaml_lines import (
    LineReader,
    NotPlainError,
    Shorten,
    Unread,
    document_spans,
    documents_by_lines,
    may_be_plain,
)

#: The size in bytes from which several processes read a text.
LARGE: Final = 8 * 1024**2


def yaml_documents(
    text: bytes | memoryview,
    file: str,
    first: int = 1,
    is_unread: Unread | None = None,
    shorten: Shorten | None = None,
    lines: LineReader | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Yield the documents of a YAML text as JSON, without empty ones.

    Args:
        file: The file's name, for error messages.
        is_unread: The documents of which only ``apiVersion`` and ``kind`` are needed. They have no other fields in
            the result if their first lines determine both; the rest of their text is then not parsed, and its
            errors are not found.
        shorten: The shortening of objects, which are documents or elements of the ``items`` of a document of the
            kind ``List``; called in processes that read a large text.
        lines: A reader with ``items_as_text``, whose cache of lines is used again for other texts.

    Yields: The document's number, counting empty documents, and its JSON.

    Raises InputError if the text is not valid YAML, or has no equivalent in JSON; with line and column.
    """
    text = bytes(text)
    if len(text) >= LARGE:
        documents = documents_by_processes(text, is_unread, shorten)
        if documents is not None:
            number = first
            for json, counts in documents:
                if json:
                    yield number, json
                number += counts
            return
    for number, value, _ in _parsed_values(text, file, first, is_unread, lines, items_as_text=True):
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
    return _parsed_values(text, file, first, items_as_text=False)


def _parsed_values(
    text: bytes,
    file: str,
    first: int,
    is_unread: Unread | None = None,
    lines: LineReader | None = None,
    *,
    items_as_text: bool,
) -> Iterator[tuple[int, Any, bool]]:
    number = first
    rest = 0
    if may_be_plain(text):
        reader = LineReader(items_as_text=items_as_text) if lines is None else lines
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

    Args:
        file, number: The file's name and the document's number, for error messages.
        lines: A reader of plain data, whose cache of lines is used again for other texts.

    Returns: value: plain data; ``None`` if the document is empty. Equal values may be shared with other texts;
        repeated: true if a mapping contained a key that it already had: repeated, or merged by ``<<``

    Raises InputError if the text is not valid YAML, is more than one document, or has no equivalent in JSON.

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


# The reading of a large YAML text by several processes, each of which reads parts of it.
#
# A text is cut before documents, and within a large document before elements of its ``items``. A cut needs no look at
# the
# text around it, because the parts show whether it was right: `LineReader` reads a text from top to bottom, and its
# state
# between two lines is its stack of open containers. Where the text before a cut ends with ``items`` open at the column
# of
# the cut, a reader that starts with ``items:`` and the element after the cut is in the same state as one that has read
# the whole. No entry extends beyond such a cut: an entry ends before the first line that is not indented further.
#
# If anything is different, a part is no text that `LineReader` accepts, or a process dies, there is no result, and the
# text is read as a whole. So is text with an error, so that errors and their positions are the same.

#: The smallest size of a part, in bytes.
PART: Final = 1024**2
#: The number of parts per process, so that processes end at about the same time.
_PER_PROCESS: Final = 16
#: The first element of ``items`` in the first column of its document, after the few fields before it.
_ITEMS: Final = pattern(rb"(?:\A|\n)items:\n([ ]*)- ")
_HEAD: Final = 4096
_BEFORE_ELEMENT: Final = b"items:\n"
_LIST: Final = "List"
_LIST_JSON: Final = msgspec.json.encode(_LIST)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Part(NamedTuple):
    r"""A part of a text.

    >>> split(b"a: 1\n---\nitems:\n- b\n- c\n- d\n- e\n", 3)[1:]
    [Part(start=5, end=20, column=None), Part(start=20, end=24, column=0), Part(start=24, end=32, column=0)]
    """

    #: Its offsets in the text.
    start: int
    end: int
    #: The column of the element of ``items`` with which it begins, if it does not begin with a document.
    column: int | None


class ReadDocument(NamedTuple):
    """A document, or the piece of it in one part."""

    #: The JSON; empty for an empty document.
    json: bytes
    #: True if it counts in the numbers of documents.
    counts: bool
    #: True if elements of ``items`` are shortened, although the kind may be in another piece.
    is_shortened: bool


class ReadPart(NamedTuple):
    """The content of a part; ``open_items`` is that of `LineReader` at its end."""

    documents: list[ReadDocument]
    open_items: tuple[int, int] | None


def split(text: bytes, size: int) -> list[Part]:
    """Cut a text into parts of at least ``size`` bytes, if there are places where cuts seem possible."""
    cuts: list[tuple[int, int | None]] = [(0, None)]
    for marker, start, end in document_spans(text):
        if marker - cuts[-1][0] >= size:
            cuts.append((marker, None))
        if (
            end - cuts[-1][0] < 2 * size
            or (items := _ITEMS.search(text, max(start - 1, 0), min(end, start + _HEAD))) is None
        ):
            continue
        column = len(items[1])
        before = b"\n" + b" " * column + b"- "
        while (at := text.find(before, max(cuts[-1][0] + size, items.end()), end - size)) >= 0:
            cuts.append((at + 1, column))
    ends = [at for at, _ in cuts[1:]] + [len(text)]
    return [Part(at, end, column) for (at, column), end in zip(cuts, ends, strict=True)]


def documents_by_processes(
    text: bytes,
    is_unread: Unread | None = None,
    shorten: Shorten | None = None,
    *,
    jobs: int | None = None,
    part_size: int = PART,
) -> list[tuple[bytes, bool]] | None:
    """Read a text by several processes.

    Args:
        jobs: The maximum number of processes; by default one per core, and none where a fork is not safe.
        part_size: The smallest size of a part, in bytes.

    Returns: The JSON of each document, which is empty for an empty document; and True if the document counts in the
        numbers of documents. ``None`` if one process has to read the text.
    """
    only_safely = jobs is None
    jobs = jobs or number_of_readers()
    if jobs < 2:
        return None
    parts = split(text, max(part_size, len(text) // (jobs * _PER_PROCESS)))
    if len(parts) < 2:
        return None
    reader = LineReader()

    def read(number: int) -> ReadPart | None:
        try:
            return read_part(text, parts, number - 1, reader, is_unread, shorten)
        except (NotPlainError, MemoryError):
            return None

    found = answers_of_processes(read, len(parts), jobs, only_safely=only_safely)
    return None if found is None else joined(parts, found)


def read_part(
    text: bytes,
    parts: Sequence[Part],
    index: int,
    reader: LineReader,
    is_unread: Unread | None = None,
    shorten: Shorten | None = None,
) -> ReadPart:
    """Read a part.

    Raises NotPlainError if one process has to read the text.
    """
    start, end, column = parts[index]
    own = text[start:end] if column is None else _BEFORE_ELEMENT + text[start:end]
    if not may_be_plain(own):
        raise NotPlainError
    continues = index + 1 < len(parts) and parts[index + 1].column is not None
    documents: list[ReadDocument] = []
    for document_end, value, counts in documents_by_lines(own, reader, is_unread):
        is_cut = (column is not None and not documents) or (continues and document_end == len(own))
        if is_cut and reader.repeated:
            # A second ``items`` would replace the first.
            raise NotPlainError
        documents.append(_read_document(value, shorten, counts=counts, is_cut=is_cut))
    return ReadPart(documents, reader.open_items)


def _read_document(value: Any, shorten: Shorten | None, *, counts: bool, is_cut: bool) -> ReadDocument:
    if value is None:
        return ReadDocument(b"", counts, is_shortened=False)
    is_shortened = False
    if (
        shorten is not None
        and (is_cut or (isinstance(value, dict) and value.get("kind") == _LIST))
        and isinstance(items := value.get("items"), list)
    ):
        for index, item in enumerate(items):
            if (
                short := shorten(bytes(item) if isinstance(item, msgspec.Raw) else msgspec.json.encode(item))
            ) is not None:
                items[index], is_shortened = msgspec.Raw(short), True
    json = msgspec.json.encode(value)
    if shorten is not None and not is_cut:
        json = shorten(json) or json
    return ReadDocument(json, counts, is_shortened)


def joined(parts: Sequence[Part], found: Sequence[ReadPart]) -> list[tuple[bytes, bool]] | None:
    """Return the documents of all parts; ``None`` if a cut was wrong."""
    documents: list[list[ReadDocument]] = []
    open_items = None
    for part, read in zip(parts, found, strict=True):
        rest = read.documents
        if part.column is not None:
            if open_items != (0, part.column):
                return None
            documents[-1].append(rest[0])
            rest = rest[1:]
        documents += [[document] for document in rest]
        open_items = read.open_items
    whole = [(_joined_document(pieces), pieces[0].counts) for pieces in documents]
    return None if any(json is None for json, _ in whole) else [(json or b"", counts) for json, counts in whole]


def _joined_document(pieces: Sequence[ReadDocument]) -> bytes | None:
    """Return the JSON of a document of which each piece has other elements of ``items``, and other fields.

    It is ``None`` if the document is none of the kind ``List`` and elements were shortened; or if a piece has no
    ``items``, because only the kind of its document is needed.
    """
    if len(pieces) == 1:
        return pieces[0].json
    fields: dict[str, msgspec.Raw] = {}
    elements: list[memoryview] = []
    for piece in pieces:
        own = _FIELDS.decode(piece.json)
        if "items" not in own:
            return None
        elements += [memoryview(b","), memoryview(own["items"])[1:-1]]
        fields.update(own)
    if any(piece.is_shortened for piece in pieces) and bytes(fields.get("kind", b"")) != _LIST_JSON:
        return None
    fields["items"] = msgspec.Raw(b"".join([b"[", *elements[1:], b"]"]))
    return msgspec.json.encode(fields)
