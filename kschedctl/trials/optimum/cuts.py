"""Cuts: constraints that exclude a refused solution and all others that fail for the same reason."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from kschedctl.trials.optimum.model import Model
from kschedctl.trials.optimum.placement import Placement
from kschedctl.trials.optimum.program import Linear, total
from kschedctl.trials.optimum.question import PlacementQuestion
from kschedctl.trials.optimum.trial import OF_OTHERS, OF_THE_NODE, Refusal, related_kinds


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut: at least one of these counts must change.

    Attributes
    ----------
    fewer, more : tuple of ((int, int), int)
        Kinds and node rows, each with a count that must fall, or rise.
    leave_more, leave_fewer : tuple of (int, int)
        Groups of occupants, each with a number of evictions that must rise, or fall.
    """

    fewer: tuple[tuple[tuple[int, int], int], ...] = ()
    more: tuple[tuple[tuple[int, int], int], ...] = ()
    leave_more: tuple[tuple[int, int], ...] = ()
    leave_fewer: tuple[tuple[int, int], ...] = ()


def cut_of(question: PlacementQuestion, placement: Placement, refusal: Refusal) -> Cut:
    """Return the cut for a refusal."""
    leaving = {o: placement.leaving.get(o, 0) for o in range(len(question.occupants))}
    if refusal.plugins and refusal.plugins <= OF_THE_NODE:
        here = tuple(((k, row), n) for (k, row), n in placement.placed.items() if row == refusal.row and n)
        own = tuple((o, n) for o, n in leaving.items() if question.occupants[o].row == refusal.row)
        return Cut(fewer=here, leave_more=own)
    kinds = related_kinds(question, refusal.kind) if refusal.plugins <= OF_OTHERS else set(range(len(question.kinds)))
    placed = {(k, row): placement.placed.get((k, row), 0) for k in kinds for row in range(len(question.cluster.nodes))}
    return Cut(
        fewer=tuple((key, n) for key, n in placed.items() if n),
        more=tuple(placed.items()),
        leave_more=tuple(leaving.items()),
        leave_fewer=tuple((o, n) for o, n in leaving.items() if n),
    )


def exclude(model: Model, cut: Cut) -> None:
    """Add a cut to a model over single nodes."""

    def placed(key: tuple[int, int]) -> Linear | None:
        k, row = key
        return model.placed.get((k, model.site_of_row.get(row, -1)))

    rising = chain(
        ((placed(key), n) for key, n in cut.more),
        ((model.leaving[o], n) for o, n in cut.leave_more),
    )
    falling = chain(
        ((placed(key), n) for key, n in cut.fewer),
        ((model.leaving[o], n) for o, n in cut.leave_fewer),
    )
    literals = []
    for changes, rises in ((falling, False), (rising, True)):
        for variable, n in changes:
            if variable is not None:
                literals.append(model.program.variable())
                model.program.add(variable >= n + 1 if rises else variable <= n - 1, when=literals[-1])
    model.program.add(total(literals) >= 1)
