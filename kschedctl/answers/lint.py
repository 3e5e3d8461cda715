"""The answer of ``kschedctl lint`` as data: findings, what was ignored, and a summary."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from kschedctl.answers.base import CompoundAnswer, Data


class RelatedData(Data, frozen=True):
    """Another object that a finding comes of."""

    object: str
    file: str
    line: int
    column: int
    message: str


class FixData(Data, frozen=True):
    """A repair of the text."""

    title: str
    safe: Annotated[bool, Meta(description="Whether it changes nothing but what is wrong: --fix applies it.")]


class FindingData(Data, frozen=True, kw_only=True):
    """What a rule found."""

    rule: str
    name: str
    severity: Literal["error", "warning", "info"]
    place: Annotated[
        Literal["A", "B", "C", "D"] | None,
        Meta(
            description="Where it stops: A the API server refuses the object, B it refuses its pods, C pods wait, "
            "D the next rollout or drain hangs; null where nothing does."
        ),
    ]
    file: str
    line: Annotated[int, Meta(description="From 1.")]
    column: Annotated[int, Meta(description="From 1, in characters.")]
    end_line: int
    end_column: Annotated[int, Meta(description="Behind the last character.")]
    object: Annotated[str, Meta(description="Kind/[NAMESPACE/]NAME as written; empty where the document is none.")]
    field: str
    message: str
    help: str
    related: tuple[RelatedData, ...] = ()
    fix: FixData | None = None
    fingerprint: Annotated[str, Meta(description="Stays the same while lines move.")]


class IgnoredData(Data, frozen=True):
    """A finding that was left out, and by what."""

    finding: FindingData
    source: Annotated[str, Meta(description="annotation, comment, settings or baseline.")]
    reason: str
    file: str
    line: int


class UndecidedData(Data, frozen=True):
    """A rule that could not be decided."""

    rule: str
    object: str
    why: str


class SummaryData(Data, frozen=True, kw_only=True):
    """How much there was."""

    files: int
    objects: int
    errors: int
    warnings: int
    infos: int
    ignored: int
    partial: Annotated[int, Meta(description="Objects that are patches or pieces, which most rules pass over.")]
    live: Annotated[int, Meta(description="Objects that were read from a cluster.")]
    foreign: Annotated[int, Meta(description="Objects of a kind whose name Kubernetes has in another group.")]
    fixed: Annotated[int, Meta(description="Findings that were repaired.")] = 0
    gone: Annotated[int, Meta(description="Findings of the baseline that are there no more.")] = 0
    rules: Annotated[dict[str, int], Meta(description="How many findings each rule has.")]
    undecided: tuple[UndecidedData, ...] = ()


class LintReport(CompoundAnswer, frozen=True, kw_only=True, tag="LintReport"):
    """The findings of ``lint``."""

    findings: tuple[FindingData, ...]
    ignored: tuple[IgnoredData, ...]
    summary: SummaryData

    @property
    def yes(self) -> bool:
        """True if nothing was found that is an error or a warning."""
        return not self.summary.errors and not self.summary.warnings

    @property
    def complete(self) -> bool:
        """True if every rule could be decided."""
        return not self.summary.undecided
