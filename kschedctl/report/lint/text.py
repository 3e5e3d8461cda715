"""``-o human``: findings with the lines that they are about, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.findings.finding import Severity
from kschedctl.lint.diagnosis import Diagnosis
from kschedctl.report.document import GAP, Block, Commands, Document, Paragraph, Tone, Verbatim
from kschedctl.report.lint.form import LintForm, Run
from kschedctl.report.lint.summary import beside, headline

_TONES: Final = {Severity.ERROR: Tone.BAD, Severity.WARNING: Tone.MIXED, Severity.INFO: Tone.STRONG}
#: So many lines before the one that is meant are shown.
_BEFORE: Final = 1
_LONGEST: Final = 160


class Human(LintForm):
    """For people."""

    name = "human"

    def render(self, run: Run) -> Iterator[str]:
        """Print the findings, and then how many there are."""
        from kschedctl.report.render.terminal import render

        yield from render(document(run), run.console())


def document(run: Run) -> Document:
    """The answer as blocks."""
    for diagnosis in run.told:
        yield from _finding(diagnosis, run)
        yield GAP
    clean = not run.failed and not run.told
    yield Paragraph(headline(run), Tone.GOOD if clean else Tone.STRONG)
    for line in beside(run):
        yield Paragraph(line, Tone.FAINT)
    questions = list(_questions(run))
    if questions:
        yield GAP
        yield Commands(tuple(questions))


def _finding(diagnosis: Diagnosis, run: Run) -> Iterator[Block]:
    region = diagnosis.region
    where = f"{diagnosis.file.name}:{region.line}:{region.column}"
    head = f"{where} {diagnosis.rule.code} {diagnosis.severity} {diagnosis.message}"
    yield Paragraph(head, _TONES[diagnosis.severity])
    about = [diagnosis.shown_object] if diagnosis.object is not None else []
    if diagnosis.stop is not None:
        about.append(f"{diagnosis.stop.value}: {diagnosis.stop.words}")
    yield Paragraph(", ".join([*about, diagnosis.rule.name]), Tone.FAINT, indent=2)
    yield from _frame(diagnosis)
    for related in diagnosis.related:
        place = f"{related.file}:{related.region.line}"
        yield Paragraph(f"see {place}: {related.object}: {related.message}", indent=2)
    if diagnosis.help:
        fix = diagnosis.fix
        how = "" if fix is None else " (--fix)" if fix.safe else " (--fix --unsafe-fixes)"
        yield Paragraph(f"help: {diagnosis.help}{how}", indent=2)


def _frame(diagnosis: Diagnosis) -> Iterator[Block]:
    """The line that is meant with the one before it, and marks below what is meant."""
    lines, region = diagnosis.file.lines, diagnosis.region
    if region.line > len(lines) or not diagnosis.file.text:
        return
    first = region.line
    for number in range(max(region.line - _BEFORE, 1), region.line):
        text = lines[number - 1]
        if text.strip() and not text.startswith("---"):
            first = min(first, number)
    width = len(str(region.line))
    for number in range(first, region.line + 1):
        yield Verbatim(f"{number:{width}} | {_cut(lines[number - 1])}".rstrip(), indent=3)
    meant = lines[region.line - 1]
    end = region.end_column if region.end_line == region.line else len(meant) + 1
    n_marks = max(min(end, len(meant) + 1, _LONGEST) - region.column, 1)
    if region.column <= _LONGEST:
        yield Verbatim(f"{'':{width}} | {_blank(meant[: region.column - 1])}{'^' * n_marks}", indent=3)


def _cut(text: str) -> str:
    shown = text.replace("\t", " ")
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def _blank(text: str) -> str:
    return " " * len(text)


def _questions(run: Run) -> Iterator[tuple[str, str]]:
    codes = _codes(run.told)
    if codes:
        yield "What a rule says, why, and how to repair it", run.command("rule", codes[0])
    safe = sum(each.fix is not None and each.fix.safe for each in run.told)
    if safe:
        yield f"{safe} can be repaired safely", run.command("lint", "--diff", "PATH")


def _codes(found: Sequence[Diagnosis]) -> list[str]:
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    return [each.rule.code for each in sorted(found, key=lambda each: order[each.severity])]
