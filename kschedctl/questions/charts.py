"""Charts: blocks of a document that formats which can draw show as pictures, each with its numbers beside it.

A renderer for text leaves charts out: everything that a chart shows is in the text or tables of the document too, or in
the table that the chart itself contains.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from kschedctl.common.wording import counted
from kschedctl.objects.resources import amount_of as with_unit
from kschedctl.questions.answer import amount_of
from kschedctl.questions.document import Tone
from kschedctl.questions.nodes.answer import NodesOverview

if TYPE_CHECKING:
    from kschedctl.questions.simulate.answer import UtilisationData

#: The number of lanes up to which a timeline is short.
_FEW_LANES: Final = 25


class Kind(msgspec.Struct, frozen=True):
    """A kind of cells, segments or spans: an entry of the legend."""

    #: The name in the legend.
    name: str
    #: The tone, for kinds that are good or bad; ``Tone.PLAIN`` for a colour that only distinguishes.
    tone: Tone = Tone.PLAIN
    #: True for a lighter shade of the tone.
    weak: bool = False


class Colouring(msgspec.Struct, frozen=True):
    """A way to colour the cells of a map."""

    #: The property that the colours show, such as ``free cpu``.
    title: str
    #: The legend.
    kinds: tuple[Kind, ...]
    #: True if the kinds are steps of a scale, from the smallest to the largest.
    scale: bool = False


class Cell(msgspec.Struct, frozen=True):
    """A node on a map."""

    name: str
    #: The group of the node in each grouping of the map; empty for none.
    groups: tuple[str, ...]
    #: The position of the node's kind in each colouring of the map.
    kinds: tuple[int, ...]
    #: Lines of text about the node, such as the reasons of the filters.
    about: tuple[str, ...]


class NodeMap(msgspec.Struct, frozen=True, kw_only=True):
    """A map of nodes: one cell per node, in groups."""

    #: The heading.
    title: str
    #: The properties by which the cells can be grouped, such as ``zone``; the first is the default.
    groupings: tuple[str, ...]
    #: The ways to colour the cells; the first is the default.
    colourings: tuple[Colouring, ...]
    cells: tuple[Cell, ...]


class Segment(msgspec.Struct, frozen=True):
    """A part of a bar."""

    #: The position of the kind in the legend of the chart.
    kind: int
    #: The length, in the unit of the bar's total.
    size: float
    #: The size with its unit, and whatever else is to be known about the segment.
    text: str


class Bar(msgspec.Struct, frozen=True):
    """A bar of segments, which is a row of a table."""

    #: The texts of the row, one per heading of the chart: the label, and numbers with units.
    cells: tuple[str, ...]
    #: The segments, from left to right.
    segments: tuple[Segment, ...]
    #: The number that the full width stands for; if the segments are longer in sum, their sum.
    total: float
    #: A limit that is marked on the bar, such as the allocatable amount.
    mark: float | None = None


class Bars(msgspec.Struct, frozen=True, kw_only=True):
    """A table with a bar in each row."""

    #: The heading.
    title: str
    #: The headings of the texts of a row; the bars come after the first one.
    headings: tuple[str, ...]
    #: The legend.
    kinds: tuple[Kind, ...]
    rows: tuple[Bar, ...]
    #: A text below the chart, such as the meaning of the mark.
    note: str = ""
    #: True to print the texts of the segments below their bar; False if a table beside the chart has the numbers.
    numbers: bool = True
    #: The quantity that the length of a bar stands for.
    measure: str = "share"

    @property
    def says_nothing(self) -> bool:
        """True if all bars are equally long, and a table beside the chart has the numbers."""
        lengths = [(sum(part.size for part in bar.segments) / (bar.total or 1)) for bar in self.rows]
        several = any(len(bar.segments) > 1 for bar in self.rows)
        return not self.numbers and not several and len(set(lengths)) < 2 and (len(lengths) != 1 or lengths[0] == 1)


class Span(msgspec.Struct, frozen=True):
    """A state of a lane between two times."""

    #: The times in seconds since the start of the timeline; equal for an event.
    begin: float
    #: The times in seconds since the start of the timeline; equal for an event.
    end: float
    #: The position of the state's kind in the legend.
    kind: int
    #: A description, such as the node on which the pod is.
    text: str


class Lane(msgspec.Struct, frozen=True):
    """A row of a timeline: the states of an object, one after the other."""

    name: str
    spans: tuple[Span, ...]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The states of objects over time."""

    #: The heading.
    title: str
    #: The heading of the lanes' names, such as ``pod``.
    subject: str
    #: The legend.
    kinds: tuple[Kind, ...]
    lanes: tuple[Lane, ...]
    #: The end of the timeline, in seconds since its start.
    end: float
    #: A text below the chart, such as the number of objects that are left out.
    note: str = ""

    @property
    def is_short(self) -> bool:
        """True if there are few lanes, so that the timeline comes before charts of a smaller height."""
        return len(self.lanes) <= _FEW_LANES


Chart = NodeMap | Bars | Timeline


def kinds_of(names: Iterable[str], tones: Sequence[tuple[str, Tone]] = ()) -> tuple[Kind, ...]:
    """Return one kind per distinct name, in the order of the first occurrence.

    Args:
        tones: The tones of some of the names; the others only get a colour.
    """
    toned = dict(tones)
    return tuple(Kind(name, toned.get(name, Tone.PLAIN)) for name in dict.fromkeys(names))


# Bars of the requested share of resources before and after a simulation, by zone.

_KINDS: Final = (Kind("requested before and after"), Kind("added", Tone.GOOD), Kind("removed", Tone.MIXED))


def utilisation_bars(utilisation: "Sequence[UtilisationData]", title: str, note: str = "") -> Bars:
    """Return a bar per resource and zone; the full width is the allocatable amount, or the requests if larger."""
    resources = dict.fromkeys(each.resource for each in utilisation)
    ordered = [each for name in resources for each in utilisation if each.resource == name]
    return Bars(
        title=title,
        headings=("resource and zone", "before", "after", "allocatable"),
        kinds=_KINDS,
        rows=tuple(_bar(each) for each in ordered),
        note=note,
        numbers=False,
    )


def _bar(each: "UtilisationData") -> Bar:
    offered, before, after = (amount_of(each.resource, text) for text in (each.allocatable, each.before, each.after))
    parts = (min(before, after), max(after - before, 0), max(before - after, 0))
    segments = tuple(
        Segment(i, float(part), f"{100 * part / offered:.1f} %") for i, part in enumerate(parts) if part
    )  # fmt: skip
    texts = (f"{each.resource}, {each.zone or 'all nodes'}", *shares(each), with_unit(each.resource, offered))
    limit = float(offered) if max(before, after) > offered else None
    return Bar(texts, segments, float(offered), mark=limit)


def shares(each: "UtilisationData") -> tuple[str, str]:
    """Return the requested shares of the allocatable amount before and after, in percent."""
    offered, before, after = (amount_of(each.resource, text) for text in (each.allocatable, each.before, each.after))
    return f"{100 * before / offered:.1f} %", f"{100 * after / offered:.1f} %"


# Bars of the number of pods per zone on two sides, such as before and after.


def zone_bars(
    title: str, sides: tuple[str, str], first: Iterable[str], second: Iterable[str], overview: NodesOverview
) -> Bars:
    """Return a bar per zone with pods.

    Args:
        sides: The names of the sides, such as ``before`` and ``in the best placement``.
    """
    zones = {node.name: node.zone for node in overview.nodes}
    counts = [Counter(zones.get(node, "") for node in nodes if node) for nodes in (first, second)]
    every = sorted(dict.fromkeys((*counts[0], *counts[1])), key=lambda zone: (not zone, zone))
    most = max((side[zone] for side in counts for zone in every), default=1)
    rows = []
    for zone in every:
        was, now = (side[zone] for side in counts)
        parts = (min(was, now), max(now - was, 0), max(was - now, 0))
        segments = tuple(Segment(i, part, counted(part, "pod")) for i, part in enumerate(parts) if part)
        rows.append(Bar((zone or "no zone", counted(was, "pod"), counted(now, "pod")), segments, most))
    return Bars(
        title=title,
        measure="pods",
        headings=("zone", *sides),
        kinds=(Kind("in both"), Kind(f"more {sides[1]}", Tone.GOOD), Kind(f"more {sides[0]}", Tone.MIXED)),
        rows=tuple(rows),
        numbers=False,
    )
