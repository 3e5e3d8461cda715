"""The analysis behind ``lint``: it reads manifests and finds their problems."""

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed
from kschedctl.linter.lint_finding import LintFinding
from kschedctl.linter.rule import Rule
from kschedctl.linter.run import LintRequest, LintResult
from kschedctl.linter.run import lint as lint_paths
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.lint.answer import (
    FindingData,
    FixData,
    IgnoredData,
    LintReport,
    RelatedData,
    RulePage,
    RulePages,
    SummaryData,
    UndecidedData,
)
from kschedctl.sources.snapshot.files import STDIN, open_stdin

#: The rules whose findings explain why nothing else was found.
_NO_OBJECTS: Final = ("KS901", "KS912")
_TEMPLATES: Final = "KS902"


def lint(
    paths: Sequence[str], request: LintRequest, handle: AnalysisHandle, *, allow_empty: bool = False
) -> LintResult:
    """Check manifests.

    Parameters
    ----------
    paths : sequence of str
        Files, folders and archives; ``-`` is standard input.
    allow_empty : bool
        False to refuse paths with no Kubernetes object.

    Raises
    ------
    InputError
        If a path cannot be read, or no object is found and ``allow_empty`` is false.
    """
    with handle.busy("rendering kustomizations and charts") if request.render else nullcontext():
        linted = lint_paths(paths, request, open_stdin() if STDIN in paths else None)
    for what in linted.unread:
        handle.warn(what)
    if not (linted.n_objects or allow_empty or any(each.rule.code in _NO_OBJECTS for each in linted.found)):
        templates = next((each for each in linted.found if each.rule.code == _TEMPLATES), None)
        hint = "use --allow-empty to accept this"
        if templates is not None:
            hint = f"{templates.message}; {templates.help}"
        if linted.no_manifests and templates is None:
            first = linted.no_manifests[0]
            assert first.broken is not None
            hint = f"{first.file.name} cannot be read: {first.broken.problem}; {hint}"
        if linted.excluded:
            hint = f"left out: {linted.left_out}; {hint}"
        raise InputError("no Kubernetes object is found", where=listed(list(paths)), hint=hint)
    return linted


# The answer of ``lint``, from the result of a run.


def report(linted: LintResult, fixed: int = 0) -> LintReport:
    """Return the result of a run as the answer; ``fixed`` is the number of findings that were repaired before."""
    counts = Counter(each.severity for each in linted.found)
    return LintReport(
        findings=tuple(map(finding, linted.found)),
        ignored=tuple(
            IgnoredData(finding(each.finding), each.by.source, each.by.reason, each.by.file, each.by.line)
            for each in linted.ignored
        ),
        summary=SummaryData(
            files=len(linted.files),
            objects=linted.n_objects,
            errors=counts[Severity.ERROR],
            warnings=counts[Severity.WARNING],
            infos=counts[Severity.INFO],
            ignored=len(linted.ignored),
            partial=linted.n_partial,
            live=linted.n_live,
            owned=linted.n_owned,
            with_pods=linted.n_with_pods,
            not_rendered=dict(sorted(linted.not_rendered.items())),
            unchecked=dict(sorted(linted.unchecked.items())),
            lowered=dict(sorted(linted.lowered.items())),
            foreign=linted.n_foreign,
            no_manifests=len(linted.no_manifests),
            excluded=dict(sorted(linted.excluded.items())),
            fixed=fixed,
            gone=linted.gone,
            rules=dict(sorted(Counter(each.rule.code for each in linted.found).items())),
            not_run=tuple(rule.code for rule in linted.not_run),
            undecided=tuple(UndecidedData(each.rule, each.object, each.why) for each in linted.undecided),
        ),
    )


def finding(diagnosis: LintFinding) -> FindingData:
    """Return a finding as part of the answer."""
    region, fix = diagnosis.region, diagnosis.fix
    return FindingData(
        rule=diagnosis.rule.code,
        name=diagnosis.rule.name,
        severity=diagnosis.severity.value,
        place=diagnosis.stop.value if diagnosis.stop is not None else None,
        file=diagnosis.file.name,
        line=region.line,
        column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
        object=diagnosis.shown_object,
        field=diagnosis.finding.field,
        message=diagnosis.message,
        help=diagnosis.help,
        related=tuple(
            RelatedData(each.object, each.file.name, each.region.line, each.region.column, each.message)
            for each in diagnosis.related
        ),
        fix=FixData(fix.title, fix.safe) if fix is not None else None,
        kustomizations=diagnosis.kustomizations,
        fingerprint=diagnosis.fingerprint,
    )


# Conversion of rules to their pages as data.


def pages(rules: Sequence[Rule]) -> RulePages:
    """Return the pages of rules."""
    return RulePages(
        items=tuple(
            RulePage(
                code=rule.code,
                name=rule.name,
                severity=rule.severity.value,
                on=rule.on,
                place=rule.stop.value if rule.stop is not None else None,
                place_in_words=rule.stop.words if rule.stop is not None else "",
                needs_snapshot=rule.snapshot,
                page=rule.page,
                fails=rule.failing_manifests,
                passes=rule.passing_manifests,
            )
            for rule in rules
        )
    )
