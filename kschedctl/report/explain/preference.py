"""What would move a pod to a node, as data and as blocks."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kschedctl.report.document import GAP, INDENT, Document, Paragraph, Tone, table
from kschedctl.report.envelope import Data
from kschedctl.report.tried import ThenData, TriedData
from kschedctl.scheduler.decision import Decision
from kschedctl.scheduler.prefer import Move, Preference


class SuggestedChangeData(TriedData, frozen=True):
    """A change that was tried, and what it leads to."""

    then: ThenData
    score: Annotated[int, Meta(description="The node's score then.")]
    next_best: Annotated[int, Meta(description="The next best score then.")]


class PluginPointsData(Data, frozen=True):
    """What a plugin gives both nodes, weighted."""

    plugin: str
    here: int
    there: int


class PreferenceData(Data, frozen=True):
    """Where a node stands, and what would make it the only best one."""

    node: str
    fits: bool
    is_best: Annotated[bool, Meta(description="Whether the pod can go there as it is.")]
    other: Annotated[str, Meta(description="The best other node; empty where nothing was scored.")]
    here: Annotated[int, Meta(description="The node's score.")]
    there: Annotated[int, Meta(description="The other's.")]
    points: Annotated[tuple[PluginPointsData, ...], Meta(description="Where the difference comes from.")]
    changes: Annotated[tuple[SuggestedChangeData, ...], Meta(description="Each alone makes it the only best one.")]


def preference_data(found: Preference) -> PreferenceData:
    """Put what was found into data."""
    return PreferenceData(
        found.node,
        found.fits,
        found.is_best,
        found.other,
        found.here,
        found.there,
        tuple(PluginPointsData(one.plugin, one.here, one.there) for one in found.points),
        tuple(map(_change, found.moves)),
    )


def _change(move: Move) -> SuggestedChangeData:
    changes: Any = msgspec.to_builtins(move.changes)
    score, next_best = _best_two(move.after)
    then = ThenData(move.after.best)
    return SuggestedChangeData(move.summary, move.scope, (), (), tuple(changes), then, score, next_best)


def _best_two(decision: Decision) -> tuple[int, int]:
    totals = sorted(decision.scores.total.tolist(), reverse=True) if decision.scores is not None else []
    best, second, *_ = (*totals, 0, 0)
    return best, second


def preference_section(found: PreferenceData, why_not: str) -> Document:
    """Lay out where a node stands, and what would move the pod there.

    Parameters
    ----------
    why_not : str
        Why the pod does not fit there; empty where it does.
    """
    node = found.node
    yield GAP
    if not found.fits:
        yield Paragraph(f"No preference moves the pod to {node}: it does not fit there.", Tone.STRONG)
        for line in why_not.split("\n"):
            yield Paragraph(line, indent=INDENT)
        return
    if not found.other:
        said = "the pod goes there, and no other node was scored" if found.is_best else "no scores were compared"
        yield Paragraph(f"{node}: {said}.", Tone.STRONG)
        return
    points = found.here - found.there
    ahead = f"{abs(points)} {'point' if abs(points) == 1 else 'points'}"
    if points > 0:
        yield Paragraph(f"{node} is the best node, {ahead} ahead of {found.other}.", Tone.STRONG)
    elif found.is_best:
        yield Paragraph(f"{node} is as good as {found.other}: chance decides.", Tone.STRONG)
    else:
        yield Paragraph(f"{node} is {ahead} behind {found.other}.", Tone.STRONG)
    differing = [one for one in found.points if one.here != one.there]
    rows = [(one.plugin, str(one.here), str(one.there), f"{one.here - one.there:+}") for one in differing]
    rows.append(("total", str(found.here), str(found.there), f"{points:+}" if points else "0"))
    tones = [*(Tone.PLAIN for _ in differing), Tone.STRONG]
    yield table(("plugin", node, found.other, "difference"), rows, numeric=(1, 2, 3), tones=tones)
    if points > 0:
        return
    yield GAP
    goal = "make it the only best node" if found.is_best else f"move the pod to {node}"
    if not found.changes:
        yield Paragraph(f"No single change that was tried would {goal}.", Tone.STRONG)
        return
    yield Paragraph(f"What would {goal} (each tried alone)", Tone.STRONG)
    told = [(change.summary, f"{change.score}, next best {change.next_best}") for change in found.changes]
    yield table(("change", "then it has"), told)
