"""From files to typed objects: telling the layouts apart and collecting what is wrong.

The layouts that are understood: single objects, ``kind: List``, typed lists (``PodList``, whose items carry no
kind), the export of kube-scheduler-simulator (an object of lists, told by their keys) and the ``version.json`` that
tells the control plane's version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from kschedctl.api.coordination import LEADER_ANNOTATION
from kschedctl.api.kinds import kind_type, lock_type
from kschedctl.api.meta import ApiObject
from kschedctl.api.schema.decode import decoded
from kschedctl.api.schema.strict import is_known
from kschedctl.errors import InputError
from kschedctl.findings.finding import Finding, ObjectRef, Severity, Subject, Where
from kschedctl.findings.location import Location
from kschedctl.snapshot.conform import decode, plain, shown, top_level
from kschedctl.snapshot.documents import Document, Envelope, NoObjectError, documents, read_envelope
from kschedctl.snapshot.field_checks import FieldChecks
from kschedctl.snapshot.header import HEADER_FIELD, SnapshotHeader
from kschedctl.snapshot.list_stream import NotStreamableError, stream_list
from kschedctl.snapshot.names import SUFFIXES
from kschedctl.snapshot.new_objects import NewObject
from kschedctl.snapshot.resemblance import meant_kind, seems_object
from kschedctl.snapshot.sources import Source, cannot_read, read_sources, whole_source
from kschedctl.snapshot.summary import Passed, ReadSummary
from kschedctl.snapshot.templates import BRACES, unrendered
from kschedctl.snapshot.unchanged import check_unchanged
from kschedctl.snapshot.unpacking import Unpacking
from kschedctl.snapshot.validation import Validation
from kschedctl.snapshot.written import WrittenObjects

MAX_PROBLEMS: Final = 10
NO_OBJECTS: Final = "holds no Kubernetes objects"
EMPTY: Final = "empty"

_LIST: Final = "List"
#: The lists in an export of kube-scheduler-simulator.
SIMULATOR_LISTS: Final = {
    "namespaces": ("v1", "Namespace"),
    "priorityClasses": ("scheduling.k8s.io/v1", "PriorityClass"),
    "storageClasses": ("storage.k8s.io/v1", "StorageClass"),
    "pvs": ("v1", "PersistentVolume"),
    "pvcs": ("v1", "PersistentVolumeClaim"),
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
}
_SIMULATOR_CONFIG: Final = "schedulerConfig"
#: The kind of a header that tells the control plane's version in ``gitVersion``.
_VERSION_KIND: Final = "Info"
# How API servers and kubectl begin an item: seeing it saves a pass over the item's text. (Only a kind that is given
# a second time further down would be overlooked.)
_BEGINNING: Final = re.compile(
    rb'\{\s*(?:"apiVersion":\s*"([\w./-]+)",\s*"kind":\s*"(\w+)"|"kind":\s*"(\w+)",\s*"apiVersion":\s*"([\w./-]+)")'
)
_LEADER: Final = LEADER_ANNOTATION.encode()


class _EnoughError(Exception):
    """There are more problems than are shown."""


class Reading:
    """One pass over the input.

    Parameters
    ----------
    paths : sequence of str or Path
        Files, folders and archives; ``-`` is standard input.
    stdin : BinaryIO or None
        Standard input.
    summary : ReadSummary
        Is filled on the way.
    error : type of InputError
        What is raised for problems of this input.
    other_kinds_are_errors : bool
        Whether kinds that scheduling does not read are problems; else they are counted.
    may_hold_others_alone : bool
        Whether input that holds nothing but such kinds is fine.
    max_unpacked : int, optional
        The most bytes that are unpacked, or held of what cannot be read piece by piece.
    validation : Validation
        What becomes of fields that an API server would not take.
    written : WrittenObjects, optional
        Is given what objects are read from.
    new : list of NewObject, optional
        Is added to: the objects as they were written, of kinds that are known.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        stdin: BinaryIO | None,
        summary: ReadSummary,
        error: type[InputError],
        *,
        other_kinds_are_errors: bool,
        may_hold_others_alone: bool = False,
        max_unpacked: int | None = None,
        validation: Validation = Validation.IGNORE,
        written: WrittenObjects | None = None,
        new: list[NewObject] | None = None,
    ) -> None:
        self._paths = paths
        self._stdin = stdin
        self._summary = summary
        self._error = error
        self._other_kinds_are_errors = other_kinds_are_errors
        self._may_hold_others_alone = may_hold_others_alone
        self._unpacking = Unpacking(max_unpacked)
        self._fields = FieldChecks(validation)
        self._new = new
        self._findings: list[Finding] = []
        self._written = written

    def objects(self) -> Iterator[tuple[ApiObject, Location]]:
        """Read the objects, each with its place.

        Raises
        ------
        InputError
            Of the given type, with all problems that were found up to ``MAX_PROBLEMS``.
        """
        try:
            for source in read_sources(self._paths, self._stdin, self._summary, self._unpacking):
                if isinstance(source, InputError):
                    self._note(source)
                    continue
                for read in self._large_file(source) if source.path else self._file(source):
                    self._summary.n_of_kind[type(read[0]).__name__] += 1
                    self._summary.files[source.name] += 1
                    # After a problem the rest is only looked through for more of them.
                    if not self._findings:
                        yield read
                # Not to hold this text while the next one is read.
                del source
        except _EnoughError:
            more = Finding(f"only the first {MAX_PROBLEMS} errors are shown", severity=Severity.INFO)
            raise self._error.together([*self._findings, more]) from None
        except MemoryError:
            raise self._error(
                "there is not enough memory for the text of its largest file",
                where=", ".join(map(str, self._paths)),
                hint="give a folder of smaller files, such as kschedctl snapshot writes",
            ) from None
        self._error.raise_any(self._findings)
        others_alone = self._may_hold_others_alone and self._summary.left_out
        if not self._summary.n_objects and not others_alone:
            raise self._nothing_found()

    def _note(self, error: InputError, where: Where = "") -> None:
        for finding in error.findings:
            if len(self._findings) == MAX_PROBLEMS:
                raise _EnoughError
            placed = finding.at(where)
            if placed not in self._findings:
                self._findings.append(placed)

    def _large_file(self, source: Source) -> Iterator[tuple[ApiObject, Location]]:
        """Read a list piece by piece, and what is no such list as a whole."""
        summary = self._summary
        left_out, findings = summary.left_out.copy(), list(self._findings)
        n_read = n_items = 0
        assert source.state is not None
        try:
            if self._fields.wanted or self._new is not None:
                # Which keys are given twice shows in the text as a whole.
                raise NotStreamableError
            with open(source.path, "rb") as stream:
                check_unchanged(stream.fileno(), source.path, source.state)
                for piece in stream_list(stream):
                    location = Location(source.name, 1)
                    for read in self._list(piece.envelope, piece.items, location, n_items):
                        n_read += 1
                        yield read
                    n_items += len(piece.items)
                check_unchanged(stream.fileno(), source.path, source.state)
        except NotStreamableError:
            summary.left_out, self._findings = left_out, findings
            try:
                whole = whole_source(source, self._unpacking)
            except (InputError, OSError) as error:
                self._note(error if isinstance(error, InputError) else cannot_read(source.path, error))
                return
            yield from islice(self._file(whole), n_read, None)
        except (InputError, OSError) as error:
            self._note(error if isinstance(error, InputError) else cannot_read(source.path, error))
        else:
            self._count_file(source)

    def _count_file(self, source: Source) -> None:
        self._summary.files[source.name] += 0
        self._summary.identities.add(source.identity)
        if source.modified is not None:
            self._summary.modified = max(source.modified, self._summary.modified or 0.0)

    def _file(self, source: Source) -> Iterator[tuple[ApiObject, Location]]:
        n_findings = len(self._findings)
        try:
            yield from self._documents_of(source)
        finally:
            wrong = len(self._findings) > n_findings
            if wrong and (template := unrendered(source.content, source.name)) is not None:
                self._findings[n_findings:] = [template]

    def _documents_of(self, source: Source) -> Iterator[tuple[ApiObject, Location]]:
        no_objects: list[InputError] = []
        n_met = n_documents = 0
        seems = False
        try:
            for document in documents(source.content, source.name, repeated=self._fields.wanted):
                n_documents += 1
                if isinstance(document, InputError):
                    problem = document
                    seems |= isinstance(document, NoObjectError) and seems_object(document.value)
                elif (read := self._document(document)) is not None:
                    n_met += 1
                    yield from read
                    continue
                else:
                    problem = _not_an_object(document.location, document.envelope)
                    seems = seems or seems_object(_plain(document.text))
                if len(no_objects) <= MAX_PROBLEMS:
                    no_objects.append(problem)
        except InputError as error:
            n_met += 1
            self._note(error, source.name)
        # Folders hold files of other programs; that a file is one of them shows in that nothing in it is an object.
        if not n_met and not source.named:
            # A command that failed leaves an empty file behind.
            passed = Passed(source.name, NO_OBJECTS, seems) if n_documents else Passed(source.name, EMPTY, True)
            self._summary.passed.append(passed)
            return
        for problem in no_objects:
            self._note(problem)
        self._count_file(source)

    def _document(self, document: Document) -> Iterable[tuple[ApiObject, Location]] | None:
        """The objects of a document, or ``None`` where it is nothing that is known here."""
        location, envelope = document.location, document.envelope
        self._fields.begin(document.repeated)
        if envelope.kind and envelope.api_version:
            return self._by_kind(document.text, envelope, location)
        if envelope.kind or envelope.api_version:
            return None
        try:
            fields = top_level(document.text)
            if HEADER_FIELD in fields:
                self._take_header(decode(document.text, SnapshotHeader))
                return ()
            if "serverVersion" in fields or "gitVersion" in fields:
                self._take_version(plain(document.text))
                return ()
        except InputError as error:
            self._note(error, location)
            return ()
        if "nodes" in fields or "pods" in fields:
            return self._simulator_export(fields, location)
        return None

    def _take_header(self, header: SnapshotHeader) -> None:
        self._summary.header = header
        self._summary.git_version = header.server_version.git_version
        self._summary.not_listed |= header.not_listed
        self._summary.announced.update(header.kinds)
        self._summary.looked_for.update(header.kinds)

    def _take_version(self, value: dict[str, Any]) -> None:
        server = value.get("serverVersion", value)
        version = server.get("gitVersion") if isinstance(server, dict) else None
        if isinstance(version, str):
            self._summary.git_version = version

    def _simulator_export(
        self, fields: dict[str, msgspec.Raw], location: Location
    ) -> Iterator[tuple[ApiObject, Location]]:
        config = plain(fields.get(_SIMULATOR_CONFIG, b"null"))
        if isinstance(config, dict):
            self._summary.scheduler_config = config
        elif config is not None:
            problem = f"{shown(config)} is not an object"
            self._note(InputError(problem, where=location, path=_SIMULATOR_CONFIG))
        for key, (api_version, kind) in SIMULATOR_LISTS.items():
            try:
                items = msgspec.json.decode(fields.get(key, b"null"), type=list[msgspec.Raw] | None)
            except msgspec.ValidationError:
                problem = f"{shown(plain(fields[key]))} is not a list"
                self._note(InputError(problem, where=location, path=key))
                continue
            # Items are numbered in each list.
            place = location._replace(file=f"{location.file}:{key}")
            yield from self._typed_items(items or (), api_version, kind, place)

    def _by_kind(
        self, text: memoryview | msgspec.Raw, envelope: Envelope, location: Location
    ) -> Iterable[tuple[ApiObject, Location]]:
        """The objects of what carries kind and version: one object, or a list of them."""
        api_version, kind, items = envelope.api_version or "", envelope.kind or "", envelope.items
        if not kind.endswith(_LIST) or items is msgspec.UNSET:
            read = self._object(text, api_version, kind, location)
            return () if read is None else (read,)
        return self._list(envelope, items or (), location)

    def _list(
        self, envelope: Envelope, items: Sequence[msgspec.Raw], location: Location, n_before: int = 0
    ) -> Iterable[tuple[ApiObject, Location]]:
        """The items of a list, the first of them after ``n_before`` others."""
        kind = envelope.kind or _LIST
        if kind == _LIST:
            return self._items(items, location, n_before)
        return self._typed_items(items, envelope.api_version or "", kind.removesuffix(_LIST), location, n_before)

    def _typed_items(
        self, items: Sequence[msgspec.Raw], api_version: str, kind: str, location: Location, n_before: int = 0
    ) -> Iterator[tuple[ApiObject, Location]]:
        """The items of a list of one kind: the list's kind counts, theirs is mostly absent."""
        self._summary.looked_for.add(kind)
        for number, item in enumerate(items, n_before + 1):
            read = self._object(item, api_version, kind, Location(location.file, location.document, number))
            if read is not None:
                yield read

    def _items(
        self, items: Sequence[msgspec.Raw], location: Location, n_before: int = 0
    ) -> Iterator[tuple[ApiObject, Location]]:
        """The items of a list of anything."""
        for number, item in enumerate(items, n_before + 1):
            # An item of a list inside a list is found under the number of the outer one.
            place = location if location.item is not None else Location(location.file, location.document, number)
            if (match := _BEGINNING.match(item)) is not None:
                api_version, kind = (match[1] or match[4]).decode(), (match[2] or match[3]).decode()
                if not kind.endswith(_LIST):
                    if (read := self._object(item, api_version, kind, place)) is not None:
                        yield read
                    continue
            try:
                envelope = read_envelope(item)
            except InputError as error:
                self._note(error, place)
                continue
            if envelope.kind and envelope.api_version:
                yield from self._by_kind(item, envelope, place)
            else:
                self._note(_not_an_object(place, envelope))

    def _object(
        self, text: memoryview | msgspec.Raw, api_version: str, kind: str, location: Location
    ) -> tuple[ApiObject, Location] | None:
        self._summary.note_times(text)
        if wrong := self._fields.of(text, api_version, kind, location):
            where = _described(location, api_version, kind, text)
            if self._fields.are_errors:
                self._note(InputError.together(wrong), where)
            else:
                self._summary.warnings += [finding.at(where) for finding in wrong]
        if not self._keep(text, api_version, kind, location):
            return None
        type_ = kind_type(api_version, kind)
        if type_ is None and not self._other_kinds_are_errors:
            type_ = _lock_type(text, api_version, kind)
        if type_ is None:
            self._other_kind(text, api_version, kind, location)
            return None
        try:
            read = decode(text, type_)
        except InputError as error:
            self._note(error, _described(location, api_version, kind, text))
            return None
        if read.metadata.name and BRACES not in read.metadata.name:
            if self._written is not None:
                self._written.keep(read, text)
            return read, location
        where = _described(location, api_version, kind, text)
        if read.metadata.name:
            self._note(InputError(f'"{read.metadata.name}" is no name', where=where, path="metadata.name"))
            return None
        self._note(InputError("is missing", where=where, path="metadata.name", hint="every object needs a name"))
        return None

    def _keep(self, text: memoryview | msgspec.Raw, api_version: str, kind: str, location: Location) -> bool:
        """Keep an object as it was written; whether an API server could read it."""
        if self._new is None or not is_known(api_version, kind):
            return True
        try:
            value = plain(text)
        except InputError:
            # Whoever reads the text's fields tells it.
            return True
        if not isinstance(value, dict):
            return True
        where = _described(location, api_version, kind, text)
        _, unreadable = decoded(value, api_version, kind)
        if unreadable is not None:
            self._note(InputError.together([unreadable]), where)
            return False
        self._new.append(NewObject(api_version, kind, value, where))
        return True

    def _other_kind(self, text: memoryview | msgspec.Raw, api_version: str, kind: str, location: Location) -> None:
        group = api_version.rpartition("/")[0]
        if self._other_kinds_are_errors:
            problem = f"kind {kind} ({api_version}) is not one that kschedctl reads"
            where = _described(location, api_version, kind, text)
            self._note(InputError(problem, where=where, hint="give a Pod, or remove this object"))
            return
        if meant := meant_kind(api_version, kind):
            problem = f"no API server has the kind {kind} ({api_version})"
            where = _described(location, api_version, kind, text)
            self._note(InputError(problem, where=where, hint=f"did you mean {meant}?"))
            return
        if kind == _VERSION_KIND:
            self._take_version(plain(text))
        self._summary.left_out[f"{kind}.{group}" if group else kind] += 1

    def _looked_for(self) -> str:
        """Which files would have been read, where there is none at all."""
        if self._summary.files or self._summary.passed:
            return ""
        return f"; looked for: {', '.join(SUFFIXES)}, and these with .gz"

    def _nothing_found(self) -> InputError:
        summary = self._summary
        counts = [f"{len(summary.files)} read"]
        counts += [f"{n} {reason}" for reason, n in sorted(summary.not_read.items())]
        left_out = ", ".join(f"{n} {kind}" for kind, n in sorted(summary.left_out.items()))
        return self._error(
            "no object that scheduling reads was found",
            where=", ".join(map(str, self._paths)),
            hint=f"files: {', '.join(counts)}" + (f"; kinds left out: {left_out}" if left_out else self._looked_for()),
        )


def _lock_type(text: memoryview | msgspec.Raw, api_version: str, kind: str) -> type[ApiObject] | None:
    """The type of a kind that is read only where it has the record of an election."""
    type_ = lock_type(api_version, kind)
    return type_ if type_ is not None and _LEADER in bytes(text) else None


def _plain(text: memoryview) -> Any:
    try:
        return plain(text)
    except InputError:
        return None


def _not_an_object(location: Location, envelope: Envelope) -> InputError:
    missing = "kind" if not envelope.kind else "apiVersion"
    return InputError("is missing", where=location, path=missing, hint="every object needs apiVersion and kind")


def _described(location: Location, api_version: str, kind: str, text: memoryview | msgspec.Raw) -> Subject:
    """The place with the object, as far as it tells its name."""
    try:
        value = plain(text)
    except InputError:
        value = None
    metadata = value.get("metadata") if isinstance(value, dict) else None
    names = [metadata.get(key) for key in ("name", "namespace")] if isinstance(metadata, dict) else []
    name, namespace = (name if isinstance(name, str) else "" for name in names or ("", ""))
    return Subject(location, ObjectRef(kind, name, namespace, api_version))
