"""What came of a sweep, as text: the table, what failed and why, and what to be careful about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kschedctl.api.wording import counted, listed
from kschedctl.report.document import GAP, Document, Paragraph, Tone, table
from kschedctl.report.frame import next_questions
from kschedctl.report.sweep.data import CaseData, Sweep, cell
from kschedctl.sweep.columns import UTILISATION
from kschedctl.sweep.plan import Aim

#: So many rows are shown where not all are asked for.
_FEW: Final = 25
#: What stands where an axis changes nothing, or nothing is measured.
_NOTHING: Final = "-"


def document(answer: Sweep, questions: Sequence[tuple[str, str]], *, every: bool) -> Document:
    """Lay out an answer.

    Parameters
    ----------
    questions : sequence of (str, str)
        The next questions, each with its command.
    every : bool
        Whether all rows are shown.
    """
    bad = answer.failed == answer.done + answer.failed and answer.failed
    tone = Tone.CAUTION if not answer.finished else Tone.BAD if bad else Tone.MIXED if answer.failed else Tone.GOOD
    yield Paragraph(answer.summary, tone)
    axes = listed([f"{axis.name} ({axis.values})" for axis in answer.axes], most=len(answer.axes))
    yield Paragraph(f"{answer.ask} for each; what changes: {axes}", Tone.FAINT)
    if answer.goals:
        goals = [f"{'more' if goal.aim is Aim.MAXIMISE else 'less'} {goal.column}" for goal in answer.goals]
        yield Paragraph(f"hoped for: {listed(goals, most=len(goals))}", Tone.FAINT)
    yield from _table(answer, every=every)
    yield from _failures(answer.cases, every=every)
    yield from _cautions(answer.cases)
    yield from next_questions(questions)


def _table(answer: Sweep, *, every: bool) -> Document:
    told = [case for case in answer.cases if not case.error]
    if not told:
        return
    # Those of the front come first where not all are shown: they are what was asked for.
    chosen = told if every or len(told) <= _FEW else sorted(told, key=lambda case: not case.front)[:_FEW]
    shown = sorted(chosen, key=lambda case: case.case)
    marked = bool(answer.goals)
    headings = ("case", *(axis.name for axis in answer.axes), *answer.columns, *(("front",) if marked else ()))
    rows = [
        (
            str(case.case),
            *(_value(case.axes.get(axis.name)) for axis in answer.axes),
            *(shown_value(column, case.values.get(column)) for column in answer.columns),
            *(("*" if case.front else "",) if marked else ()),
        )
        for case in shown
    ]
    first = 1 + len(answer.axes)
    of_numbers = (i for i, axis in enumerate(answer.axes, 1) if _numbers(case.axes.get(axis.name) for case in told))
    numeric = (0, *of_numbers, *range(first, first + len(answer.columns)))
    tones = [Tone.GOOD if case.front else Tone.PLAIN for case in shown]
    yield GAP
    yield table(headings, rows, numeric=numeric, tones=tones, names_split=True)
    if len(shown) < len(told):
        yield Paragraph(f"and {len(told) - len(shown)} cases more: -o wide, -o csv", Tone.FAINT, 2)


def _numbers(values: Iterable[Any]) -> bool:
    return all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)


def _value(value: Any) -> str:
    found = cell(value)
    return _NOTHING if found is None else str(found).lower() if isinstance(found, bool) else str(found)


def shown_value(column: str, number: float | None) -> str:
    """A number of a column, for people."""
    if number is None:
        return _NOTHING
    if column.startswith(UTILISATION):
        return f"{100 * number:.1f} %"
    return str(number) if isinstance(number, int) else f"{number:,.1f}"


def _failures(cases: Sequence[CaseData], *, every: bool) -> Document:
    """What failed, by why."""
    failed: dict[str, list[int]] = defaultdict(list)
    for case in cases:
        if case.error:
            failed[case.error].append(case.case)
    if not failed:
        return
    yield GAP
    yield Paragraph("Failed", Tone.STRONG)
    rows = [
        (str(len(numbers)), listed(list(map(str, numbers)), most=len(numbers) if every else 5), error.splitlines())
        for error, numbers in failed.items()
    ]
    yield table(("cases", "which", "why"), rows, numeric=(0,))


def _cautions(cases: Sequence[CaseData]) -> Document:
    found: dict[str, int] = defaultdict(int)
    for case in cases:
        for text in (*(case.doubts or ()), *(case.warnings or ())):
            found[text] += 1
    if found:
        yield GAP
    for text, number in found.items():
        of = "" if number == len(cases) else f" (in {counted(number, 'case')})"
        yield Paragraph(f"warning: {text}{of}", Tone.CAUTION)
