"""Scatter plots as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Final

from kschedctl.common.text.characters import printable
from kschedctl.questions.charts import Scatter
from kschedctl.questions.document import Block

_WIDTH: Final = 720
_HEIGHT: Final = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 48, 60
#: The approximate number of grid lines per axis.
_LINES: Final = 6
_STYLE: Final = """
text{font:12px sans-serif;fill:#333}.title{font-size:14px;font-weight:bold}.note{fill:#666}
.grid{stroke:#e3e3e3}.frame{stroke:#888;fill:none}.case{fill:#9aa5b1}.front{fill:#c2410c}
.line{stroke:#c2410c;stroke-width:1.5;fill:none;stroke-dasharray:4 3}
"""

_Point = tuple[float, float]


def picture(blocks: Iterable[Block]) -> str:
    """Draw the first scatter plot of a document.

    Examples
    --------
    >>> from kschedctl.questions.charts import ScatterAxis, ScatterPoint
    >>> point = ScatterPoint(3.0, 2.0, "1", "case 1", front=True)
    >>> chart = Scatter(title="", legend="", x_axis=ScatterAxis("a"), y_axis=ScatterAxis("b"), points=(point,))
    >>> picture([chart]).count("<circle")
    2
    """
    paper = f'<style>{_STYLE}</style><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
    return drawing(next(block for block in blocks if isinstance(block, Scatter)), style=paper)


def drawing(chart: Scatter, *, style: str = "") -> str:
    """Draw a scatter plot; without ``style``, the page around it needs the classes."""
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size} role="img" aria-label="{_text(chart.title)}">'
    return "".join((start, style, *_parts(chart), "</svg>\n"))


def _parts(chart: Scatter) -> Iterator[str]:
    scale = _Scale([(point.x, point.y) for point in chart.points])
    yield f'<text class="title" x="{_LEFT}" y="22">{_text(chart.title)}</text>'
    yield from _axes(chart, scale)
    if chart.edge:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(scale.at, chart.edge))
        yield f'<polyline class="line" points="{path}"/>'
    for point in sorted(chart.points, key=lambda each: each.front):
        x, y = scale.at((point.x, point.y))
        kind, radius = ("front", 5) if point.front else ("case", 3.5)
        about = f"<title>{_text(point.about)}</title>"
        yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">{about}</circle>'
    yield from _labels([(point.label, scale.at((point.x, point.y))) for point in chart.points if point.front])
    yield f'<circle class="front" cx="{_LEFT + 6}" cy="36" r="4"/>'
    yield f'<text class="note" x="{_LEFT + 16}" y="40">{_text(chart.legend)}</text>'


def _axes(chart: Scatter, scale: _Scale) -> Iterator[str]:
    for x in scale.lines[0]:
        at, _ = scale.at((x, scale.low[1]))
        number = _text(chart.x_axis.number(x))
        yield f'<line class="grid" x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{_HEIGHT - _BOTTOM}"/>'
        yield f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{number}</text>'
    for y in scale.lines[1]:
        _, at = scale.at((scale.low[0], y))
        number = _text(chart.y_axis.number(y))
        yield f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{_WIDTH - _RIGHT}" y2="{at:.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{number}</text>'
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    yield f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}"/>'
    across, up = _text(chart.x_axis.title), _text(chart.y_axis.title)
    yield f'<text x="{_LEFT + width / 2}" y="{_HEIGHT - 18}" text-anchor="middle">{across}</text>'
    middle = _TOP + height / 2
    yield f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">{up}</text>'


def _labels(points: Sequence[tuple[str, _Point]]) -> Iterator[str]:
    """Yield the labels; points at the same position share the label of the first, with the number of the others."""
    at: dict[tuple[int, int], list[str]] = {}
    for label, (x, y) in points:
        at.setdefault((round(x), round(y)), []).append(label)
    for (x, y), labels in at.items():
        more = f" +{len(labels) - 1}" if len(labels) > 1 else ""
        left = x > _WIDTH - _RIGHT - 60
        anchor, dx = ("end", -8) if left else ("start", 8)
        yield f'<text x="{x + dx}" y="{y - 6}" text-anchor="{anchor}">{_text(labels[0])}{more}</text>'


class _Scale:
    """The scale of both axes: maps values to positions in the picture."""

    def __init__(self, points: Sequence[_Point]) -> None:
        spans = [_span([point[i] for point in points]) for i in range(2)]
        self.low = spans[0][0], spans[1][0]
        self._high = spans[0][1], spans[1][1]
        whole = [all(point[i] == int(point[i]) for point in points) for i in range(2)]
        self.lines = [_grid(*span, whole=of) for span, of in zip(spans, whole, strict=True)]

    def at(self, point: _Point) -> _Point:
        """Return the position of a point."""
        shares = [(point[i] - self.low[i]) / (self._high[i] - self.low[i]) for i in range(2)]
        return (
            _LEFT + shares[0] * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - shares[1] * (_HEIGHT - _TOP - _BOTTOM),
        )


def _span(numbers: Sequence[float]) -> _Point:
    """Return the lowest and highest number of an axis, with some space around the points."""
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return low - room, high + room


def _grid(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return round numbers between two limits; only whole numbers if ``whole`` is true.

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


def _text(text: str) -> str:
    """Return a text with invisible characters and markup escaped."""
    return escape(printable(text))
