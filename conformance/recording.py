"""Recording: what the judge answers, without what it cannot be asked or leaves to chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.asking import Judge
from conformance.comparison import differences
from conformance.jsonlines import Object
from conformance.sequences import follows, is_sequence, with_choices


def record(cases: Iterable[Object], judge: Judge, times: int = 2) -> Iterator[tuple[Object, Object]]:
    """The cases that have an answer, each with it.

    A case is left out where the release does not know one of its objects, and where asking again gives another
    answer: its first answer then depends on chance. A sequence gets the ``choices`` that chance made in its answer, so
    that it can be followed; it is left out where it takes another course otherwise than by a choice.

    Parameters
    ----------
    cases : iterable of object
        Cases.
    judge : Judge
        The judge.
    times : int
        How often each is asked.
    """
    asked = list(cases)
    first = list(judge.ask(asked))
    again = [list(judge.ask(asked)) for _ in range(times - 1)]
    for i, (case, said) in enumerate(zip(asked, first, strict=True)):
        if "unknown" in said:
            continue
        if is_sequence(case):
            if all(follows(said, other[i]) for other in again):
                yield with_choices(case, said), said
        elif not any(differences(said, other[i]) for other in again):
            yield case, said
