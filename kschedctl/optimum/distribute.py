"""From sites to nodes: the pods that a solution gives nodes that are alike, dealt out to the single ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.optimum.goals import Placement
from kschedctl.optimum.model import Model
from kschedctl.optimum.question import Question
from kschedctl.optimum.sites import Ground, is_inner
from kschedctl.optimum.stages import Solved

#: Full nodes before empty ones, or one after another; and by which size pods come.
_WAYS: Final = ((True, True), (False, True), (True, False))


def distributed(question: Question, ground: Ground, model: Model, solved: Solved) -> Iterator[Placement]:
    """Ways to deal the pods of a solution out; those for which there is no room are left out."""
    rivals = rivals_of(question)
    seen: set[frozenset[tuple[tuple[int, int], int]]] = set()
    for full_first, by_largest in _WAYS:
        placed: Counter[tuple[int, int]] = Counter()
        for s, site in enumerate(model.sites):
            counts = {k: n for (k, at), n in solved.counts.items() if at == s}
            if site.n_nodes == 1:
                placed.update({(k, site.row): n for k, n in counts.items()})
            elif counts:
                _deal(question, ground, site.rows, counts, placed, rivals, full_first=full_first, by_largest=by_largest)
        key = frozenset(placed.items())
        if key not in seen:
            seen.add(key)
            yield Placement(dict(placed), solved.leaving)


def _deal(
    question: Question,
    ground: Ground,
    rows: Sequence[int],
    counts: dict[int, int],
    placed: Counter[tuple[int, int]],
    rivals: set[tuple[int, int]],
    *,
    full_first: bool,
    by_largest: bool,
) -> None:
    names = list(ground.free)
    free = {row: [int(ground.free[name][row]) for name in names] for row in rows}
    offered = [bool(ground.offered[name][rows[0]]) for name in names]
    on: dict[int, Counter[int]] = {row: Counter() for row in rows}
    wanted = {k: [question.kinds[k].sifted.wanted.get(name, 0) for name in names] for k in counts}
    whole = [max(amount, 1) for amount in free[rows[0]]]

    def size(k: int) -> tuple[float, ...]:
        shares = [amount / total for amount, total in zip(wanted[k], whole, strict=True)]
        return (max(shares), sum(shares)) if by_largest else (sum(shares), max(shares))

    for k in sorted(counts, key=size, reverse=True):
        for _ in range(counts[k]):
            fitting = [
                row
                for row in rows
                if all(
                    not amount or not there or amount <= left
                    for amount, left, there in zip(wanted[k], free[row], offered, strict=True)
                )
                and not any(on[row][r] for r in on[row] if (min(k, r), max(k, r)) in rivals)
            ]
            if not fitting:
                break
            row = max(fitting, key=lambda each: (on[each].total(), -each)) if full_first else None
            if row is None:
                row = min(fitting, key=lambda each: (on[each][k], on[each].total(), each))
            on[row][k] += 1
            placed[k, row] += 1
            free[row] = [left - amount for left, amount in zip(free[row], wanted[k], strict=True)]


def rivals_of(question: Question) -> set[tuple[int, int]]:
    """Pairs of kinds that do not share a node: by ports, or by anti-affinity over nodes."""
    out: set[tuple[int, int]] = set()
    for k, kind in enumerate(question.kinds):
        affinity = kind.sifted.affinity
        terms = (*affinity.anti_affinity, *affinity.existing) if affinity is not None else ()
        for r, other in enumerate(question.kinds):
            apart = any(is_inner(c.column) and c.per_class[other.class_id] > 0 for c in terms)
            if apart or any(a.conflicts(b) for a in kind.sifted.ports for b in other.sifted.ports):
                out.add((min(k, r), max(k, r)))
    return out
