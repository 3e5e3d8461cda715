"""The arithmetic of a score: the numbers and steps behind it, computed on demand and never during scoring.

A plugin defines a struct next to its score function. The struct holds the numbers the score was computed from, just as
``Operands`` hold the numbers behind a rejection reason:

    class Doubled(Arithmetic, frozen=True):
        free: int

        def formula(self) -> str:
            return "twice what is free"

        def steps(self) -> Iterator[Step]:
            yield Step("score", f"2 * {self.free}", 2 * self.free)

The expression of a step contains its numbers, so that a reader can recompute it by hand. It may use ``+ - * / //`` and
parentheses, ``trunc``, ``round`` (halves away from zero), ``abs``, ``min``, ``max``, ``sqrt``, ``log`` and the names of
earlier steps. ``//`` divides integers and rounds toward zero; ``/`` divides in float64. The plugin contract evaluates
every expression (``kschedctl.testing.arithmetic``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec


class Step(msgspec.Struct, frozen=True, rename="camel"):
    """A single step in the computation of a score.

    Attributes
    ----------
    name : str
        The quantity that the step computes, such as a resource.
    expression : str
        The expression, with its numbers.
    value : int or float
        The value of the expression.
    note : str
        The meaning of the numbers, in words; empty where it is obvious.
    """

    name: str
    expression: str
    value: int | float
    note: str = ""


class Arithmetic(msgspec.Struct, frozen=True, rename="camel"):
    """Base class of the arithmetic of plugins."""

    def formula(self) -> str:
        """Return the general rule, in one line."""
        raise NotImplementedError(f"{type(self).__name__} has no formula")

    def steps(self) -> Iterator[Step]:
        """Yield the steps, at least one; the value of the last step is the score."""
        raise NotImplementedError(f"{type(self).__name__} has no steps")


class ScaledToHighest(Arithmetic, frozen=True):
    """Scores scaled so that the highest becomes 100 (``default_normalize_score``).

    Attributes
    ----------
    score : int
        The node's raw score.
    highest : int
        The highest raw score among the scored nodes.
    reverse : bool
        True if low raw scores are better.
    """

    score: int
    highest: int
    reverse: bool

    def formula(self) -> str:
        """Return 100 times the score divided by the highest score, subtracted from 100 if low scores are better."""
        return "100 - 100 * score // highest" if self.reverse else "100 * score // highest"

    def steps(self) -> Iterator[Step]:
        """Yield one step: the normalised score."""
        if not self.highest:
            value = 100 if self.reverse else 0
            yield Step("normalised", str(value), value, "no node has more than 0")
            return
        scaled, expression = 100 * self.score // self.highest, f"100 * {self.score} // {self.highest}"
        if self.reverse:
            scaled, expression = 100 - scaled, f"100 - {expression}"
        yield Step("normalised", expression, scaled, f"the highest is {self.highest}")


def sum_expression(terms: Iterable[str]) -> str:
    """Return an expression that adds up the terms; "0" if there are none."""
    return " + ".join(terms) or "0"
