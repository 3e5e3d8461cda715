"""Recording: what the judge answers, without what it cannot be asked or leaves to chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.asking import Judge
from conformance.comparison import differences
from conformance.jsonlines import Object


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
        if "pods" in case:
            if all(follows(said, other[i]) for other in again):
                yield with_choices(case, said), said
        elif not any(differences(said, other[i]) for other in again):
            yield case, said


def follows(said: Object, other: Object) -> bool:
    """Whether two answers to a sequence are the same up to the first attempt in which chance chose another node."""
    pairs = zip(said["attempts"], other["attempts"], strict=False)
    first = next(((one, two) for one, two in pairs if one != two), None)
    if first is None:
        return not differences(said, other)
    one, two = first
    return one["pod"] == two["pod"] and any(one.get(name) and two.get(name) for name in ("node", "nominated"))


def with_choices(case: Object, said: Object) -> Object:
    """A sequence with what chance decided in each attempt of its pods, in order: the node, or the nominated node."""
    choices: dict[str, list[str]] = {}
    for made in said["attempts"]:
        choices.setdefault(made["pod"], []).append(made.get("node") or made.get("nominated") or "")
    return {**case, "choices": choices}
