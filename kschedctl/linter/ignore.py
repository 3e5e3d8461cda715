"""Ignores, which suppress findings, and the findings that they suppress."""

from dataclasses import dataclass, field
from datetime import date

from kschedctl.linter.lint_finding import LintFinding
from kschedctl.linter.manifest_set import LintObject


@dataclass(eq=False)
class Ignore:
    """An ignore: a directive that suppresses findings."""

    #: The codes of the suppressed rules; ``None`` for all rules.
    codes: frozenset[str] | None
    #: The reason; may be empty.
    reason: str
    #: The kind of source: ``annotation``, ``comment``, ``settings`` or ``baseline``.
    source: str
    #: The file that contains the ignore.
    file: str
    #: The position in the file, counted from 1.
    line: int
    column: int = 1
    #: A rule that the ignore names and that does not exist; empty if there is none.
    unknown: str = ""
    #: True if the ignore suppressed a finding.
    used: bool = False
    #: The last day of validity, if that is past; else ``None``.
    ended: date | None = None
    object: LintObject | None = field(default=None, repr=False)

    def names(self, code: str) -> bool:
        """Report whether the ignore applies to a rule."""
        return self.codes is None or code in self.codes


@dataclass(frozen=True, slots=True)
class Ignored:
    """A suppressed finding, with the ignore that suppressed it."""

    finding: LintFinding
    by: Ignore
