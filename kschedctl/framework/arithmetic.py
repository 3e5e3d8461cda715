"""The arithmetic of a score: what a plugin says of its own when somebody looks at a node, never on the way to one.

A plugin defines a struct beside its score, with the numbers that it went by, as ``Operands`` are for reasons:

    class Doubled(Arithmetic, frozen=True):
        free: int

        def formula(self) -> str:
            return "twice what is free"

        def steps(self) -> Iterator[Step]:
            yield Step("score", f"2 * {self.free}", 2 * self.free)

The expression of a step has the numbers in it, so that it can be worked out by hand: ``+ - * / //`` and parentheses,
``trunc``, ``round`` (halves away from zero), ``abs``, ``min``, ``max``, ``sqrt``, ``log`` and the names of steps before
it. ``//`` divides whole numbers and rounds toward zero, ``/`` divides in float64. The contract of plugins works all of
them out (``kschedctl.testing.arithmetic``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec


class Step(msgspec.Struct, frozen=True, rename="camel"):
    """One step on the way to a score.

    Attributes
    ----------
    name : str
        What is worked out, such as a resource.
    expression : str
        How, with the numbers.
    value : int or float
        What comes of it.
    note : str
        What the numbers are, in words; empty where that is plain.
    """

    name: str
    expression: str
    value: int | float
    note: str = ""


class Arithmetic(msgspec.Struct, frozen=True, rename="camel"):
    """Base of the arithmetic of plugins."""

    def formula(self) -> str:
        """The rule in general, in one line."""
        raise NotImplementedError(f"{type(self).__name__} has no formula")

    def steps(self) -> Iterator[Step]:
        """The steps; the last is the score. There is at least one."""
        raise NotImplementedError(f"{type(self).__name__} has no steps")


class ScaledToHighest(Arithmetic, frozen=True):
    """Scores scaled so that the highest becomes 100 (``default_normalize_score``).

    Attributes
    ----------
    score : int
        The node's raw score.
    highest : int
        The highest of all nodes that were scored.
    reverse : bool
        Whether low scores are good.
    """

    score: int
    highest: int
    reverse: bool

    def formula(self) -> str:
        """A hundred times the score by the highest one, turned round where low scores are good."""
        return "100 - 100 * score // highest" if self.reverse else "100 * score // highest"

    def steps(self) -> Iterator[Step]:
        """One."""
        if not self.highest:
            value = 100 if self.reverse else 0
            yield Step("normalised", str(value), value, "no node has more than 0")
            return
        scaled, expression = 100 * self.score // self.highest, f"100 * {self.score} // {self.highest}"
        if self.reverse:
            scaled, expression = 100 - scaled, f"100 - {expression}"
        yield Step("normalised", expression, scaled, f"the highest is {self.highest}")


def added(terms: Iterable[str]) -> str:
    """The sum of some terms as an expression; of none 0."""
    return " + ".join(terms) or "0"
