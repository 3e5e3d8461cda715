"""A picture of a sweep, as SVG: each case a point by the first two goals, the Pareto front marked and joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Final

from kschedctl.report.sweep.data import CaseData, GoalData, Sweep
from kschedctl.report.sweep.text import shown_value
from kschedctl.sweep.plan import Aim

_WIDTH: Final = 720
_HEIGHT: Final = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 48, 60
#: About so many lines of a grid.
_LINES: Final = 6
_STYLE: Final = """
text{font:12px sans-serif;fill:#333}.title{font-size:14px;font-weight:bold}.note{fill:#666}
.grid{stroke:#e3e3e3}.frame{stroke:#888;fill:none}.case{fill:#9aa5b1}.front{fill:#c2410c}
.line{stroke:#c2410c;stroke-width:1.5;fill:none;stroke-dasharray:4 3}
"""

Point = tuple[float, float]


def picture(answer: Sweep) -> str:
    """Draw the cases; at least two goals are there.

    Examples
    --------
    >>> from kschedctl.sweep.plan import Ask
    >>> goals = (GoalData("placed", Aim.MAXIMISE), GoalData("nodesUsed", Aim.MINIMISE))
    >>> case = CaseData(case=1, axes={}, values={"placed": 3, "nodesUsed": 2}, error="", front=True)
    >>> sweep = Sweep(
    ...     summary="", finished=True, ask=Ask.SIMULATE, axes=(), columns=(), goals=goals, total=1, done=1, failed=0,
    ...     cases=(case,)
    ... )
    >>> picture(sweep).count("<circle")
    2
    """
    return "".join(_parts(answer))


def _parts(answer: Sweep) -> Iterator[str]:
    across, up = answer.goals[:2]
    drawn = [
        (case, (float(x), float(y)))
        for case in answer.cases
        if (x := case.values.get(across.column)) is not None and (y := case.values.get(up.column)) is not None
    ]
    scale = _Scale([point for _, point in drawn])
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    yield f"<style>{_STYLE}</style>"
    yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
    yield f'<text class="title" x="{_LEFT}" y="22">{escape(answer.summary)}</text>'
    for x in scale.lines[0]:
        at, _ = scale.at((x, scale.low[1]))
        yield f'<line class="grid" x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{_HEIGHT - _BOTTOM}"/>'
        yield f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{_told(across, x)}</text>'
    for y in scale.lines[1]:
        _, at = scale.at((scale.low[0], y))
        yield f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{_WIDTH - _RIGHT}" y2="{at:.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{_told(up, y)}</text>'
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    yield f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}"/>'
    yield f'<text x="{_LEFT + width / 2}" y="{_HEIGHT - 18}" text-anchor="middle">{_title(across)}</text>'
    middle = _TOP + height / 2
    yield f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">{_title(up)}</text>'
    best = sorted({point for case, point in drawn if case.front})
    if len(answer.goals) == 2 and len(best) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(scale.at, _steps(best, across.aim, up.aim)))
        yield f'<polyline class="line" points="{path}"/>'
    for case, point in sorted(drawn, key=lambda each: each[0].front):
        x, y = scale.at(point)
        kind, radius = ("front", 5) if case.front else ("case", 3.5)
        about = f"<title>{_about(answer, case)}</title>"
        yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">{about}</circle>'
    yield from _labels([(case, scale.at(point)) for case, point in drawn if case.front])
    yield f'<circle class="front" cx="{_LEFT + 6}" cy="36" r="4"/><text class="note" x="{_LEFT + 16}" y="40">on the '
    yield "Pareto front, with the number of the case</text></svg>\n"


def _steps(best: Sequence[Point], *aims: Aim) -> Iterator[Point]:
    """The edge of what the front is better than: between two of its points lies the worse of both.

    Examples
    --------
    >>> list(_steps([(1, 1), (2, 3)], Aim.MAXIMISE, Aim.MINIMISE))
    [(1, 1), (1, 3), (2, 3)]
    """
    worse = [min if aim is Aim.MAXIMISE else max for aim in aims]
    for one, other in pairwise(best):
        yield one
        yield worse[0](one[0], other[0]), worse[1](one[1], other[1])
    yield best[-1]


def _labels(best: Sequence[tuple[CaseData, Point]]) -> Iterator[str]:
    """The numbers of the cases of the front; of those at one point the first, and how many there are."""
    at: dict[tuple[int, int], list[int]] = {}
    for case, (x, y) in best:
        at.setdefault((round(x), round(y)), []).append(case.case)
    for (x, y), numbers in at.items():
        more = f" +{len(numbers) - 1}" if len(numbers) > 1 else ""
        left = x > _WIDTH - _RIGHT - 60
        anchor, dx = ("end", -8) if left else ("start", 8)
        yield f'<text x="{x + dx}" y="{y - 6}" text-anchor="{anchor}">{numbers[0]}{more}</text>'


def _title(goal: GoalData) -> str:
    better = "more" if goal.aim is Aim.MAXIMISE else "less"
    return escape(f"{goal.column} ({better} is better)")


def _told(goal: GoalData, number: float) -> str:
    return escape(shown_value(goal.column, int(number) if number == int(number) else number))


def _about(answer: Sweep, case: CaseData) -> str:
    axes = ", ".join(f"{name}={value}" for name, value in case.axes.items() if value is not None)
    values = ", ".join(f"{column} {shown_value(column, case.values.get(column))}" for column in answer.columns)
    return escape(f"case {case.case}: {axes}: {values}")


class _Scale:
    """From numbers to places in the picture."""

    def __init__(self, points: Sequence[Point]) -> None:
        spans = [_span([point[i] for point in points]) for i in range(2)]
        self.low = spans[0][0], spans[1][0]
        self._high = spans[0][1], spans[1][1]
        whole = [all(point[i] == int(point[i]) for point in points) for i in range(2)]
        self.lines = [_grid(*span, whole=of) for span, of in zip(spans, whole, strict=True)]

    def at(self, point: Point) -> Point:
        """Where a point is."""
        shares = [(point[i] - self.low[i]) / (self._high[i] - self.low[i]) for i in range(2)]
        return (
            _LEFT + shares[0] * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - shares[1] * (_HEIGHT - _TOP - _BOTTOM),
        )


def _span(numbers: Sequence[float]) -> Point:
    """From where to where numbers are shown: with some room around them."""
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return low - room, high + room


def _grid(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Round numbers between two; whole ones where only these mean anything.

    Examples
    --------
    >>> _grid(0.5, 10.2), _grid(0.9, 2.1, whole=True)
    ([2.0, 4.0, 6.0, 8.0, 10.0], [1.0, 2.0])
    """
    rough = max((high - low) / _LINES, 1.0 if whole else 0.0)
    size = 10.0 ** floor(log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    first, last = ceil(low / step), floor(high / step)
    return [round(i * step, 10) for i in range(first, last + 1)]
