"""Recording of the reference scheduler's answers, without cases that it cannot answer or answers at random."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.asking import Judge
from conformance.comparison import differences
from conformance.jsonlines import Object
from conformance.sequences import follows, is_sequence, with_choices


def record(cases: Iterable[Object], judge: Judge, times: int = 2) -> Iterator[tuple[Object, Object]]:
    """Yield the recordable cases, each with its answer.

    A case is left out if the release does not know one of its objects, or if a repeated run gives another answer: such
    an answer depends on random choice. A sequence gets the random ``choices`` of its first answer, so that another side
    can follow them. A sequence is left out if its runs diverge otherwise than by a random choice.

    Parameters
    ----------
    cases : iterable of object
        The cases.
    judge : Judge
        The reference scheduler.
    times : int
        The number of runs of each case.
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
