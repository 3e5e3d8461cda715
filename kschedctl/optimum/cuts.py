"""Cuts: solutions that the real filters refuse, and all that fail for the same reason, are excluded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedctl.optimum.goals import Placement
from kschedctl.optimum.model import Model
from kschedctl.optimum.question import Question
from kschedctl.optimum.trial import OF_OTHERS, OF_THE_NODE, Refusal, related

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar


@dataclass(frozen=True, slots=True)
class Cut:
    """At least one of these counts must be another one.

    Attributes
    ----------
    fewer, more : tuple of ((int, int), int)
        Kinds and node rows, with the number of which fewer, or more, must be placed.
    leave_more, leave_fewer : tuple of (int, int)
        Occupants, with the number of which more, or fewer, must leave.
    """

    fewer: tuple[tuple[tuple[int, int], int], ...] = ()
    more: tuple[tuple[tuple[int, int], int], ...] = ()
    leave_more: tuple[tuple[int, int], ...] = ()
    leave_fewer: tuple[tuple[int, int], ...] = ()


def cut_of(question: Question, placement: Placement, refusal: Refusal) -> Cut:
    """What a refusal excludes."""
    occupants = range(len(question.occupants))
    leaving = {o: placement.leaving.get(o, 0) for o in occupants}
    if refusal.plugins and refusal.plugins <= OF_THE_NODE:
        here = tuple(((k, row), n) for (k, row), n in placement.placed.items() if row == refusal.row and n)
        own = tuple((o, n) for o, n in leaving.items() if question.occupants[o].row == refusal.row)
        return Cut(fewer=here, leave_more=own)
    kinds = set(range(len(question.kinds)))
    if refusal.plugins <= OF_OTHERS:
        kinds = related(question, refusal.kind)
    placed = {(k, row): placement.placed.get((k, row), 0) for k in kinds for row in range(len(question.cluster.nodes))}
    every = tuple(placed.items())
    return Cut(
        fewer=tuple((key, n) for key, n in every if n),
        more=every,
        leave_more=tuple(leaving.items()),
        leave_fewer=tuple((o, n) for o, n in leaving.items() if n),
    )


def exclude(model: Model, cut: Cut) -> None:
    """Exclude from a model over single nodes what a cut excludes."""
    literals = list(_literals(model, cut))
    model.cp.add_bool_or(literals)


def _literals(model: Model, cut: Cut) -> Iterator[IntVar]:
    for sign, counts in ((-1, cut.fewer), (1, cut.more)):
        for (k, row), n in counts:
            variable = model.placed.get((k, model.site_of_row.get(row, -1)))
            if variable is not None:
                literal = model.cp.new_bool_var("")
                model.cp.add(variable <= n - 1 if sign < 0 else variable >= n + 1).only_enforce_if(literal)
                yield literal
    for sign, left in ((1, cut.leave_more), (-1, cut.leave_fewer)):
        for o, n in left:
            variable = model.leaving[o]
            if variable is not None:
                literal = model.cp.new_bool_var("")
                model.cp.add(variable <= n - 1 if sign < 0 else variable >= n + 1).only_enforce_if(literal)
                yield literal
