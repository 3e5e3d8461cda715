"""Reading of files into typed objects, by the layout of their documents (``layouts``), with all errors collected."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial, reduce
from itertools import islice
from operator import or_
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final, TypeAlias

import msgspec

from kschedctl.cluster.stored_objects import StoredObjects
from kschedctl.common.errors import InputError, SnapshotError
from kschedctl.common.findings import Finding, Location, ObjectRef, Severity, Subject, Where
from kschedctl.common.text.patterns import pattern
from kschedctl.common.text.yaml_lines import LineReader
from kschedctl.common.wording import listed
from kschedctl.objects.cluster_autoscaler import STATUS_NAME
from kschedctl.objects.coordination import LEADER_ANNOTATION, ConfigMap
from kschedctl.objects.event import EVENT_BEGINNING, TELLING_WORDS, Event, NewestEvents
from kschedctl.objects.kinds import evidence_type, file_type, kind_type, lock_type
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.snapshot.archives import Unpacking
from kschedctl.sources.snapshot.clusters import PART_OF_KIND, Part, clusters_in
from kschedctl.sources.snapshot.content_sniffing import (
    BRACES,
    HEAD,
    is_without_kind,
    meant_kind,
    printed,
    seems_object,
    unrendered,
    was_meant,
)
from kschedctl.sources.snapshot.decoding import (
    TEXTS,
    JsonValue,
    decode,
    elements,
    json_text,
    plain,
    plain_or_none,
    shown,
    top_level,
)
from kschedctl.sources.snapshot.documents import (
    CAPTURE,
    CARRIERS,
    LAYOUTS,
    SIMULATOR,
    SIMULATOR_LISTS,
    STATUS,
    VERSION_OF_BUNDLE,
    Document,
    NoObjectError,
    ObjectHeader,
    any_documents,
    is_export,
    read_envelope,
)
from kschedctl.sources.snapshot.files import (
    STDIN_NAME,
    Source,
    cannot_read,
    check_unchanged,
    input_name,
    read_sources,
    whole_source,
)
from kschedctl.sources.snapshot.header import SnapshotHeader
from kschedctl.sources.snapshot.list_stream import NotStreamableError, Piece, stream_list
from kschedctl.sources.snapshot.names import SUFFIXES
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.sources.snapshot.path_kinds import typed_by_path
from kschedctl.sources.snapshot.summary import ReadSummary, SkippedFile, server_version

# The shortening of objects, given as JSON, to the fields that reading uses, for the way between two processes.

# The beginning of an object as written by API servers and kubectl.
_SHORTENING_BEGINNING: Final = pattern(
    rb'\{\s*(?:"apiVersion":\s*"([\w./-]+)",\s*"kind":\s*"(\w+)"|"kind":\s*"(\w+)",\s*"apiVersion":\s*"([\w./-]+)")'
)


def shortened(text: bytes, summary: ReadSummary) -> bytes | None:
    r"""Return an object without the fields that reading skips, and with its newest time in the field ``time``.

    Returns: An object that is read as the same; ``None`` if nothing is known about its kind, or it is invalid or a
        list.
    """
    match = _SHORTENING_BEGINNING.match(text)
    if match is None:
        return None
    api_version, kind = (match[1] or match[4]).decode(), (match[2] or match[3]).decode()
    type_ = kind_type(api_version, kind) or evidence_type(api_version, kind)
    if type_ is None:
        return None
    try:
        read = decode(text, type_)
        if read_envelope(text).items is not msgspec.UNSET:
            return None
    except InputError:
        return None
    if not read.metadata.name or BRACES in read.metadata.name:
        return None
    # Only where reading notes the times, too: a document may be left unparsed if its times are older.
    newest = summary.note_times(text)
    # No kind has the field ``time`` itself; the name of the object guarantees that there are other fields.
    time = b',"time":"' + newest + b'Z"' if newest else b""
    return match[0] + time + b"," + msgspec.json.encode(read)[1:]


MAX_PROBLEMS: Final = 10
#: The number of clusters that an error names.
MOST_CLUSTERS: Final = 20
NO_OBJECTS: Final = "holds no Kubernetes objects"
NO_KIND: Final = "the objects have no kind, and the path names none"
#: The reason for which a file is skipped that cannot be read and is none of the cluster.
UNREADABLE: Final = "not YAML or JSON"
#: The layout of files whose kind their path tells.
BY_PATH: Final = "objects whose kind their path tells"
EMPTY: Final = "empty"

#: The size in bytes from which a file has its own cache of lines, which ends with it.
_MANY_LINES: Final = 256 * 1024

_LIST: Final = "List"
_SIMULATOR_CONFIG: Final = "schedulerConfig"
#: The kind of a document with the control plane's version in ``gitVersion``.
_VERSION_KIND: Final = "Info"
_KIND: Final = re.compile("[A-Za-z][A-Za-z0-9-]*", re.ASCII)
_LEADER: Final = LEADER_ANNOTATION.encode()
_AUTOSCALER_STATUS: Final = STATUS_NAME.encode()
#: The field that makes any object a list, in YAML whose first lines determine its kind.
_ITEMS_LINE: Final = b"\nitems:"
_EVENT: Final = pattern(EVENT_BEGINNING)
#: YAML that may hide a time or the annotation of a lock: escapes of their characters, an escaped line break within
#: them, and the beginnings of tags, one of which encodes text.
_ESCAPES: Final = pattern(rb"\\[xuU/\n]")
_TAGS: Final = (b"!!", b"!<")


#: An object that was read, or those of a part of the input that another process has read.
Read: TypeAlias = tuple[ApiObject, Location] | tuple[StoredObjects, Location]


class EnoughError(Exception):
    """The maximum number of reported problems (``MAX_PROBLEMS``) is exceeded."""


class Reading:
    """The reading of one input.

    parts: The files of each folder or archive that have parts of a cluster, by their paths inside.

    Args:
        paths: Files, folders and archives; ``-`` is standard input.
        max_unpacked: The maximum number of bytes to unpack, or to hold of a file that cannot be streamed.
        cluster: The path of a cluster inside folders and archives, which is read alone; empty to read all files.
    """

    #: True to read each file as a whole, and to decode YAML to plain data.
    _as_data: ClassVar = False
    #: True if the objects are those of one cluster.
    _of_one_cluster: ClassVar = True

    def __init__(
        self,
        paths: Sequence[str | Path],
        stdin: BinaryIO | None,
        summary: ReadSummary,
        error: type[InputError] = SnapshotError,
        *,
        max_unpacked: int | None = None,
        written: OriginalObjects | None = None,
        cluster: str = "",
    ) -> None:
        self._paths = paths
        self._stdin = stdin
        self._cluster = cluster
        self.parts: dict[str, dict[str, Part]] = {}
        self.summary = summary
        self._error = error
        self._unpacking = Unpacking(max_unpacked)
        self._findings: list[Finding] = []
        self._written = written
        # Files of one cluster have many lines in common.
        self._lines = LineReader()

    def objects(self) -> Iterator[Read]:
        """Read the objects, each with its location.

        Raises InputError if there are problems: an error of the given type with the first ``MAX_PROBLEMS`` (10) of
            them.
        """
        try:
            for read in self._of_input():
                # After a problem, the rest is only searched for more problems.
                if not self.has_findings:
                    yield read
        except EnoughError:
            more = Finding(f"only the first {MAX_PROBLEMS} errors are shown", severity=Severity.INFO)
            raise self._error.together([*self._findings, more]) from None
        except MemoryError:
            raise self._error(
                "not enough memory for the text of its largest file",
                where=", ".join(map(str, self._paths)),
                hint="give a folder of smaller files, such as kschedctl snapshot writes",
            ) from None
        self._error.raise_any(self._findings)
        if self._of_one_cluster:
            # Raise an error if a folder or archive has several clusters, or not the one that is to be read.
            if self._cluster and not self.parts:
                # Clusters are looked for by name before, unless the input is standard input.
                hint = "give the path inside: standard input is read only once"
                raise self._error(f'there is no cluster "{self._cluster}"', where=STDIN_NAME, hint=hint)
            for root, found in self.clusters().items():
                if found:
                    problem = f"holds {len(found)} clusters: {listed(found, most=MOST_CLUSTERS)}"
                    hint = (
                        "choose one with --cluster NAME; name the parts of one cluster one by one, each with --snapshot"
                    )
                    raise self._error(problem, where=root.rstrip(f":/{os.sep}"), hint=hint)
        if not self.summary.n_objects and not self._may_be_empty():
            raise self._nothing_found()

    def _nothing_found(self) -> InputError:
        """Return the error of an input without objects that scheduling depends on, with what became of its files."""
        summary = self.summary
        counts = [f"{len(summary.files)} read"]
        counts += [f"{n} {reason}" for reason, n in sorted(summary.not_read.items())]
        rest = ""
        if left_out := ", ".join(f"{n} {kind}" for kind, n in sorted(summary.left_out.items())):
            rest = f"; kinds left out: {left_out}"
        elif not summary.files and not summary.passed:
            rest = f"; looked for: {', '.join(SUFFIXES)}, and these with .gz"
        elif doubtful := [each.name for each in summary.doubtful()]:
            rest = f"; objects seem to be in {listed(doubtful)}"
        return self._error(
            "no object that kschedctl reads was found",
            where=", ".join(map(input_name, self._paths)),
            hint=f"files: {', '.join(counts)}{rest}",
        )

    def _of_input(self) -> Iterator[Read]:
        """Read all files."""
        for source in read_sources(self._paths, self._stdin, self.summary, self._unpacking, cluster=self._cluster):
            yield from self._of_source(source)
            # Release this text before the next one is read.
            del source

    def _of_source(self, source: Source | InputError) -> Iterator[Read]:
        """Read a file, and record its content in the summary."""
        if isinstance(source, InputError):
            self.note(source)
            return
        summary = self.summary
        before, header = summary.left_out.copy(), summary.header
        kinds: Counter[type[ApiObject]] = Counter()
        for read in self._large_file(source) if source.path else self._file(source):
            obj = read[0]
            if isinstance(obj, StoredObjects):
                kinds.update(obj.kinds())
            else:
                kinds[type(obj)] += 1
            yield read
        for kind, number in kinds.items():
            summary.n_of_kind[kind.__name__] += number
            summary.files[source.name] += number
        part = reduce(or_, (PART_OF_KIND.get(kind, Part(0)) for kind in kinds), Part(0))
        if summary.header is not header:
            part |= Part.HEADER
        if source.inside:
            own = self.parts.setdefault(source.name.removesuffix(source.inside), {})
            if part:
                own[source.inside] = part
        if summary.files.get(source.name) == 0:
            summary.left_out_of[source.name] = summary.left_out - before

    def clusters(self) -> dict[str, list[str]]:
        """Return the paths of the clusters inside each folder or archive, known once the objects are read."""
        return {root: [each for each in clusters_in(parts) if each] for root, parts in self.parts.items()}

    def _may_be_empty(self) -> bool:
        """Report whether input without any object that scheduling depends on is valid."""
        return False

    @property
    def has_findings(self) -> bool:
        """True if problems were found."""
        return bool(self._findings)

    def note(self, error: InputError, where: Where = "") -> None:
        """Record the problems of an error, up to ``MAX_PROBLEMS``."""
        for finding in error.findings:
            if len(self._findings) == MAX_PROBLEMS:
                raise EnoughError
            placed = finding.at(where)
            if placed not in self._findings:
                self._findings.append(placed)

    def _large_file(self, source: Source) -> Iterator[Read]:
        """Stream a file if it is a list; read any other file as a whole."""
        summary = self.summary
        left_out, findings = summary.left_out.copy(), list(self._findings)
        n_read = 0
        location = Location(source.name, 1)
        assert source.state is not None
        try:
            if self._as_data:
                raise NotStreamableError
            with open(source.path, "rb") as stream:
                check_unchanged(stream.fileno(), source.path, source.state)
                for read in self._of_list(stream, location):
                    n_read += len(read[0]) if isinstance(read[0], StoredObjects) else 1
                    yield read
                check_unchanged(stream.fileno(), source.path, source.state)
        except NotStreamableError:
            summary.left_out, self._findings = left_out, findings
            try:
                whole = whole_source(source, self._unpacking)
            except InputError as error:
                with open(source.path, "rb") as stream:
                    head = stream.read(HEAD)
                if n_read or not self._is_foreign(source, head):
                    self.note(error)
                return
            except OSError as error:
                self.note(cannot_read(source.path, error))
                return
            yield from islice(self._file(whole), n_read, None)
        except (InputError, OSError) as error:
            self.note(error if isinstance(error, InputError) else cannot_read(source.path, error), location)
        else:
            self._count_file(source)

    def _of_list(self, stream: BinaryIO, location: Location) -> Iterator[Read]:
        """Read a file that is a list.

        Raises NotStreamableError, InputError as ``stream_list`` does.
        """
        return self._of_pieces(stream_list(stream), location)

    def _of_pieces(self, pieces: Iterable[Piece], location: Location, n_before: int = 0) -> Iterator[Read]:
        """Read pieces of a list; the first item has the number ``n_before + 1``."""
        for piece in pieces:
            yield from self._list(piece.envelope, piece.items, location, n_before)
            n_before += len(piece.items)

    def _count_file(self, source: Source) -> None:
        self.summary.files[source.name] += 0
        self.summary.identities.add(source.identity)

    def _file(self, source: Source) -> Iterator[Read]:
        n_findings = len(self._findings)
        try:
            yield from self._documents_of(source)
        finally:
            wrong = len(self._findings) > n_findings
            if wrong and (form := unrendered(source.content, source.name) or printed(source.content, source.name)):
                self._findings[n_findings:] = [form]

    def _documents_of(self, source: Source) -> Iterator[tuple[ApiObject, Location]]:
        no_objects: list[InputError] = []
        n_met = n_read = n_documents = 0
        seems = lacks_kind = False
        try:
            is_unread = None if self._as_data else self._is_unread
            shorten = partial(shortened, summary=self.summary) if self._written is None else None
            for document in any_documents(
                source.content,
                source.name,
                as_data=self._as_data,
                is_unread=is_unread,
                shorten=shorten,
                lines=self._lines if len(source.content) < _MANY_LINES else None,
            ):
                n_documents += 1
                objects = self._objects_of(document, source)
                if not isinstance(objects, InputError):
                    n_met += 1
                    for read in objects:
                        n_read += 1
                        yield read
                    continue
                value = plain_or_none(document.value)
                seems, lacks_kind = seems or seems_object(value), lacks_kind or is_without_kind(value)
                if len(no_objects) <= MAX_PROBLEMS:
                    no_objects.append(objects)
        except InputError as error:
            if not n_read and self._is_foreign(source, source.content):
                return
            n_met += 1
            self.note(error, source.name)
        # A file in a folder that contains no object at all belongs to another program.
        if not n_met and not source.named:
            # A failed command leaves an empty file.
            if not n_documents:
                self._skip(source, EMPTY)
            else:
                self._skip(source, NO_KIND if lacks_kind else NO_OBJECTS, is_doubtful=seems)
            return
        for problem in no_objects:
            self.note(problem)
        self._count_file(source)

    def _objects_of(self, document: Document, source: Source) -> Iterable[tuple[ApiObject, Location]] | InputError:
        """Return the objects of a document, or the error that its format is unknown."""
        try:
            envelope = document.envelope
            if (read := self._document(document)) is not None:
                return read
            error = _not_an_object(document.location, envelope)
            is_partial = bool(envelope.kind or envelope.api_version)
        except NoObjectError as problem:
            error, is_partial = problem.at(document.location), False
        if is_partial or not self._of_one_cluster:
            return error
        typed = typed_by_path(document.value, source.inside or os.path.basename(source.name))
        if typed is None:
            return error
        self.summary.layouts[source.name] = BY_PATH
        if typed.items is None:
            one = self._object(document.value, typed.api_version, typed.kind, document.location)
            return () if one is None else (one,)
        envelope = ObjectHeader[Any](typed.api_version, f"{typed.kind}{_LIST}")
        return self._list(envelope, typed.items, document.location)

    def _is_foreign(self, source: Source, content: bytes) -> bool:
        """Report whether a broken file was not meant as objects, and is skipped; kubectl refuses all of a manifest."""
        if not self._of_one_cluster or source.named or was_meant(content, source.inside):
            return False
        self._skip(source, UNREADABLE)
        return True

    def _skip(self, source: Source, reason: str, *, is_doubtful: bool = True) -> None:
        """Record a file of a folder or archive that has no objects, with what it is if kubectl printed it."""
        form = printed(source.content, source.name)
        if form is not None:
            reason, is_doubtful = f"{form.problem}: {form.hint}", True
        self.summary.passed.append(SkippedFile(source.name, reason, is_doubtful))

    def _is_unread(self, api_version: str, kind: str, text: bytes) -> bool:
        """Report whether an object, given as YAML, is only counted: nothing in its text changes the result."""
        return (
            (is_only_counted(api_version, kind) or _is_quiet(evidence_type(api_version, kind), text))
            and (lock_type(api_version, kind) is None or not (_LEADER in text or _AUTOSCALER_STATUS in text))
            and BRACES.encode() not in text
            and _ITEMS_LINE not in text
            and _ESCAPES.search(text) is None
            and not any(tag in text for tag in _TAGS)
            and not self.summary.may_have_newer(text)
        )

    def _document(self, document: Document) -> Iterable[tuple[ApiObject, Location]] | None:
        """Return the objects of a document, or ``None`` if its format is unknown."""
        location, envelope = document.location, document.envelope
        if envelope.kind and envelope.api_version:
            return self._by_kind(document.value, envelope, location)
        if envelope.kind or envelope.api_version:
            return None
        try:
            fields = top_level(document.value)
            layout = next((name for name, keys in LAYOUTS.items() if not keys.isdisjoint(fields)), None)
            # Others have fields of these names, too: statistics of a kubelet, graphs, descriptions of an API.
            if (
                layout is None
                or (layout == SIMULATOR and not is_export(fields))
                or (layout == VERSION_OF_BUNDLE and not server_version(plain(document.value)))
            ):
                return None
            self.summary.layouts[location.file] = layout
            if layout == SIMULATOR:
                return self._simulator_export(fields, location)
            if layout == CAPTURE:
                self.summary.note_header(decode(document.value, SnapshotHeader))
            else:
                self.summary.note_version(plain(document.value))
        except InputError as error:
            self.note(error, location)
        return ()

    def _simulator_export(
        self, fields: Mapping[str, JsonValue], location: Location
    ) -> Iterator[tuple[ApiObject, Location]]:
        config: Any = plain(fields.get(_SIMULATOR_CONFIG))
        if isinstance(config, dict):
            self.summary.scheduler_config = config
        elif config is not None:
            self.note(InputError(f"{shown(config)} is not an object", where=location, path=_SIMULATOR_CONFIG))
        for key, (api_version, kind) in SIMULATOR_LISTS.items():
            try:
                items = elements(fields.get(key))
            except msgspec.ValidationError:
                self.note(InputError(f"{shown(plain(fields[key]))} is not a list", where=location, path=key))
                continue
            # Items are numbered per list.
            place = location._replace(file=f"{location.file}:{key}")
            self.summary.listed.setdefault(kind, "")
            yield from self.typed_items(items, api_version, kind, place)

    def _by_kind(
        self, value: JsonValue, envelope: ObjectHeader[Any], location: Location
    ) -> Iterable[tuple[ApiObject, Location]]:
        """Return the objects of a document with kind and version: one object, or a list.

        As for kubectl, any object with ``items`` is a list, whatever its kind.
        """
        api_version, kind, items = envelope.api_version or "", envelope.kind or "", envelope.items
        if items is not msgspec.UNSET:
            return self._list(envelope, items or (), location)
        if kind.endswith(_LIST) and (kind == _LIST or kind_type(api_version, kind.removesuffix(_LIST)) is not None):
            other = next((name for name, each in top_level(value).items() if isinstance(plain_or_none(each), list)), "")
            hint = (
                f'the list "{other}" is not read: lists of objects are in items'
                if other
                else "an empty list has items: []"
            )
            self.note(InputError("is missing", path="items", hint=hint), described(location, api_version, kind, value))
            return ()
        read = self._object(value, api_version, kind, location)
        return () if read is None else (read,)

    def _list(
        self, envelope: ObjectHeader[Any], items: Sequence[JsonValue], location: Location, n_before: int = 0
    ) -> Iterable[tuple[ApiObject, Location]]:
        """Return the items of a list; the first of them has the number ``n_before + 1``."""
        kind = envelope.kind or _LIST
        if kind == _LIST:
            return self.typed_items(items, "", "", location, n_before)
        if kind.endswith(_LIST):
            kind = kind.removesuffix(_LIST)
            type_ = kind_type(envelope.api_version or "", kind) or evidence_type(envelope.api_version or "", kind)
            self.summary.listed.setdefault(type_.__name__ if type_ is not None else kind, "")
        return self.typed_items(items, envelope.api_version or "", kind, location, n_before)

    def typed_items(
        self, items: Sequence[JsonValue], api_version: str, kind: str, location: Location, n_before: int = 0
    ) -> Iterator[tuple[ApiObject, Location]]:
        """Yield the items of a list, with the given version and kind if they have none of their own."""
        # There may be hundreds of thousands of Events: of those in a list, the newest are returned, after the rest.
        newest = NewestEvents()
        of_events = not self._as_data and evidence_type(api_version, kind) is Event
        for number, item in enumerate(items, n_before + 1):
            if of_events or (not self._as_data and isinstance(item, TEXTS) and _EVENT.match(item) is not None):
                self._add_event(newest, json_text(item))
                continue
            # An item of a list inside a list has the number of the outer item.
            place = location if location.item is not None else Location(location.file, location.document, number)
            try:
                envelope = read_envelope(item)
            except InputError as error:
                self.note(error, place)
                continue
            envelope.api_version, envelope.kind = envelope.api_version or api_version, envelope.kind or kind
            if envelope.kind and envelope.api_version:
                yield from self._by_kind(item, envelope, place)
            else:
                self.note(_not_an_object(place, envelope))
        for event in newest.values():
            yield event, location

    def _add_event(self, newest: NewestEvents, text: bytes) -> None:
        """Add an Event to the newest ones, or count it if it says nothing or cannot be decoded."""
        self.summary.note_event_time(text)
        if any(map(text.__contains__, TELLING_WORDS)):
            try:
                event = decode(text, Event)
            except InputError:
                event = Event()
            if event.is_telling:
                newest.add(event)
                return
        self.summary.left_out[Event.__name__] += 1

    def _object(
        self, value: JsonValue, api_version: str, kind: str, location: Location
    ) -> tuple[ApiObject, Location] | None:
        evidence = evidence_type(api_version, kind) if not self._as_data else None
        if evidence is Event and isinstance(value, TEXTS):
            self._add_event(newest := NewestEvents(), json_text(value))
            return next(((event, location) for event in newest.values()), None)
        if isinstance(value, TEXTS):
            self.summary.note_times(value)
        type_ = self._type_of(value, api_version, kind)
        if type_ is None and evidence is None:
            self._other_kind(value, api_version, kind, location)
            return None
        try:
            read = decode(value, type_ or evidence or ApiObject)
        except InputError as error:
            if evidence is not None:
                # No decision depends on it, and its project may have changed its fields.
                self._other_kind(value, api_version, kind, location)
                if kind not in self.summary.ignored:
                    where, problem = described(location, api_version, kind, value), error.findings[0]
                    self.summary.ignored[kind] = f"{where} is ignored: {problem.field}: {problem.problem}"
            else:
                self.note(error, described(location, api_version, kind, value))
            return None
        if isinstance(read, ConfigMap):
            read = read.without_other_data()
        if read.metadata.name and BRACES not in read.metadata.name:
            if self._written is not None:
                self._written.keep(read, json_text(value))
            return read, location
        where = described(location, api_version, kind, value)
        if read.metadata.name:
            self.note(InputError(f'"{read.metadata.name}" is not a valid name', where=where, path="metadata.name"))
            return None
        self.note(InputError("is missing", where=where, path="metadata.name", hint="every object needs a name"))
        return None

    def _type_of(self, value: JsonValue, api_version: str, kind: str) -> type[ApiObject] | None:
        """Return the type of a kind that scheduling depends on, or ``None``.

        A lock is read only if it has a leader election record, or is the status of Cluster Autoscaler.
        """
        if (type_ := kind_type(api_version, kind) or file_type(api_version, kind)) is not None:
            return type_
        type_ = lock_type(api_version, kind)
        if type_ is None or _LEADER in json_text(value):
            return type_
        return type_ if type_ is ConfigMap and _is_autoscaler_status(value) else None

    def _other_kind(self, value: JsonValue, api_version: str, kind: str, location: Location) -> None:
        """Count an object of a kind that scheduling does not depend on."""
        group = api_version.rpartition("/")[0]
        if is_only_counted(api_version, kind):
            self.summary.left_out[f"{kind}.{group}" if group else kind] += 1
            return
        if _KIND.fullmatch(kind) is None:
            where = described(location, api_version, kind, value)
            hint = "a kind has letters and digits alone, such as Pod"
            self.note(InputError(f"{shown(kind)} is not a kind", where=where, path="kind", hint=hint))
            return
        if (reason := CARRIERS.get((group, kind), "")) and (
            kind != STATUS or (isinstance(status := plain_or_none(value), dict) and status.get("status") == "Failure")
        ):
            self.summary.passed.append(SkippedFile(str(location), reason, True))
            return
        if meant := meant_kind(api_version, kind):
            problem = f"no API server serves the kind {kind} ({api_version})"
            where = described(location, api_version, kind, value)
            self.note(InputError(problem, where=where, hint=f"did you mean {meant}?"))
            return
        if kind == _VERSION_KIND:
            self.summary.note_version(plain(value))
            self.summary.layouts[location.file] = "version of the control plane"
            return
        self.summary.left_out[f"{kind}.{group}" if group else kind] += 1


@lru_cache
def is_only_counted(api_version: str, kind: str) -> bool:
    """Report whether objects of a kind are counted, and nothing else of them is read but times and locks."""
    group = api_version.rpartition("/")[0]
    return not (
        kind_type(api_version, kind)
        or evidence_type(api_version, kind)
        or file_type(api_version, kind)
        or kind.endswith(_LIST)
        or kind == _VERSION_KIND
        or (group, kind) in CARRIERS
        or _KIND.fullmatch(kind) is None
        or meant_kind(api_version, kind)
    )


def _is_quiet(type_: type[ApiObject] | None, value: JsonValue) -> bool:
    """Report whether an object is an Event whose text cannot be that of a Warning."""
    return type_ is Event and isinstance(value, TEXTS) and not any(word in bytes(value) for word in TELLING_WORDS)


def _is_autoscaler_status(value: JsonValue) -> bool:
    """Report whether a ConfigMap is the status of Cluster Autoscaler; one that cannot be decoded is not."""
    try:
        return _AUTOSCALER_STATUS in json_text(value) and decode(value, ConfigMap).is_autoscaler_status
    except InputError:
        return False


def _not_an_object(location: Location, envelope: ObjectHeader[Any]) -> InputError:
    missing = "kind" if not envelope.kind else "apiVersion"
    return InputError("is missing", where=location, path=missing, hint="every object needs apiVersion and kind")


def described(location: Location, api_version: str, kind: str, value: JsonValue) -> Subject:
    """Return a location with the object at it, and its name if it has one."""
    data = plain_or_none(value)
    metadata = data.get("metadata") if isinstance(data, dict) else None
    names = [metadata.get(key) for key in ("name", "namespace")] if isinstance(metadata, dict) else []
    name, namespace = (name if isinstance(name, str) else "" for name in names or ("", ""))
    return Subject(location, ObjectRef(kind, name, namespace, api_version))
