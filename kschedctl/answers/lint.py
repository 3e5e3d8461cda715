"""The answer of ``kschedctl lint`` as data: findings, ignored findings and a summary."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from kschedctl.answers.base import CompoundAnswer, Data


class RelatedData(Data, frozen=True):
    """Another object that contributes to a finding."""

    object: str
    file: str
    line: int
    column: int
    message: str


class FixData(Data, frozen=True):
    """A repair of the manifest text."""

    title: str
    safe: Annotated[bool, Meta(description="True if the repair changes only what is wrong, so that --fix applies it.")]


class FindingData(Data, frozen=True, kw_only=True):
    """A finding: a problem that a rule reports."""

    rule: str
    name: str
    severity: Literal["error", "warning", "info"]
    place: Annotated[
        Literal["A", "B", "C", "D"] | None,
        Meta(
            description="The stage at which the problem takes effect: A the API server refuses the object, B it "
            "refuses the object's pods, C pods stay pending, D the next rollout or drain hangs; null if "
            "nothing is blocked."
        ),
    ]
    file: str
    line: Annotated[int, Meta(description="The line of the finding, from 1.")]
    column: Annotated[int, Meta(description="The column of the finding, in characters, from 1.")]
    end_line: int
    end_column: Annotated[int, Meta(description="The column after the last character of the finding.")]
    object: Annotated[
        str,
        Meta(
            description="The object, as Kind/[NAMESPACE/]NAME as written in the manifest; empty if the document is "
            "no object."
        ),
    ]
    field: str
    message: str
    help: str
    related: tuple[RelatedData, ...] = ()
    fix: FixData | None = None
    fingerprint: Annotated[str, Meta(description="An identifier of the finding that does not change when lines move.")]


class IgnoredData(Data, frozen=True):
    """A finding that is suppressed, and the source of the suppression."""

    finding: FindingData
    source: Annotated[
        str, Meta(description="The source of the suppression: annotation, comment, settings or baseline.")
    ]
    reason: str
    file: str
    line: int


class UndecidedData(Data, frozen=True):
    """A rule that could not be decided for an object."""

    rule: str
    object: str
    why: str


class SummaryData(Data, frozen=True, kw_only=True):
    """The counts of files, objects and findings."""

    files: int
    objects: int
    errors: int
    warnings: int
    infos: int
    ignored: int
    partial: Annotated[
        int, Meta(description="The number of objects that are patches or fragments, which most rules skip.")
    ]
    live: Annotated[int, Meta(description="The number of objects that were read from a cluster.")]
    foreign: Annotated[
        int,
        Meta(
            description="The number of objects whose kind has the name of a Kubernetes kind but belongs to another "
            "API group."
        ),
    ]
    no_manifests: Annotated[
        int, Meta(description="The number of files that cannot be read, and are no manifests or of another tool.")
    ]
    excluded: Annotated[
        dict[str, int],
        Meta(description="The number of files and folders that were left out, by reason, such as .gitignore."),
    ]
    fixed: Annotated[int, Meta(description="The number of findings that were repaired.")] = 0
    gone: Annotated[int, Meta(description="The number of findings in the baseline that no longer occur.")] = 0
    rules: Annotated[dict[str, int], Meta(description="The number of findings of each rule, by code.")]
    undecided: tuple[UndecidedData, ...] = ()


class LintReport(CompoundAnswer, frozen=True, kw_only=True, tag="LintReport"):
    """The findings of ``lint``."""

    findings: tuple[FindingData, ...]
    ignored: tuple[IgnoredData, ...]
    summary: SummaryData

    @property
    def yes(self) -> bool:
        """True if there are neither errors nor warnings."""
        return not self.summary.errors and not self.summary.warnings

    @property
    def complete(self) -> bool:
        """True if every rule could be decided."""
        return not self.summary.undecided
