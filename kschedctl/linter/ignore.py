"""Something that leaves findings out, and a finding that is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from kschedctl.linter.diagnosis import Diagnosis
from kschedctl.linter.manifest_set import ManifestObject


@dataclass(eq=False)
class Ignore:
    """Something that leaves findings out."""

    #: The rules; ``None`` for all.
    codes: frozenset[str] | None
    #: Why; may be empty.
    reason: str
    #: What it is: an annotation, a comment, the settings, the baseline.
    source: str
    #: Where it stands.
    file: str
    #: Where in the file.
    line: int
    column: int = 1
    #: A rule that it names and that there is not.
    unknown: str = ""
    #: Whether anything was left out by it.
    used: bool = False
    #: The last day that it counted, where that is over.
    ended: date | None = None
    object: ManifestObject | None = field(default=None, repr=False)

    def names(self, code: str) -> bool:
        """Whether it is about a rule."""
        return self.codes is None or code in self.codes


@dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that is left out, and by what."""

    diagnosis: Diagnosis
    by: Ignore
