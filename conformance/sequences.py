"""Sequences of pods: how an answer is followed, and when two answers differ by more than what chance chose."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.comparison import attempts, differences
from conformance.jsonlines import Object


def is_sequence(case: Object) -> bool:
    """Whether a case has many pods."""
    return "pods" in case


def with_choices(case: Object, said: Object) -> Object:
    """A sequence with what chance decided in each attempt of its pods, in order: the node, or the nominated node."""
    choices: dict[str, list[str]] = {}
    for made in said.get("attempts", ()):
        choices.setdefault(made["pod"], []).append(made.get("node") or made.get("nominated") or "")
    return {**case, "choices": choices}


def follows(said: Object, other: Object) -> bool:
    """Whether two answers to a sequence are the same up to the first attempt in which chance chose another node."""
    at = first_differing(said, other)
    pair = [attempts(answer)[at : at + 1] for answer in (said, other)]
    if not all(pair):
        return not differences(said, other)
    (one,), (two,) = pair
    return bool(one["pod"] == two["pod"] and any(one.get(name) and two.get(name) for name in ("node", "nominated")))


def first_differing(said: Object, other: Object) -> int:
    """Which attempt is the first that differs; one past the shorter answer where none of both does."""
    pairs = list(zip(attempts(said), attempts(other), strict=False))
    return next((i for i, (one, two) in enumerate(pairs) if one != two), len(pairs))


def is_race(said: Object, ours: Object, again: Iterable[Object]) -> bool:
    """Whether a difference is a race within kube-scheduler.

    It is where kube-scheduler, asked again, left its own first answer otherwise than by a choice, and no later than
    ours did: a race further on would not explain what differs before it.

    Parameters
    ----------
    said : object
        The first answer of the judge.
    ours : object
        Our answer, with the choices of the first.
    again : iterable of object
        Further answers of the judge; no more are taken than are needed.
    """
    ours_leaves = first_differing(said, ours)
    return any(not follows(said, other) and first_differing(said, other) <= ours_leaves for other in again)
