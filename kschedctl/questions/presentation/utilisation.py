"""Bars of the requested share of resources before and after a simulation, by zone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kschedctl.objects.resources import amount_of as with_unit
from kschedctl.questions.answers.amounts import amount_of
from kschedctl.questions.answers.simulate import UtilisationData
from kschedctl.questions.presentation.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.presentation.tone import Tone

_KINDS: Final = (
    Kind("requested before and after"),
    Kind("added", Tone.GOOD),
    Kind("removed", Tone.MIXED),
)


def utilisation_bars(utilisation: Sequence[UtilisationData], title: str, note: str = "") -> Bars:
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


def _bar(each: UtilisationData) -> Bar:
    offered, before, after = (amount_of(each.resource, text) for text in (each.allocatable, each.before, each.after))
    parts = (min(before, after), max(after - before, 0), max(before - after, 0))
    segments = tuple(
        Segment(i, float(part), f"{100 * part / offered:.1f} %") for i, part in enumerate(parts) if part
    )  # fmt: skip
    texts = (f"{each.resource}, {each.zone or 'all nodes'}", *shares(each), with_unit(each.resource, offered))
    limit = float(offered) if max(before, after) > offered else None
    return Bar(texts, segments, float(offered), mark=limit)


def shares(each: UtilisationData) -> tuple[str, str]:
    """Return the requested shares of the allocatable amount before and after, in percent."""
    offered, before, after = (amount_of(each.resource, text) for text in (each.allocatable, each.before, each.after))
    return f"{100 * before / offered:.1f} %", f"{100 * after / offered:.1f} %"
