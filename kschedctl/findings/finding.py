"""One finding: this field of this object is wrong, because; do that.

Reading, validation and configuration all say it this way, and so does whoever only warns. What is raised carries
findings (``kschedctl.errors``); where in the text a field stands is looked up when somebody asks
(``kschedctl.snapshot.positions``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple, Self, TypeAlias

from kschedctl.findings.location import Location, Position
from kschedctl.findings.shortened import shortened

#: How many characters of each part of a finding are shown.
_LONGEST: Final = 1000
#: Where an object was read; in words where there is no document to name: a file that cannot be read, an edit.
Place: TypeAlias = Location | str


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class ObjectRef(NamedTuple):
    """Which object is meant.

    Parameters
    ----------
    kind, name, namespace, api_version : str
        Empty where they are not known, and ``namespace`` for kinds that are in none.
    """

    kind: str
    name: str = ""
    namespace: str = ""
    api_version: str = ""

    def __str__(self) -> str:
        name = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.kind} {name}" if name else self.kind


class Subject(NamedTuple):
    """An object and where it was read.

    Parameters
    ----------
    place : Location or str
        Where it was read.
    """

    place: Place = ""
    object: ObjectRef | None = None

    def __str__(self) -> str:
        if not self.place or self.object is None:
            return str(self.place or self.object or "")
        return f"{self.place} ({self.object})"


#: What tells where something is wrong: words, a place, an object, or both.
Where: TypeAlias = Subject | ObjectRef | Place


def subject_of(where: Where) -> Subject:
    """The place and the object that are meant."""
    if isinstance(where, Subject):
        return where
    return Subject(object=where) if isinstance(where, ObjectRef) else Subject(where)


def found_at(about: ObjectRef, where: Where) -> Subject:
    """An object where it was read; what another object brings about is found in words."""
    place, other = subject_of(where)
    return Subject(place if other is None else str(where), about)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, or worth knowing.

    Attributes
    ----------
    problem : str
        What is wrong, with the value.
    field : str
        The field, such as ``spec.containers[0].resources.requests[cpu]``; empty where it is the object as a whole.
    hint : str
        What is expected instead, or what to do.
    place : Location or str
        Where it was read.
    rule : str
        A name for what was checked, the same for all findings of a kind; may be empty.
    severity : Severity
        How bad it is.
    position : Position or None
        Where in the file, where that was looked up, and of broken text, which has no fields.
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
        """The object and its place."""
        return Subject(self.place, self.object)

    def at(self, where: Where) -> Self:
        """The finding with its place and object filled in, if it tells neither itself."""
        if self.place or self.object is not None:
            return self
        place, about = subject_of(where)
        return replace(self, place=place, object=about)

    def lines(self) -> tuple[str, ...]:
        """The finding in words, line by line: what is wrong, and the hint where there is one."""
        # A problem that names the field leaves room for its position.
        named = f'"{self.field}"' in self.problem
        spot = self.field if self.field and not named else str(self.position or "")
        parts = (str(self.where), spot, self.problem)
        head = ": ".join(shortened(part, _LONGEST) for part in parts if part)
        return (head, f"  {shortened(self.hint, _LONGEST)}") if self.hint else (head,)

    def __str__(self) -> str:
        return "\n".join(self.lines())
