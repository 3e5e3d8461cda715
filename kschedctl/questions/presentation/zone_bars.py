"""Bars of the number of pods per zone on two sides, such as before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kschedctl.common.wording import counted
from kschedctl.questions.answers.nodes import NodesOverview
from kschedctl.questions.presentation.charts import Bar, Bars, Kind, Segment
from kschedctl.questions.presentation.tone import Tone


def zone_bars(
    title: str, sides: tuple[str, str], first: Iterable[str], second: Iterable[str], overview: NodesOverview
) -> Bars:
    """Return a bar per zone with pods.

    Parameters
    ----------
    sides : tuple of (str, str)
        The names of the sides, such as ``before`` and ``in the best placement``.
    first, second : iterable of str
        The node of each pod on each side.
    """
    zones = {node.name: node.zone for node in overview.nodes}
    counts = [Counter(zones.get(node, "") for node in nodes if node) for nodes in (first, second)]
    every = sorted(dict.fromkeys((*counts[0], *counts[1])), key=lambda zone: (not zone, zone))
    most = max((side[zone] for side in counts for zone in every), default=1)
    return Bars(
        title=title,
        measure="pods",
        headings=("zone", *sides),
        kinds=(Kind("in both"), Kind(f"more {sides[1]}", Tone.GOOD), Kind(f"more {sides[0]}", Tone.MIXED)),
        rows=tuple(_bar(zone, counts[0][zone], counts[1][zone], most) for zone in every),
        numbers=False,
    )


def _bar(zone: str, first: int, second: int, most: int) -> Bar:
    parts = (min(first, second), max(second - first, 0), max(first - second, 0))
    segments = tuple(Segment(i, part, counted(part, "pod")) for i, part in enumerate(parts) if part)
    return Bar((zone or "no zone", counted(first, "pod"), counted(second, "pod")), segments, most)
