"""The answer of ``lint``, from the result of a run."""

from __future__ import annotations

from collections import Counter

from kschedctl.common.findings import Severity
from kschedctl.linter.lint_finding import Diagnosis
from kschedctl.linter.run import LintResult
from kschedctl.questions.answers.lint import (
    FindingData,
    FixData,
    IgnoredData,
    LintReport,
    RelatedData,
    SummaryData,
    UndecidedData,
)


def report(linted: LintResult, fixed: int = 0) -> LintReport:
    """Return the result of a run as the answer; ``fixed`` is the number of findings that were repaired before."""
    counts = Counter(each.severity for each in linted.found)
    return LintReport(
        findings=tuple(map(finding, linted.found)),
        ignored=tuple(
            IgnoredData(finding(each.diagnosis), each.by.source, each.by.reason, each.by.file, each.by.line)
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


def finding(diagnosis: Diagnosis) -> FindingData:
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
        fingerprint=diagnosis.fingerprint,
    )
