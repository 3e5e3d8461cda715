"""Two sides that are asked the same: which cases they answer differently, and which differences are explained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from conformance.asking import Judge, Side
from conformance.comparison import differences
from conformance.jsonlines import Object


class Difference(NamedTuple):
    """A case that two sides answer differently.

    Attributes
    ----------
    case : object
        The case.
    parts : dict of str to str
        The parts that differ, each with its first difference in words.
    not_modelled : tuple of str
        What the second side says it leaves out: a difference that its users are told about.
    """

    case: Object
    parts: dict[str, str]
    not_modelled: tuple[str, ...]


def compared(cases: Iterable[Object], judge: Judge, side: Side) -> Iterator[tuple[Object, Difference | None]]:
    """Every case that the judge has an answer to, with its difference where there is one.

    A case that differs is put to the judge again: where it then says something else, its answer hangs on chance, and
    the case is left out.
    """
    asked = list(cases)
    for case, expected in zip(asked, list(judge.ask(asked)), strict=True):
        if "unknown" not in expected:
            found = difference(case, expected, side(case))
            if found is None or is_settled(case, expected, judge):
                yield case, found


def is_settled(case: Object, said: Object, judge: Side, times: int = 3) -> bool:
    """Whether the judge gives the same answer again, so many times."""
    return not any(differences(said, judge(case)) for _ in range(times))


def difference(
    case: Object, expected: Object, said: Object, names: tuple[str, str] = ("judge", "ours")
) -> Difference | None:
    """Where the two answers differ; None where they are equal."""
    parts = differences(expected, said, names)
    return Difference(case, parts, tuple(said.get("notModelled", ()))) if parts else None
