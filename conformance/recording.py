"""Recording of the reference scheduler's answers, without cases that it cannot answer or answers at random."""

from collections.abc import Iterable, Iterator
from typing import Final

from conformance.asking import Judge
from conformance.comparison import differences
from conformance.jsonlines import Object
from conformance.sequences import follows, is_sequence, with_choices

#: A sequence with more attempts is left out: it only repeats attempts while a back-off lasts.
MOST_ATTEMPTS: Final = 200


def record(cases: Iterable[Object], judge: Judge, times: int = 2) -> Iterator[tuple[Object, Object]]:
    """Yield the recordable cases, each with its answer.

    A case is left out if the release does not know one of its objects, or if a repeated run gives another answer: such
    an answer depends on random choice. A sequence gets the random ``choices`` of its first answer, so that another side
    can follow them. A sequence is left out if its runs diverge otherwise than by a random choice. With feature gates,
    chance is settled, and it is left out if its runs diverge at all.

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
    first = zip(asked, list(judge.ask(asked)), strict=True)
    found = [(case, said) for case, said in first if "unknown" not in said and not _is_long(said)]
    again = [list(judge.ask(case for case, _ in found)) for _ in range(times - 1)]
    for i, (case, said) in enumerate(found):
        others = [answers[i] for answers in again]
        if is_sequence(case) and not case.get("featureGates"):
            if all(follows(said, other) for other in others):
                yield with_choices(case, said), said
        elif not any(differences(said, other) for other in others):
            yield with_choices(case, said) if is_sequence(case) else case, said


def _is_long(said: Object) -> bool:
    return len(said.get("attempts", ())) > MOST_ATTEMPTS
