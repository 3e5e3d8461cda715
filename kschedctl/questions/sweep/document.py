"""The document of ``sweep``: the table, failures and cautions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from kschedctl.common.wording import counted, listed
from kschedctl.questions.document import GAP, Document, Heading, Paragraph, Question, Tone, and_more, table
from kschedctl.questions.frame import View, next_questions
from kschedctl.questions.sweep.answer import Aim, CaseData, Sweep, cell
from kschedctl.questions.sweep.measurements import UTILISATION

#: The number of rows that are shown without ``-o wide``.
_FEW: Final = 25
#: The options of a run, which do not apply to printing the configuration of a case.
_OF_A_RUN: Final = ("pareto", "jobs", "dask", "results", "resume")
#: The cell of an axis that changes nothing, or of a value that was not measured.
_NOTHING: Final = "-"


def document(answer: Sweep, view: View) -> Document:
    """Lay out an answer."""
    bad = answer.failed == answer.done + answer.failed and answer.failed
    tone = Tone.CAUTION if answer.interrupted else Tone.BAD if bad else Tone.MIXED if answer.failed else Tone.GOOD
    yield Paragraph(answer.summary, tone, heading=("Sweep",))
    axes = listed([f"{axis.name} ({axis.values})" for axis in answer.axes], most=len(answer.axes))
    yield Paragraph(f"{answer.ask} for each case; axes: {axes}", Tone.FAINT)
    if answer.goals:
        goals = [f"{'more' if goal.aim is Aim.MAXIMISE else 'less'} {goal.column}" for goal in answer.goals]
        yield Paragraph(f"goals: {listed(goals, most=len(goals))}", Tone.FAINT)
    told = [case for case in answer.cases if not case.error]
    if told:
        # If not all cases are shown, those on the front have priority: they are the result of the sweep.
        chosen = told if view.wide or len(told) <= _FEW else sorted(told, key=lambda case: not case.front)[:_FEW]
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
        yield from (GAP, table(headings, rows, numeric=numeric, tones=tones, names_split=True, identifiers=(0,)))
        yield from and_more(len(told) - len(shown), " cases: -o wide, -o csv")
    yield from _failures(answer.cases, every=view.wide)
    found: dict[str, int] = defaultdict(int)
    for case in answer.cases:
        for text in (*(case.doubts or ()), *(case.warnings or ())):
            found[text] += 1
    if found:
        yield GAP
    for text, number in found.items():
        of = "" if number == len(answer.cases) else f" (in {counted(number, 'case')})"
        yield Paragraph(f"warning: {text}{of}", Tone.CAUTION)
    yield from next_questions(() if view.wide else _questions(answer))


def _questions(answer: Sweep) -> Iterator[Question]:
    best = next((case.case for case in answer.cases if case.front), None)
    tuned = any(axis.of.partition(".")[0] in ("weight", "args", "config") for axis in answer.axes)
    if best is not None and tuned:
        text = f"Scheduler configuration of case {best}"
        yield Question(text, "sweep", options={**dict.fromkeys(_OF_A_RUN), "config_of": best})


def _numbers(values: Iterable[Any]) -> bool:
    return all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)


def _value(value: Any) -> str:
    found = cell(value)
    return _NOTHING if found is None else str(found).lower() if isinstance(found, bool) else str(found)


def shown_value(column: str, number: float | None) -> str:
    """Format a value of a column for people."""
    if number is None:
        return _NOTHING
    if column.startswith(UTILISATION):
        return f"{100 * number:.1f} %"
    return str(number) if isinstance(number, int) else f"{number:,.1f}"


def _failures(cases: Sequence[CaseData], *, every: bool) -> Document:
    """Lay out the failed cases, grouped by error."""
    failed: dict[str, list[int]] = defaultdict(list)
    for case in cases:
        if case.error:
            failed[case.error].append(case.case)
    if not failed:
        return
    yield Heading("Failed")
    rows = [
        (str(len(numbers)), listed(list(map(str, numbers)), most=len(numbers) if every else 5), error.splitlines())
        for error, numbers in failed.items()
    ]
    yield table(("cases", "numbers", "error"), rows, numeric=(0,))
