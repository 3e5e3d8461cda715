"""Sequences of pods: random choices to follow, and differences between answers beyond such choices."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.comparison import attempts, differences
from conformance.jsonlines import Object


def is_sequence(case: Object) -> bool:
    """Report whether a case is a sequence of pods."""
    return "pods" in case


def with_choices(case: Object, said: Object) -> Object:
    """Return a sequence with the random choices of an answer: per pod and attempt the node or the nominated node."""
    choices: dict[str, list[str]] = {}
    for made in said.get("attempts", ()):
        choices.setdefault(made["pod"], []).append(made.get("node") or made.get("nominated") or "")
    return {**case, "choices": choices}


def follows(said: Object, other: Object) -> bool:
    """Report whether two answers to a sequence are equal up to the first attempt with another random choice."""
    at = first_differing(said, other)
    pair = [attempts(answer)[at : at + 1] for answer in (said, other)]
    if not all(pair):
        return not differences(said, other)
    (one,), (two,) = pair
    return bool(one["pod"] == two["pod"] and any(one.get(name) and two.get(name) for name in ("node", "nominated")))


def first_differing(said: Object, other: Object) -> int:
    """Return the index of the first attempt that differs, or the length of the shorter answer if none does."""
    pairs = list(zip(attempts(said), attempts(other), strict=False))
    return next((i for i, (one, two) in enumerate(pairs) if one != two), len(pairs))


def is_race(said: Object, ours: Object, again: Iterable[Object]) -> bool:
    """Report whether a difference is a race within kube-scheduler.

    It is a race if a repeated run of kube-scheduler diverges from its own first answer otherwise than by a random
    choice, and no later than kschedctl's answer diverges: a later race would not explain the earlier difference.

    Parameters
    ----------
    said : object
        The first answer of the reference scheduler.
    ours : object
        kschedctl's answer, with the choices of the first.
    again : iterable of object
        Further answers of the reference scheduler, consumed only until the race is found.
    """
    ours_leaves = first_differing(said, ours)
    return any(not follows(said, other) and first_differing(said, other) <= ours_leaves for other in again)
