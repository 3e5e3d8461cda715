"""Manifests: each text is parsed once, and objects, types and findings are derived from the result."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final

import msgspec

from kschedctl.common.errors import InputError, ManifestError
from kschedctl.common.findings import Finding, Location, Severity, Subject
from kschedctl.common.text.tree import RepeatedKey, Step
from kschedctl.objects.kinds import evidence_type
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.release import Release
from kschedctl.objects.schema.schema import decode_object, is_known, repeated_field, unknown_fields
from kschedctl.sources.snapshot.decoding import JsonValue, plain
from kschedctl.sources.snapshot.documents import Document, steps_to
from kschedctl.sources.snapshot.objects import Reading, described
from kschedctl.sources.snapshot.original_objects import OriginalObjects
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.sources.snapshot.validation import Validation


class ManifestObject(msgspec.Struct, frozen=True):
    """An object of a manifest."""

    api_version: str
    kind: str
    #: The file, document and item number.
    location: Location
    #: The location and name.
    where: Subject
    #: The object as data, as an API server decodes it; ``None`` for kinds with unknown fields.
    tree: dict[str, Any] | None
    #: The object as its type; ``None`` for kinds that scheduling does not depend on.
    struct: ApiObject | None

    def findings(self, release: Release) -> Iterator[Finding]:
        """Yield a release's API server errors and warnings, except those that depend on the cluster's own classes."""
        if self.tree is None:
            return
        # Snapshots are read without validation.
        from kschedctl.objects.validation.validate import validate_decoded

        # Validation fills in defaults in place, so it gets a copy.
        tree = _as_new(self.kind, msgspec.to_builtins(self.tree))
        for finding in validate_decoded(self.api_version, self.kind, tree, release, admission=False):
            yield finding.at(self.where)


class ManifestSet(msgspec.Struct, frozen=True):
    """The content of one or more manifests."""

    #: The objects of kinds that scheduling depends on, or whose fields are known.
    read: tuple[ManifestObject, ...] = ()
    #: The number of objects of kinds that scheduling does not depend on, by kind and group as kubectl writes them.
    left_out: Counter[str] = msgspec.field(default_factory=Counter)
    #: Descriptions of files that look like manifests and were not read; one line per reason.
    unread: tuple[str, ...] = ()
    #: Unknown and duplicate fields, if they are not errors.
    warnings: tuple[Finding, ...] = ()

    def __add__(self, other: "ManifestSet") -> "ManifestSet":
        return ManifestSet(
            self.read + other.read,
            self.left_out + other.left_out,
            self.unread + other.unread,
            self.warnings + other.warnings,
        )

    @property
    def objects(self) -> list[tuple[ApiObject, Location]]:
        """The objects that scheduling depends on, each with its location."""
        return [(each.struct, each.location) for each in self.read if each.struct is not None]

    @property
    def written(self) -> OriginalObjects:
        """The originals of nodes and pods."""
        written = OriginalObjects()
        for each in self.read:
            if each.struct is not None and each.tree is not None:
                written.keep(each.struct, each.tree)
        return written


def refuse(objects: Iterable[ManifestObject], release: Release) -> list[Finding]:
    """Raise an error if an API server would reject one of the objects.

    Raises ManifestError if there are errors; it contains all of them.
    """
    found = [finding for each in objects for finding in each.findings(release)]
    ManifestError.raise_any([finding for finding in found if finding.severity is Severity.ERROR])
    return found


def _as_new(kind: str, tree: dict[str, Any]) -> dict[str, Any]:
    """Return an object read from an API server without the fields that only the API server itself may set."""
    metadata, spec = tree.get("metadata"), tree.get("spec")
    if not (isinstance(metadata, dict) and metadata.get("uid") and isinstance(spec, dict)):
        return tree
    match kind:
        case "Pod":
            return {**tree, "spec": {key: item for key, item in spec.items() if key != "ephemeralContainers"}}
        case "Job":
            # Its selector and labels contain its own uid.
            return {**tree, "spec": {**spec, "manualSelector": True}}
        case _:
            return tree


# Reading of manifests: each text is parsed once, and everything else is derived from the result.

_REFUSED: Final = "strict decoding error"


def refused(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings as errors of strict validation, with kubectl's wording."""
    return [replace(finding, problem=f"{_REFUSED}: {finding.problem}") for finding in findings]


class ManifestReading(Reading):
    """The reading of a manifest.

    warnings: Problems with fields that are not errors.

    Args:
        path: A file, folder or archive; ``-`` is standard input.
        validation: The handling of unknown and duplicate fields.
        allow_others: True to count objects of kinds that scheduling does not depend on; otherwise they are errors.
    """

    _as_data: ClassVar = True
    _of_one_cluster: ClassVar = False

    def __init__(
        self,
        path: str | Path,
        stdin: BinaryIO | None,
        *,
        validation: Validation,
        allow_others: bool,
        max_unpacked: int | None = None,
    ) -> None:
        super().__init__([path], stdin, ReadSummary(), ManifestError, max_unpacked=max_unpacked)
        self._validation = validation
        self._allow_others = allow_others
        self._repeated: Sequence[RepeatedKey] = ()
        self.read: list[ManifestObject] = []
        self.warnings: list[Finding] = []

    def _may_be_empty(self) -> bool:
        return self._allow_others and bool(self.summary.left_out)

    def _document(self, document: Document) -> Iterable[tuple[ApiObject, Location]] | None:
        self._current = document
        self._repeated = () if self._validation is Validation.IGNORE else document.repeated
        return super()._document(document)

    def _object(
        self, value: JsonValue, api_version: str, kind: str, location: Location
    ) -> tuple[ApiObject, Location] | None:
        unreadable: Sequence[Finding] = ()
        try:
            value = plain(value)
        except InputError as error:
            unreadable = error.findings
        where = described(location, api_version, kind, value)
        tree = None
        if is_known(api_version, kind):
            # Decoding ignores broken text in fields that scheduling does not depend on.
            self._tell(unreadable, where)
            if not unreadable:
                self._check_fields(value, api_version, kind, location, where)
            if isinstance(value, dict):
                tree, wrong = decode_object(value, api_version, kind)
                if wrong is not None:
                    inside = steps_to(location, self._current.location.file)
                    self.note(InputError.together([self._with_field_position(wrong, inside, key=False)]), where)
                    return None
        read = super()._object(value, api_version, kind, location)
        if tree is not None or read is not None:
            self.read.append(ManifestObject(api_version, kind, location, where, tree, read and read[0]))
        return read

    def _check_fields(self, value: JsonValue, api_version: str, kind: str, location: Location, where: Subject) -> None:
        """Record unknown fields and duplicate fields."""
        if self._validation is Validation.IGNORE:
            return
        inside = steps_to(location, self._current.location.file)
        repeated = [key for key in self._repeated if key.steps[: len(inside)] == inside]
        # All items of a list inside a list share one location, so duplicates are reported for the first only.
        self._repeated = [key for key in self._repeated if key not in repeated]
        found = [
            *(unknown_fields(value, api_version, kind) if isinstance(value, dict) else ()),
            *(repeated_field(key.steps[len(inside) :], key.position) for key in repeated),
        ]
        if self._validation is Validation.STRICT:
            found = refused(found)
        self._tell([self._with_field_position(finding, inside) for finding in found], where)

    def _with_field_position(self, finding: Finding, inside: tuple[Step, ...], *, key: bool = True) -> Finding:
        """Return the finding with the position of its field's name or value, if the user can open the file."""
        if finding.position is not None or not Path(self._current.location.file).is_file():
            return finding
        return replace(finding, position=self._current.position(finding.field, inside, key=key))

    def _tell(self, findings: Sequence[Finding], where: Subject) -> None:
        if self._validation is Validation.WARN:
            self.warnings += [finding.at(where) for finding in findings]
        elif self._validation is Validation.STRICT and findings:
            self.note(InputError.together(findings), where)

    def _type_of(self, value: JsonValue, api_version: str, kind: str) -> type[ApiObject] | None:
        found = super()._type_of(value, api_version, kind)
        return found if found is not None or self._allow_others else evidence_type(api_version, kind)

    def _other_kind(self, value: JsonValue, api_version: str, kind: str, location: Location) -> None:
        if self._allow_others:
            super()._other_kind(value, api_version, kind, location)
            return
        problem = f"kind {kind} ({api_version}) is not one that kschedctl reads"
        where = described(location, api_version, kind, value)
        self.note(InputError(problem, where=where, hint="give a Pod, or remove this object"))
