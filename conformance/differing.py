"""Differences between two sides: the cases that they answer differently, and the differences that are explained."""

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
    expected, said : object
        The two answers.
    not_modelled : tuple of str
        Features that the second side reports as not modelled: its users are warned about such a difference.
    is_race : bool
        True if the reference scheduler's own answer to a sequence varies from run to run, so that no other side can
        always equal it.
    """

    case: Object
    parts: dict[str, str]
    expected: Object
    said: Object
    not_modelled: tuple[str, ...]
    is_race: bool = False

    @property
    def explained(self) -> bool:
        """True if the second side is not at fault: a feature is not modelled, or the reference scheduler races."""
        return bool(self.not_modelled) or self.is_race


def compared(
    cases: Iterable[Object], judge: Judge, side: Side, names: tuple[str, str] = ("judge", "ours")
) -> Iterator[tuple[Object, Difference | None]]:
    """Yield every case that the reference scheduler can answer, with its difference or None.

    A case that differs is sent to the reference scheduler again. If the answer then varies, it depends on a random
    choice and the case is left out; a sequence is yielded as a race. The second side follows the random choices in the
    reference scheduler's answer to a sequence, and the yielded case contains these choices.
    """
    asked = list(cases)
    for case, expected in zip(asked, list(judge.ask(asked)), strict=True):
        if "unknown" not in expected:
            followed = to_follow(case, expected)
            said = side(followed)
            found = difference(followed, expected, said, names)
            if found is None or is_settled(case, expected, said, judge):
                yield followed, found
            elif is_sequence(case):
                yield followed, found._replace(is_race=True)


def to_follow(case: Object, expected: Object) -> Object:
    """Return the case for the second side: a sequence with the choices in the reference scheduler's answer."""
    return with_choices(case, expected) if is_sequence(case) else case


def is_settled(case: Object, expected: Object, said: Object, judge: Side, times: int | None = None) -> bool:
    """Report whether a difference holds after the reference scheduler has answered ``times`` more times.

    For a sequence it does not hold if a further answer shows a race (``is_race``), for any other case if a further
    answer differs from the first. The default is ten times for a sequence and three times for any other case, because
    answers to a sequence are comparable only up to the first attempt in which random choice took another node.
    """
    again = (judge(case) for _ in range(times or (10 if is_sequence(case) else 3)))
    if is_sequence(case):
        return not is_race(expected, said, again)
    return not any(differences(expected, other) for other in again)


def difference(
    case: Object, expected: Object, said: Object, names: tuple[str, str] = ("judge", "ours")
) -> Difference | None:
    """Return the difference between two answers, or None if they are equal."""
    parts = differences(expected, said, names)
    return Difference(case, parts, expected, said, tuple(said.get("notModelled", ()))) if parts else None
