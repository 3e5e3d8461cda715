"""The document of ``lint``: findings with the lines that they are about, and repairs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import counted, listed
from kschedctl.linter.lint_finding import ORDER, LintFinding
from kschedctl.linter.run import LintResult
from kschedctl.questions.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.document import (
    GAP,
    Block,
    Document,
    Heading,
    Paragraph,
    Phrases,
    Question,
    Table,
    Tone,
    Verbatim,
    table,
)
from kschedctl.questions.frame import View, next_questions, one_by_one
from kschedctl.questions.lint.answer import LintReport, RulePage, RulePages

# The parts of ``lint`` for formats that draw: findings by rule, and tables of all findings and their rules.

#: The most rules with a bar.
_MOST_RULES: Final = 100
_KINDS: Final = (Kind("errors", Tone.BAD), Kind("warnings", Tone.MIXED), Kind("info", Tone.FAINT))
_SEVERITIES: Final = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def rules_bars(found: Sequence[LintFinding]) -> Bars:
    """Return the number of findings of each rule by severity, the rule with the most severe findings first."""
    rules = {each.rule.code: each.rule for each in found}
    counts = {code: Counter(each.severity for each in found if each.rule.code == code) for code in rules}
    order = sorted(rules, key=lambda code: (*(-counts[code][severity] for severity in _SEVERITIES), code))
    longest = max(count.total() for count in counts.values())
    rows = []
    for code in order[:_MOST_RULES]:
        of_rule = ((i, counts[code][severity]) for i, severity in enumerate(_SEVERITIES))
        segments = tuple(Segment(i, n, counted(n, "finding")) for i, n in of_rule if n)
        rows.append(Bar((f"{code} {rules[code].name}", counted(counts[code].total(), "finding")), segments, longest))
    left = len(order) - len(rows)
    return Bars(
        title="Findings by rule",
        measure="findings",
        headings=("rule", "findings"),
        kinds=_KINDS,
        rows=tuple(rows),
        note=f"and {counted(left, 'more rule')}" if left else "",
        numbers=False,
    )


def findings_table(found: Sequence[LintFinding], tones: Mapping[Severity, Tone]) -> Table:
    """Return all findings, the most severe first."""
    ordered = sorted(found, key=lambda each: ORDER[each.severity])
    rows = [
        (
            str(each.severity),
            each.rule.code,
            f"{each.file.name}:{each.region.line}",
            each.shown_object or "-",
            each.message,
            each.stop.words if each.stop is not None else "-",
            each.help or "-",
        )
        for each in ordered
    ]
    headings = ("severity", "rule", "place", "object", "problem", "effect", "repair")
    return table(headings, rows, tones=[tones[each.severity] for each in ordered])


_TONES: Final = {Severity.ERROR: Tone.BAD, Severity.WARNING: Tone.MIXED, Severity.INFO: Tone.PLAIN}
#: The number of context lines before the line of a finding.
_BEFORE: Final = 1
_LONGEST: Final = 160
#: The most kinds of custom resources in the first line.
_MOST_KINDS: Final = 3
#: The most findings that are shown with their lines in formats that draw.
_MOST_DRAWN: Final = 200


class LintView(View, frozen=True, kw_only=True):
    """The findings in text output, with the lines that they are about."""

    #: The run.
    linted: LintResult
    #: True if the exit code reports findings.
    failed: bool = False
    #: The number of findings that were repaired before.
    fixed: int = 0

    @property
    def told(self) -> Sequence[LintFinding]:
        """The findings that are printed one by one."""
        return [each for each in self.linted.found if not each.counted]

    @property
    def by_severity(self) -> Sequence[LintFinding]:
        """The findings that are printed one by one, most severe first."""
        return sorted(self.told, key=lambda each: ORDER[each.severity])

    @property
    def unchecked(self) -> Sequence[str]:
        """The numbers of objects and rules that were not checked, in words."""
        return [line for line in _beside(self) if line.startswith((_PARTIAL, _UNDECIDED))]

    @property
    def headline(self) -> str:
        """The numbers of findings, files and objects, in words."""
        linted = self.linted
        counts = Counter(each.severity for each in self.told)
        parts = [
            counted(counts[severity], noun)
            for severity, noun in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"))
            if counts[severity]
        ]
        if counts[Severity.INFO]:
            parts.append(f"{counts[Severity.INFO]} info")
        with_findings = len({each.file.name for each in self.told})
        n_files = len({file.name for file in linted.files} | {each.file.name for each in self.told})
        size = f"{counted(n_files, 'file')} with {counted(linted.n_objects, 'object')}"
        if linted.n_with_pods < linted.n_objects:
            size += f", {linted.n_with_pods or 'none'} with pods"
        if linted.not_rendered:
            is_one = linted.not_rendered.total() == 1
            size += f"; {_by_kind(linted.not_rendered)} {'is' if is_one else 'are'} not rendered"
        if linted.unchecked:
            size += f"; the pods of {_by_kind(linted.unchecked)} are not checked"
        if not parts:
            return f"No findings in {size}."
        return f"{', '.join(parts)} in {with_findings} of {size}."


#: The beginnings of the lines about what was not checked, which follow the headline in ``-o concise``, too.
_PARTIAL: Final = "skipped by most rules"
_UNDECIDED: Final = "not decided"


def _by_kind(counts: Counter[str]) -> str:
    parts = ((n, *kind.partition(".")) for kind, n in counts.most_common())
    return listed([f"{counted(n, kind)}{dot}{group}" for n, kind, dot, group in parts], most=_MOST_KINDS)


def document(report: LintReport, view: View) -> Document:
    """Lay out the findings; in formats that draw, the numbers and a table of all findings are first."""
    assert isinstance(view, LintView)
    if view.drawn:
        yield from _headline(view)
        if view.told:
            yield Heading("Findings")
            yield findings_table(view.told, _TONES)
            yield from (GAP, rules_bars(view.told))
            yield Heading("Lines")
    shown = view.by_severity[:_MOST_DRAWN] if view.drawn else view.told
    for diagnosis in shown:
        yield from _finding(diagnosis)
        yield GAP
    if len(shown) < len(view.told):
        yield Paragraph(f"and {len(view.told) - len(shown)} more findings, which are in the table", Tone.FAINT)
    if not view.drawn:
        yield from _headline(view)
    elif view.told:
        yield Heading("Rules")
        rules = sorted({each.rule.code: each.rule for each in view.told}.items())
        rows = [(code, rule.name, rule.summary.replace("``", ""), f"kschedctl rule {code}") for code, rule in rules]
        yield table(("rule", "name", "problem", "documentation"), rows)
    yield from next_questions(_questions(view))


def _headline(view: LintView) -> Document:
    clean = not view.failed and not view.told
    tone = Tone.GOOD if clean else Tone.BAD if view.drawn and view.failed else Tone.STRONG
    yield Paragraph(view.headline, tone, heading=("Lint",))
    for line in _beside(view):
        yield Paragraph(line, Tone.FAINT)


def _beside(view: LintView) -> Iterator[str]:
    """Yield the numbers of findings and objects that are not printed one by one."""
    linted = view.linted
    if view.fixed:
        yield f"repaired: {counted(view.fixed, 'finding')}"
    sources = Counter(each.by.source for each in linted.ignored)
    if sources:
        named = ", ".join(f"{n} by {source}" for source, n in sorted(sources.items()))
        yield f"ignored: {counted(len(linted.ignored), 'finding')} ({named})"
    for number, head, noun, tail in (
        (linted.gone, "obsolete in the baseline", "finding", "; --update-baseline removes them"),
        (linted.n_partial, _PARTIAL, "partial object", ""),
        (linted.n_live, "read from a cluster", "object", ", without the fields that the cluster sets"),
        (linted.n_owned, "checked as part of their owners", "object", ", such as the pods of a Deployment"),
    ):
        if number:
            yield f"{head}: {counted(number, noun)}{tail}"
    if linted.lowered:
        named = ", ".join(f"{n} in manifests of {purpose}" for purpose, n in sorted(linted.lowered.items()))
        yield f"reported as info: {counted(linted.lowered.total(), 'finding')} ({named})"
    if linted.unchecked:
        yield "not checked: pods of custom resources; pod-templates in the settings names the place of their template"
    if linted.no_manifests:
        files, first_name = counted(len(linted.no_manifests), "unreadable file"), linted.no_manifests[0].file.name
        yield f"no manifests: {files}, such as {first_name}"
    if linted.excluded:
        yield f"left out: {linted.left_out}"
    if linted.not_run:
        example = max(linted.not_run, key=lambda rule: rule.snapshot)
        rules = f"{counted(len(linted.not_run), 'rule')}, such as {example.code}"
        yield f"not run without a cluster: {rules}; --snapshot PATH runs them"
    if linted.undecided:
        reasons = {each.rule: f"{each.object}: {each.why}" for each in reversed(linted.undecided)}
        by_reason = groupby(sorted(reasons, key=lambda rule: (reasons[rule], rule)), key=reasons.__getitem__)
        parts = sorted(f"{', '.join(rules)} ({why})" for why, rules in by_reason)
        yield f"{_UNDECIDED}: {', '.join(parts)}"


def _finding(diagnosis: LintFinding) -> Iterator[Block]:
    region = diagnosis.region
    where = f"{diagnosis.file.name}:{region.line}:{region.column}"
    head = f"{where} {diagnosis.rule.code} {diagnosis.severity} {diagnosis.message}"
    yield Paragraph(head, _TONES[diagnosis.severity])
    about = [diagnosis.shown_object] if diagnosis.object is not None else []
    if diagnosis.stop is not None:
        about.append(f"{diagnosis.stop.value}: {diagnosis.stop.words}")
    about.append(diagnosis.rule.name)
    if diagnosis.file.template or diagnosis.file.built:
        about.append("line of the rendered output")
    yield Paragraph(", ".join(about), Tone.FAINT, indent=2)
    yield from _frame(diagnosis)
    for related in diagnosis.related:
        place = f"{related.file.name}:{related.region.line}"
        yield Paragraph(f"see {place}: {related.object}: {related.message}", indent=2)
    if diagnosis.help:
        fix = diagnosis.writable_fix
        how = "" if fix is None else " (--fix)" if fix.safe else " (--fix --unsafe-fixes)"
        yield Paragraph(f"help: {diagnosis.help}{how}", indent=2)


def _frame(diagnosis: LintFinding) -> Iterator[Block]:
    """Yield the line of a finding with the line before it, and markers below the range of the finding."""
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
        yield Verbatim(f"{'':{width}} | {' ' * len(meant[: region.column - 1])}{'^' * n_marks}", indent=3)


def _cut(text: str) -> str:
    shown = text.replace("\t", " ")
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def _questions(view: LintView) -> Iterator[Question]:
    worst = next(iter(view.by_severity), None)
    if worst is not None:
        rule = {"rules": (worst.rule.code,)}
        yield Question("Documentation of the rule", "rule", options=rule)
    safe = sum(fix.safe for each in view.told if (fix := each.writable_fix) is not None)
    if safe:
        yield Question(f"{counted(safe, 'safe repair')}", "lint", options={"diff": True, "fix": False})


# The document of ``rule``: pages about lint rules.


def rule_document(pages: RulePages, view: View) -> Document:
    """Lay out one page, or one line per page if there are several and the view is not wide."""
    if len(pages.items) > 1 and not view.wide:
        rows = [
            (
                page.code,
                page.severity if page.on else "off",
                page.place or "-",
                page.page.split("\n\n")[0].replace("\n", " "),
            )
            for page in pages.items
        ]
        yield table(("rule", "severity", "place", "problem"), rows)
        return
    yield from one_by_one(pages.items, view, _page)


def _page(page: RulePage, view: View) -> Document:
    yield Paragraph(f"{page.code} {page.name}", Tone.STRONG, heading=(f"Rule {page.code}",))
    state = page.severity if page.on else f"off by default, {page.severity}"
    facts = [state] + ([f"{page.place}: {page.place_in_words}"] if page.place else [])
    yield Phrases((*facts, *(("needs --snapshot",) if page.needs_snapshot else ())))
    for part in page.page.split("\n\n"):
        yield from (GAP, Paragraph(part.replace("\n", " ").replace("``", "")))
    for title, text in (("Fails", page.fails), ("Passes", page.passes)):
        yield Heading(title)
        for line in text.splitlines():
            yield Verbatim(line)
