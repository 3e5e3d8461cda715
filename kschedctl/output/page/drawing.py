"""The geometry of charts, as filters for templates: positions in percent, and classes of the style sheet for colours.

Positions are percentages, so that a chart takes the width that there is and its text keeps its size. Colours are
classes, because the Content-Security-Policy of pages allows no style attributes.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kschedctl.common.text.characters import printable
from kschedctl.questions.charts import Bar, Bars, Cell, Colouring, Kind, Lane, NodeMap, Span, Timeline
from kschedctl.questions.document import Table, Tone

#: The number of colours in the style sheet that only distinguish, and of the steps of a scale.
_COLOURS: Final = 10
_STEPS: Final = 6
#: The most characters of a cell that is not wrapped: of a name, a zone or a state, which break at hyphens otherwise.
_MOST_SHORT: Final = 24
#: The most columns of a table whose short cells are not wrapped.
_MOST_LOOSE: Final = 9
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


def is_dense(table: Table) -> bool:
    """Report whether a table has so many columns that all its cells are wrapped to fit a laptop's screen."""
    return len(table.headings) > _MOST_LOOSE


def name_column(table: Table) -> int:
    """Return the column that tells the rows apart, which stays in sight while others are scrolled.

    >>> name_column(Table(("pods", "workload"), (), frozenset((0,)))), name_column(Table(("node",), ()))
    (1, 0)
    """
    words = (i for i in range(len(table.headings)) if i not in table.numeric)
    return min(table.identifiers, default=next(words, 0))


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
    "name_column": name_column,
    "seconds": seconds,
    "shown_json": shown_json,
    "used_classes": used_classes,
    "used_kinds": used_kinds,
}
