"""The geometry of charts, as filters for templates: positions in percent, and classes of the style sheet for colours.

Positions are percentages, so that a chart takes the width that there is and its text keeps its size. Colours are
classes, because the Content-Security-Policy of pages allows no style attributes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Any, Final

import msgspec
from markupsafe import Markup

from kschedctl.common.text.characters import printable
from kschedctl.questions.charts import Bar, Bars, Cell, Colouring, Kind, Lane, NodeMap, Scatter, Span, Timeline
from kschedctl.questions.document import Block, Tone

# Scatter plots as SVG.

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


def _axes(chart: Scatter, scale: "_Scale") -> Iterator[str]:
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


#: The number of colours in the style sheet that only distinguish, and of the steps of a scale.
_COLOURS: Final = 10
_STEPS: Final = 6
#: The most characters of a cell that is not wrapped: of a name, a zone or a state, which break at hyphens otherwise.
_MOST_SHORT: Final = 24
#: The most nodes of a map whose groups are open at first.
_OPEN_NODES: Final = 600


@dataclass(frozen=True, slots=True)
class Piece:
    """A rectangle of a bar or lane."""

    #: The position and the width, in percent of the whole bar.
    x: float
    #: The position and the width, in percent of the whole bar.
    width: float
    #: The class of the style sheet.
    kind: str
    #: The text that is shown for the rectangle.
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group of cells of a map."""

    name: str
    #: The cells, each with its position in the map.
    cells: tuple[tuple[int, Cell], ...]
    #: The shares of the kinds in the group, as a bar.
    pieces: tuple[Piece, ...]


def kind_class(kinds: Sequence[Kind], position: int, *, scale: bool = False) -> str:
    """Return the class of the style sheet for a kind.

    >>> kinds = [Kind("fits", Tone.GOOD), Kind("VolumeZone"), Kind("NodeAffinity")]
    >>> [kind_class(kinds, i) for i in range(3)]
    ['good', 'c1', 'c2']
    >>> [kind_class([Kind("little"), Kind("much")], i, scale=True) for i in range(2)]
    ['s0', 's5']
    """
    tone = kinds[position].tone
    if scale and tone is Tone.PLAIN:
        last = sum(kind.tone is Tone.PLAIN for kind in kinds) - 1
        return f"s{round(position * (_STEPS - 1) / max(last, 1))}"
    if tone in (Tone.PLAIN, Tone.STRONG):
        return f"c{position % _COLOURS}"
    return f"{tone.name.lower()} weak" if kinds[position].weak else tone.name.lower()


def used_kinds(chart: Bars | Timeline) -> list[Kind]:
    """Return the kinds that occur in a chart, which are those of its legend."""
    if isinstance(chart, Bars):
        used = {segment.kind for bar in chart.rows for segment in bar.segments}
    else:
        used = {span.kind for lane in chart.lanes for span in lane.spans}
    return [kind for i, kind in enumerate(chart.kinds) if i in used]


def used_classes(chart: Bars | Timeline) -> list[str]:
    """Return the classes of `used_kinds`."""
    used = used_kinds(chart)
    return [kind_class(chart.kinds, i) for i, kind in enumerate(chart.kinds) if kind in used]


def classes(colouring: Colouring) -> list[str]:
    """Return the classes of all kinds of a colouring."""
    return [kind_class(colouring.kinds, i, scale=colouring.scale) for i in range(len(colouring.kinds))]


def groups(chart: NodeMap) -> list[Group]:
    """Return the groups of the first grouping, by name; nodes without a group are the last."""
    members: dict[str, list[tuple[int, Cell]]] = {}
    for i, cell in enumerate(chart.cells):
        members.setdefault(cell.groups[0] if cell.groups else "", []).append((i, cell))
    names = sorted(members, key=lambda name: (not name, name))
    return [Group(name, tuple(members[name]), tuple(_shares(chart.colourings[0], members[name]))) for name in names]


def is_open(chart: NodeMap) -> bool:
    """Report whether the groups of a map are open at first: many nodes are shown by group, and opened on demand."""
    return len(chart.cells) <= _OPEN_NODES


def is_short(lines: Sequence[str]) -> bool:
    """Report whether the lines of a cell of a table are too short to be wrapped."""
    return all(len(line) <= _MOST_SHORT for line in lines)


def _shares(colouring: Colouring, cells: Sequence[tuple[int, Cell]]) -> Iterator[Piece]:
    counts = Counter(cell.kinds[0] for _, cell in cells)
    x = 0.0
    for kind, number in sorted(counts.items()):
        width = 100 * number / len(cells)
        text = f"{number} {colouring.kinds[kind].name}"
        yield Piece(round(x, 2), round(width, 2), kind_class(colouring.kinds, kind, scale=colouring.scale), text)
        x += width


def bar_pieces(bar: Bar, kinds: Sequence[Kind]) -> list[Piece]:
    """Return the rectangles of a bar.

    >>> from kschedctl.questions.charts import Segment
    >>> [(piece.x, piece.width) for piece in bar_pieces(Bar((), (Segment(0, 1, ""), Segment(0, 2, "")), 4), [Kind("")])]
    [(0.0, 25.0), (25.0, 50.0)]
    """
    whole = _whole(bar)
    made = []
    x = 0.0
    for segment in bar.segments:
        width = 100 * segment.size / whole
        text = f"{kinds[segment.kind].name}: {segment.text}"
        made.append(Piece(round(x, 2), round(width, 2), kind_class(kinds, segment.kind), text))
        x += width
    return made


def mark_position(bar: Bar) -> float | None:
    """Return the position of the mark in percent; ``None`` for no mark."""
    return None if bar.mark is None else round(100 * bar.mark / _whole(bar), 2)


def _whole(bar: Bar) -> float:
    return max(bar.total, sum(segment.size for segment in bar.segments)) or 1.0


def lane_pieces(lane: Lane, chart: Timeline) -> list[Piece]:
    """Return the rectangles of a lane of a timeline; events have the width of a line."""
    end = chart.end or 1.0
    return [
        Piece(
            round(100 * span.begin / end, 2),
            max(round(100 * (span.end - span.begin) / end, 2), 0.4),
            kind_class(chart.kinds, span.kind),
            ", ".join(filter(None, (f"{span_time(span, chart.end)}: {chart.kinds[span.kind].name}", span.text))),
        )
        for span in lane.spans
    ]


def seconds(value: float) -> str:
    """Return a time since the start of a timeline, with its unit.

    >>> seconds(0.0), seconds(1.25), seconds(90), seconds(7260)
    ('0 s', '1.25 s', '1 min 30 s', '2 h 1 min')
    """
    if value < 60:
        return f"{value:.3f}".rstrip("0").rstrip(".") + " s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def span_time(span: Span, end: float) -> str:
    """Return the time of a span on a timeline that ends at ``end``.

    >>> [span_time(Span(*times, 0, ""), 20.0) for times in ((0.0, 12.0), (12.0, 12.0), (12.0, 20.0), (0.0, 20.0))]
    ['0 s to 12 s', 'at 12 s', 'from 12 s on', 'always']
    """
    begin, until = seconds(span.begin), seconds(span.end)
    if begin == until:
        return f"at {begin}"
    if span.end >= end:
        return f"from {begin} on" if span.begin else "always"
    return f"{begin} to {until}"


def scatter_drawing(chart: Scatter) -> Markup:
    """Return a scatter plot as SVG; its texts are escaped by `drawing`."""
    return Markup(drawing(chart))


def shown_json(values: object) -> str:
    """Return lists of texts as JSON for an attribute, with invisible characters shown."""
    return msgspec.json.encode(_printable(values)).decode()


def _printable(values: object) -> object:
    return [_printable(each) for each in values] if isinstance(values, list | tuple) else printable(str(values))


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "bar_pieces": bar_pieces,
    "classes": classes,
    "groups": groups,
    "is_open": is_open,
    "kind_class": kind_class,
    "lane_pieces": lane_pieces,
    "mark_position": mark_position,
    "scatter_drawing": scatter_drawing,
    "seconds": seconds,
    "shown_json": shown_json,
    "used_classes": used_classes,
    "used_kinds": used_kinds,
}
