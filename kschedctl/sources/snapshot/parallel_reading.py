"""The reading of a large input by several processes, with the results and messages of one process.

The input is cut into parts: the pieces of a JSON list, some of many JSON documents, or some of many files of a folder.
A process reads a part as any reading does, and sends its pods as records, so that this process only numbers their specs
and classes. The parts are added in their order. If a part has any problem, or more than objects, it is read again by
this process, which knows what came before it.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property, partial
from itertools import accumulate, groupby, islice, pairwise
from typing import BinaryIO, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.stored_objects import ObjectsToStore, StoredObjects
from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location
from kschedctl.common.processes import answers_in_order, number_of_readers
from kschedctl.common.text.characters import utf8_text
from kschedctl.common.text.json_text import NotJsonError, json_documents
from kschedctl.common.text.yaml import LARGE as LARGE_YAML
from kschedctl.common.text.yaml import PART
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.selectors import SelectorError
from kschedctl.sources.snapshot.clusters import Part
from kschedctl.sources.snapshot.documents import ENVELOPES, Document
from kschedctl.sources.snapshot.files import LARGE, Source, read_sources, source_at
from kschedctl.sources.snapshot.list_stream import ListPieces, NotStreamableError
from kschedctl.sources.snapshot.objects import EnoughError, Read, Reading
from kschedctl.sources.snapshot.summary import ReadSummary, SkippedFile

# Two processes are started in about 0.02 s. What one process reads in less than a quarter of a second is not worth it.

#: The size in bytes from which processes read documents of JSON: 0.2 to 0.6 s for one process.
LARGE_DOCUMENTS: Final = 16 * 1024**2
#: The time in microseconds from which processes read files of folders. It is estimated, for one process, from the
#: number of files and of bytes; those of YAML take ten times as long.
WORTH: Final = 250_000
_PER_FILE: Final = 100
_BYTES_OF_JSON: Final = 200
_BYTES_OF_YAML: Final = 20
_YAML: Final = (".yaml", ".yml")
#: The number of parts per process, so that processes end at about the same time.
_PER_PROCESS: Final = 16


#: The beginning of a JSON document on a line of its own, after the one before it.
_NEXT_DOCUMENT: Final = b"\n{"


class PartRead(NamedTuple):
    """The content of a part, as a process sends it."""

    #: `StoredObjects`, encoded.
    objects: bytes
    summary: ReadSummary
    #: The number of documents, or of items of a list.
    number: int
    #: The files of each folder that have parts of a cluster.
    parts: dict[str, dict[str, Part]]
    #: For each file of folders, the number of files that were skipped while it was read.
    n_passed: Sequence[int]


class _WaitingFile(NamedTuple):
    """A file of a folder that is not read yet."""

    source: Source
    #: The files that were skipped between the one before it and this one.
    passed: list[SkippedFile]

    @property
    def cost(self) -> int:
        """The estimated time in which one process reads it, in microseconds."""
        per_microsecond = _BYTES_OF_YAML if self.source.path.endswith(_YAML) else _BYTES_OF_JSON
        return _PER_FILE + _size(self.source) // per_microsecond


_DECODER: Final = msgspec.msgpack.Decoder(StoredObjects)


class ParallelReading(Reading):
    """The reading of one input, large parts of which are read by several processes and returned as `StoredObjects`.

    jobs: The number of processes; ``None`` for as many as there are cores, if a fork is safe.
    """

    jobs: int | None = None

    @cached_property
    def _jobs(self) -> int:
        # Originals are recorded by this process alone.
        return 1 if self._written is not None else self.jobs or number_of_readers()

    def _answers(self, answer: Callable[[int], PartRead | None], n_parts: int) -> "closing[Generator[PartRead | None]]":
        """Return the parts in their order, each as soon as it is read; none if processes cannot be started."""
        return closing(answers_in_order(answer, n_parts, self._jobs, only_safely=self.jobs is None))

    # A list, each piece of which is a part.

    def _of_list(self, stream: BinaryIO, location: Location) -> Iterator[Read]:
        if self._jobs < 2:
            yield from super()._of_list(stream, location)
            return
        pieces = ListPieces(stream)
        n_pieces = n_items = 0
        with self._answers(partial(self._read_piece, pieces, location), len(pieces)) as answers:
            for part in answers:
                if part is None:
                    break
                self.summary.extend(part.summary)
                yield replace(_DECODER.decode(part.objects), n_items_before=n_items), location
                n_items += part.number
                n_pieces += 1
        if n_pieces < len(pieces):
            yield from self._of_pieces(pieces.stream_from(n_pieces), location, n_items)

    def _read_piece(self, pieces: ListPieces, location: Location, number: int) -> PartRead | None:
        """Read a piece of a list in a process of its own."""
        try:
            piece = pieces.read(number - 1)
        except (InputError, NotStreamableError, MemoryError):
            return None
        reading = self._for_part()
        return _part_of_file(reading, reading._of_pieces([piece], location), len(piece.items))

    # Many documents of JSON, of which a part ends before a line with an opening brace. The parts show whether that was
    # right: a text ends between two documents if it has complete documents alone.

    def _file(self, source: Source) -> Iterator[Read]:
        cuts = _cuts(source.content, self._jobs * _PER_PROCESS) if self._jobs > 1 else ()
        if len(cuts) < 2:
            yield from super()._file(source)
            return
        left_out = self.summary.left_out.copy()
        n_read = n_parts = n_documents = 0
        with self._answers(partial(self._read_documents, source, cuts), len(cuts)) as answers:
            for part in answers:
                if part is None:
                    break
                self.summary.extend(part.summary)
                objects = replace(_DECODER.decode(part.objects), n_documents_before=n_documents)
                yield objects, Location(source.name)
                n_read += len(objects)
                n_documents += part.number
                n_parts += 1
        if n_parts == len(cuts):
            self._count_file(source)
            return
        # Only the whole text shows what is wrong, and where.
        self.summary.left_out = left_out
        yield from islice(super()._file(source), n_read, None)

    def _read_documents(self, source: Source, cuts: Sequence[slice], number: int) -> PartRead | None:
        """Read some documents in a process of its own."""
        reading, text = self._for_part(), source.content[cuts[number - 1]]
        try:
            if utf8_text(text, source.name) is not text:
                return None
            documents = [
                Document(Location(source.name, nth), value, envelope, text, 0)
                for nth, value, envelope in json_documents(text, ENVELOPES)
            ]
        except (InputError, NotJsonError, MemoryError):
            return None

        def objects() -> Iterator[Read]:
            for document in documents:
                read = reading._objects_of(document, source)
                if isinstance(read, InputError):
                    raise read
                yield from read

        return _part_of_file(reading, objects(), len(documents))

    def _for_part(self) -> Reading:
        """Return an empty reading, for a part."""
        reading = Reading((), None, ReadSummary())
        reading._lines = self._lines
        return reading

    # The files of folders, which are read once it is known how many follow each other.

    def _of_input(self) -> Iterator[Read]:
        if self._jobs < 2 or self._cluster:
            yield from super()._of_input()
            return
        summary = self.summary
        waiting: list[_WaitingFile] = []
        n_passed = len(summary.passed)
        for source in read_sources(self._paths, self._stdin, summary, self._unpacking, later=True):
            passed = summary.passed[n_passed:]
            del summary.passed[n_passed:]
            if isinstance(source, Source) and _can_wait(source):
                waiting.append(_WaitingFile(source, passed))
                continue
            yield from self._of_files(waiting)
            waiting = []
            summary.passed += passed
            yield from self._of_source(self._with_content(source))
            n_passed = len(summary.passed)
            # Release this text before the next one is read.
            del source
        passed = summary.passed[n_passed:]
        del summary.passed[n_passed:]
        yield from self._of_files(waiting)
        summary.passed += passed

    def _with_content(self, source: Source | InputError) -> Source | InputError:
        """Return a source as a reading by one process receives it."""
        if isinstance(source, Source) and source.path and not source.named and _size(source) < LARGE:
            return source_at(source.path, self._unpacking, inside=source.inside)
        return source

    def _of_files(self, waiting: Sequence[_WaitingFile]) -> Iterator[Read]:
        """Read files of folders."""
        n_read = 0
        if (cost := sum(file.cost for file in waiting)) >= WORTH:
            costs = accumulate(file.cost for file in waiting)
            numbered = groupby(
                zip(waiting, costs, strict=True), lambda each: each[1] * self._jobs * _PER_PROCESS // cost
            )
            batches = [[file for file, _ in batch] for _, batch in numbered]
            with self._answers(partial(self._read_batch, batches), len(batches)) as answers:
                for batch, part in zip(batches, answers, strict=False):
                    n_read += len(batch)
                    if part is None:
                        yield from self._in_this_process(batch)
                    else:
                        self._add_batch(batch, part)
                        yield _DECODER.decode(part.objects), Location("")
        yield from self._in_this_process(waiting[n_read:])

    def _in_this_process(self, waiting: Iterable[_WaitingFile]) -> Iterator[Read]:
        for file in waiting:
            self.summary.passed += file.passed
            yield from self._of_source(self._with_content(file.source))

    def _add_batch(self, batch: Sequence[_WaitingFile], part: PartRead) -> None:
        """Add all of a batch but its objects to what was read before it."""
        summary, own = self.summary, part.summary
        skipped = iter(own.passed)
        own.passed = []
        for file, n_passed in zip(batch, part.n_passed, strict=True):
            own.passed += [*file.passed, *islice(skipped, n_passed)]
        summary.extend(own)
        for root, of_root in part.parts.items():
            self.parts.setdefault(root, {}).update(of_root)

    def _read_batch(self, batches: Sequence[Sequence[_WaitingFile]], number: int) -> PartRead | None:
        """Read files in a process of its own."""
        reading, unpacked = self._for_part(), self._unpacking.total
        n_passed = []

        def objects() -> Iterator[Read]:
            for file in batches[number - 1]:
                before = len(reading.summary.passed)
                yield from reading._of_source(self._with_content(file.source))
                n_passed.append(len(reading.summary.passed) - before)

        part = _part_of(reading, objects(), n_passed=n_passed)
        # Unpacked bytes are counted by one process, which knows the limit of all.
        return part if self._unpacking.total == unpacked else None


def _part_of(
    reading: Reading, objects: Iterator[Read], number: int = 0, n_passed: Sequence[int] = ()
) -> PartRead | None:
    """Return the content of a part; ``None`` if it depends on the parts before it, or has a problem."""
    store = ObjectsToStore()
    try:
        for obj, place in objects:
            if isinstance(obj, StoredObjects):
                return None
            store.add(obj, place)
        stored = store.stored()
        encoded = None if stored is None else msgspec.msgpack.encode(stored)
    except (InputError, EnoughError, NotStreamableError, QuantityError, SelectorError, MemoryError, OverflowError):
        return None
    if encoded is None or reading.has_findings or not reading.summary.is_of_objects:
        return None
    return PartRead(encoded, reading.summary, number, reading.parts, n_passed)


def _part_of_file(reading: Reading, objects: Iterator[Read], number: int) -> PartRead | None:
    """Return the content of a part of a file.

    Args:
        number: The number of its documents or items.
    """
    part = _part_of(reading, objects, number)
    # The location of what was skipped has a number that depends on the parts before this one.
    return None if part is None or part.summary.passed else part


def _cuts(text: bytes, most: int) -> list[slice]:
    """Return the parts of a text of many JSON documents, at most ``most``; none if the text is small or another one."""
    if len(text) < LARGE_DOCUMENTS or not text.startswith(b"{"):
        return []
    size = max(len(text) // most, PART)
    # A list has no such line; it is not searched to its end.
    if text.find(_NEXT_DOCUMENT, 0, 2 * size) < 0:
        return []
    cuts = [0]
    while (at := text.find(_NEXT_DOCUMENT, cuts[-1] + size)) >= 0:
        cuts.append(at + 1)
    return [slice(begin, end) for begin, end in pairwise([*cuts, len(text)])]


def _size(source: Source) -> int:
    assert source.state is not None
    return source.state[2]


def _can_wait(source: Source) -> bool:
    """Report whether a source is a small file of a folder without its content."""
    return bool(source.path) and not source.named and _size(source) < LARGE_YAML
