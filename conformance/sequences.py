"""Sequences of pods: random choices to follow, and differences between answers beyond such choices."""

from collections.abc import Iterable

from conformance.comparison import attempts, differences
from conformance.jsonlines import Object


def is_sequence(case: Object) -> bool:
    """Report whether a case is a sequence of pods."""
    return "pods" in case


def with_choices(case: Object, said: Object) -> Object:
    """Return a sequence with the random choices of an answer, per pod or group and attempt (see ``choice``)."""
    choices: dict[str, list[object]] = {}
    for made in said.get("attempts", ()):
        choices.setdefault(tried(made), []).append(choice(made))
    return {**case, "choices": choices}


def tried(made: Object) -> str:
    """Return the key of an attempt in ``choices``: the pod, or ``group`` and the group."""
    return f"group {made['group']}" if "group" in made else str(made["pod"])


def choice(made: Object) -> str | list[str]:
    """Return what chance decided in an attempt: the node, or the nominated node, or the nodes of a group's picks."""
    if "group" in made:
        return [node for _, node in made.get("picks") or ()]
    return str(made.get("node") or made.get("nominated") or "")


def follows(said: Object, other: Object) -> bool:
    """Report whether two answers to a sequence are equal up to the first attempt with another random choice.

    Only choices count that ``with_choices`` hands on, so that another side can follow them: not the nominated nodes of
    the members of a group.
    """
    at = first_differing(said, other)
    pair = [answer.get("attempts", ())[at : at + 1] for answer in (said, other)]
    if not all(pair):
        return not differences(said, other)
    (one,), (two,) = pair
    if tried(one) != tried(two):
        return False
    if "group" in one:
        return choice(one) != choice(two)
    return any(bool(one.get(name) and two.get(name)) for name in ("node", "nominated"))


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
