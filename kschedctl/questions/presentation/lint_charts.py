"""The parts of ``lint`` for formats that draw: findings by rule, and tables of all findings and their rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import counted
from kschedctl.linter.lint_finding import ORDER, Diagnosis
from kschedctl.questions.presentation.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.presentation.document import Table, table
from kschedctl.questions.presentation.tone import Tone

#: The most rules with a bar.
_MOST_RULES: Final = 100
_KINDS: Final = (Kind("errors", Tone.BAD), Kind("warnings", Tone.MIXED), Kind("info", Tone.FAINT))
_SEVERITIES: Final = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def rules_bars(found: Sequence[Diagnosis]) -> Bars:
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


def findings_table(found: Sequence[Diagnosis], tones: Mapping[Severity, Tone]) -> Table:
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


def rules_table(found: Sequence[Diagnosis]) -> Table:
    """Return the rules with findings, and the command that prints the page of each."""
    rules = sorted({each.rule.code: each.rule for each in found}.items())
    rows = [(code, rule.name, rule.summary.replace("``", ""), f"kschedctl rule {code}") for code, rule in rules]
    return table(("rule", "name", "problem", "documentation"), rows)
