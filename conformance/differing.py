"""Two sides that are asked the same: which cases they answer differently, and which differences are explained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from conformance.asking import Judge, Side
from conformance.comparison import differences
from conformance.jsonlines import Object
from conformance.sequences import is_race, is_sequence, with_choices


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
    is_race : bool
        Whether the judge gives now this answer to a sequence, now that: nobody could equal it always.
    """

    case: Object
    parts: dict[str, str]
    not_modelled: tuple[str, ...]
    is_race: bool = False

    @property
    def explained(self) -> bool:
        """Whether it is no fault of the second side."""
        return bool(self.not_modelled) or self.is_race


def compared(cases: Iterable[Object], judge: Judge, side: Side) -> Iterator[tuple[Object, Difference | None]]:
    """Every case that the judge has an answer to, with its difference where there is one.

    A case that differs is put to the judge again: where it then says something else, its answer hangs on chance, and
    the case is left out; a sequence stays, as a race. The second side follows the choices that chance made in the
    judge's answer to a sequence, and the case that is returned has them.
    """
    asked = list(cases)
    for case, expected in zip(asked, list(judge.ask(asked)), strict=True):
        if "unknown" not in expected:
            followed = to_follow(case, expected)
            said = side(followed)
            found = difference(followed, expected, said)
            if found is None or is_settled(case, expected, said, judge):
                yield followed, found
            elif is_sequence(case):
                yield followed, found._replace(is_race=True)


def to_follow(case: Object, expected: Object) -> Object:
    """The case as the second side is asked it: a sequence with the choices of the judge's answer."""
    return with_choices(case, expected) if is_sequence(case) else case


def is_settled(case: Object, expected: Object, said: Object, judge: Side, times: int | None = None) -> bool:
    """Whether the judge says the same again, so many times.

    Without a number a sequence is asked ten times, any other case three times: answers to a sequence only tell
    something as far as chance makes the same choices in them.
    """
    again = (judge(case) for _ in range(times or (10 if is_sequence(case) else 3)))
    if is_sequence(case):
        return not is_race(expected, said, again)
    return not any(differences(expected, other) for other in again)


def difference(
    case: Object, expected: Object, said: Object, names: tuple[str, str] = ("judge", "ours")
) -> Difference | None:
    """Where the two answers differ; None where they are equal."""
    parts = differences(expected, said, names)
    return Difference(case, parts, tuple(said.get("notModelled", ()))) if parts else None
