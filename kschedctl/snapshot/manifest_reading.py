"""Reading manifests: each text is parsed once, and what comes out of that is what everything else is made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, ClassVar, Final

from kschedctl.api.kinds import kind_type
from kschedctl.api.meta import ApiObject
from kschedctl.api.schema.decode import decoded
from kschedctl.api.schema.strict import is_known, repeated_field, unknown_fields
from kschedctl.errors import InputError, ManifestError
from kschedctl.findings.finding import Finding, Subject
from kschedctl.findings.location import Location
from kschedctl.snapshot.conform import JsonValue, plain
from kschedctl.snapshot.documents import Document
from kschedctl.snapshot.layouts import steps_to
from kschedctl.snapshot.manifest import ManifestObject
from kschedctl.snapshot.objects import Reading, described
from kschedctl.snapshot.summary import ReadSummary
from kschedctl.snapshot.validation import Validation
from kschedctl.text.repeated_keys import RepeatedKey
from kschedctl.text.tree import Step

_REFUSED: Final = "strict decoding error"


def refused(findings: Iterable[Finding]) -> list[Finding]:
    """What strict validation refuses, in the words that it is refused with."""
    return [replace(finding, problem=f"{_REFUSED}: {finding.problem}") for finding in findings]


class ManifestReading(Reading):
    """One pass over a manifest.

    Parameters
    ----------
    path : str or Path
        A file, folder or archive; ``-`` is standard input.
    stdin : BinaryIO or None
        Standard input.
    validation : Validation
        What becomes of fields that an API server does not know, or that are given twice.
    allow_others : bool
        Whether objects of kinds that scheduling does not read are counted; else they are problems.
    max_unpacked : int, optional
        As for ``Reading``.

    Attributes
    ----------
    read : list of ManifestObject
        The objects read until now.
    warnings : list of Finding
        What is wrong with fields and not refused.
    """

    _as_data: ClassVar = True

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
            # Where no field that scheduling reads is broken, decoding would pass over it.
            self._tell(unreadable, where)
            if not unreadable:
                self._check_fields(value, api_version, kind, location, where)
            if isinstance(value, dict):
                tree, wrong = decoded(value, api_version, kind)
                if wrong is not None:
                    self.note(InputError.together([wrong]), where)
                    return None
        read = super()._object(value, api_version, kind, location)
        if tree is not None or read is not None:
            self.read.append(ManifestObject(api_version, kind, location, where, tree, read and read[0]))
        return read

    def _check_fields(self, value: JsonValue, api_version: str, kind: str, location: Location, where: Subject) -> None:
        """Look for fields that an API server does not know, and for those that are given twice."""
        if self._validation is Validation.IGNORE:
            return
        inside = steps_to(location, self._current.location.file)
        repeated = [key for key in self._repeated if key.steps[: len(inside)] == inside]
        # Of a list inside a list all items are at one place: what is told of the first is not told again.
        self._repeated = [key for key in self._repeated if key not in repeated]
        found = [
            *(unknown_fields(value, api_version, kind) if isinstance(value, dict) else ()),
            *(repeated_field(key.steps[len(inside) :], key.position) for key in repeated),
        ]
        if self._validation is Validation.STRICT:
            found = refused(found)
        self._tell([self._placed(finding, inside) for finding in found], where)

    def _placed(self, finding: Finding, inside: tuple[Step, ...]) -> Finding:
        """The finding with the position of its field's name, where that is in a file that the user can open."""
        if finding.position is not None or not Path(self._current.location.file).is_file():
            return finding
        return replace(finding, position=self._current.position(finding.field, inside, key=True))

    def _tell(self, findings: Sequence[Finding], where: Subject) -> None:
        if self._validation is Validation.WARN:
            self.warnings += [finding.at(where) for finding in findings]
        elif self._validation is Validation.STRICT and findings:
            self.note(InputError.together(findings), where)

    def _type_of(self, value: JsonValue, api_version: str, kind: str) -> type[ApiObject] | None:
        return super()._type_of(value, api_version, kind) if self._allow_others else kind_type(api_version, kind)

    def _other_kind(self, value: JsonValue, api_version: str, kind: str, location: Location) -> None:
        if self._allow_others:
            super()._other_kind(value, api_version, kind, location)
            return
        problem = f"kind {kind} ({api_version}) is not one that kschedctl reads"
        where = described(location, api_version, kind, value)
        self.note(InputError(problem, where=where, hint="give a Pod, or remove this object"))
