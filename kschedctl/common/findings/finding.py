"""Findings: the object and field that a problem is about, the problem itself, and a hint.

Readers, validation and configuration report both errors and warnings as findings. Exceptions carry findings
(``kschedctl.common.errors``). The position of a field in the text is looked up only on request
(``kschedctl.sources.snapshot.positions``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple, Self, TypeAlias

from kschedctl.common.findings.location import Location, Position
from kschedctl.common.findings.shortened import shortened

#: The maximum number of characters shown of each part of a finding.
_LONGEST: Final = 1000
#: The source of an object: a location, or a text if there is no document, as for an unreadable file or an edit.
Place: TypeAlias = Location | str


class Severity(StrEnum):
    """The severity of a finding."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class ObjectRef(NamedTuple):
    """A reference to a Kubernetes object.

    Attributes
    ----------
    kind, name, namespace, api_version : str
        Empty if not known; ``namespace`` is also empty for cluster-scoped kinds.
    """

    kind: str
    name: str = ""
    namespace: str = ""
    api_version: str = ""

    def __str__(self) -> str:
        name = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.kind} {name}" if name else self.kind


class Subject(NamedTuple):
    """An object and its source.

    Attributes
    ----------
    place : Location or str
        The source of the object.
    """

    place: Place = ""
    object: ObjectRef | None = None

    def __str__(self) -> str:
        if not self.place or self.object is None:
            return str(self.place or self.object or "")
        return f"{self.place} ({self.object})"


#: The subject of a problem: a text, a location, an object, or an object with its source.
Where: TypeAlias = Subject | ObjectRef | Place


def subject_of(where: Where) -> Subject:
    """Return the source and the object that `where` contains."""
    if isinstance(where, Subject):
        return where
    return Subject(object=where) if isinstance(where, ObjectRef) else Subject(where)


def found_at(about: ObjectRef, where: Where) -> Subject:
    """Return the object `about` with its source; if `where` names another object, the source is that object as text."""
    place, other = subject_of(where)
    return Subject(place if other is None else str(where), about)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, or information worth reporting.

    Attributes
    ----------
    problem : str
        The problem, including the offending value.
    field : str
        The path of the field, such as ``spec.containers[0].resources.requests[cpu]``; empty for the object as a whole.
    hint : str
        The expected value, or the action to take; may be empty.
    place : Location or str
        The source of the object.
    rule : str
        The name of the check, the same for all findings of a kind; may be empty.
    severity : Severity
        The severity.
    position : Position or None
        The position in the file, if it was looked up, or if the text is malformed and so has no fields.
    """

    problem: str
    field: str = ""
    hint: str = ""
    place: Place = ""
    object: ObjectRef | None = None
    rule: str = ""
    severity: Severity = Severity.ERROR
    position: Position | None = None

    @property
    def where(self) -> Subject:
        """The object and its source."""
        return Subject(self.place, self.object)

    def at(self, where: Where) -> Self:
        """Return the finding with source and object taken from `where`, unless it has either of them already."""
        if self.place or self.object is not None:
            return self
        place, about = subject_of(where)
        return replace(self, place=place, object=about)

    def lines(self) -> tuple[str, ...]:
        """Return the finding as text, one or two lines: the problem, and the hint if there is one."""
        # If the problem names the field already, show the position in its place.
        named = f'"{self.field}"' in self.problem
        spot = self.field if self.field and not named else str(self.position or "")
        parts = (str(self.where), spot, self.problem)
        head = ": ".join(shortened(part, _LONGEST) for part in parts if part)
        return (head, f"  {shortened(self.hint, _LONGEST)}") if self.hint else (head,)

    def __str__(self) -> str:
        return "\n".join(self.lines())
