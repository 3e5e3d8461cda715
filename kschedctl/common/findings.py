"""Findings: the object and field that a problem is about, the problem itself, and a hint."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple, Self, TypeAlias

# Locations of objects in the input, and positions of fields in a text.


class Location(NamedTuple):
    """The location of one object in the input: a plain tuple, because there is one per object.

    Attributes
    ----------
    file : str
        The name as given by the user; a member of an archive is ``dump.tar.gz:nodes.json``.
    document : int
        The number of the document in the file, counted from 1.
    item : int or None
        The number of the item in a list of objects, counted from 1; ``None`` if the document is the object.
    """

    file: str
    document: int = 1
    item: int | None = None

    def __str__(self) -> str:
        item = "" if self.item is None else f", item {self.item}"
        return f"{self.file}, document {self.document}{item}"


class Position(NamedTuple):
    """The position of a character in a text."""

    #: The line, counted from 1; lines end with line feeds.
    line: int
    #: The column in characters, counted from 1.
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


# Truncation of names and values from the input, so that a message stays readable.


def shortened(text: str, most: int = 200) -> str:
    """Return `text`, or if it is longer than `most` characters its beginning, followed by its length.

    >>> shortened("web"), shortened("x" * 1_000_000, 10)
    ('web', 'xxxxxx... (1,000,000 characters)')
    """
    return text if len(text) <= most else f"{text[: most - 4]}... ({len(text):,} characters)"


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


# The notation for the path of a field: ``spec.containers[0].resources.requests[nvidia.com/gpu]``.

_PLAIN_KEY_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def joined(path: str, step: str | int) -> str:
    """Return `path` extended by the key or list index `step`.

    >>> joined(joined("spec", "ports"), 0), joined("limits", "nvidia.com/gpu")
    ('spec.ports[0]', 'limits[nvidia.com/gpu]')
    """
    if isinstance(step, int) or not _PLAIN_KEY_CHARS.issuperset(step):
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step


def field_path(steps: Sequence[str | int]) -> str:
    """Return the path that consists of the keys and list indices in `steps`."""
    path = ""
    for step in steps:
        path = joined(path, step)
    return path
