"""Distribution of a solution over sites to single nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.trials.optimum.model import Model
from kschedctl.trials.optimum.placement import Placement
from kschedctl.trials.optimum.question import PlacementQuestion
from kschedctl.trials.optimum.sites import PodCapacities, is_per_node
from kschedctl.trials.optimum.solver import Solved

#: Heuristics: fill a node before the next or alternate, and sort pods by their largest request or by the sum.
_HEURISTICS: Final = ((True, True), (False, True), (True, False))


def distributions(capacity: PodCapacities, model: Model, solved: Solved) -> Iterator[Placement]:
    """Yield placements on nodes for a solution over sites; pods that fit on no node are omitted."""
    rivals = rivals_of(capacity.question)
    seen: set[frozenset[tuple[tuple[int, int], int]]] = set()
    for full_first, by_largest in _HEURISTICS:
        placed: dict[tuple[int, int], int] = {}
        for s, site in enumerate(model.sites):
            counts = {k: n for (k, at), n in solved.counts.items() if at == s}
            if site.n_nodes == 1:
                placed.update({(k, site.row): n for k, n in counts.items()})
            elif counts:
                placed.update(
                    _distribute(capacity, site.rows, counts, rivals, full_first=full_first, by_largest=by_largest)
                )
        key = frozenset(placed.items())
        if key not in seen:
            seen.add(key)
            yield Placement(placed, solved.leaving)


def _distribute(
    capacity: PodCapacities,
    rows: Sequence[int],
    counts: dict[int, int],
    rivals: set[tuple[int, int]],
    *,
    full_first: bool,
    by_largest: bool,
) -> Counter[tuple[int, int]]:
    names = [name for name in capacity.free if capacity.offered[name][rows[0]]]
    free = {row: [int(capacity.free[name][row]) for name in names] for row in rows}
    on: dict[int, Counter[int]] = {row: Counter() for row in rows}
    wanted = {k: [capacity.question.kinds[k].filters.wanted.get(name, 0) for name in names] for k in counts}
    whole = [max(amount, 1) for amount in free[rows[0]]]

    def size(k: int) -> tuple[float, ...]:
        shares = [amount / total for amount, total in zip(wanted[k], whole, strict=True)]
        largest = max(shares, default=0.0)
        return (largest, sum(shares)) if by_largest else (sum(shares), largest)

    def fits(k: int, row: int) -> bool:
        has_room = all(not amount or amount <= left for amount, left in zip(wanted[k], free[row], strict=True))
        return has_room and not any(on[row][r] and (min(k, r), max(k, r)) in rivals for r in on[row])

    placed: Counter[tuple[int, int]] = Counter()
    for k in sorted(counts, key=size, reverse=True):
        for _ in range(counts[k]):
            fitting = [row for row in rows if fits(k, row)]
            if not fitting:
                break
            if full_first:
                row = max(fitting, key=lambda each: (on[each].total(), -each))
            else:
                row = min(fitting, key=lambda each: (on[each][k], on[each].total(), each))
            on[row][k] += 1
            placed[k, row] += 1
            free[row] = [left - amount for left, amount in zip(free[row], wanted[k], strict=True)]
    return placed


def rivals_of(question: PlacementQuestion) -> set[tuple[int, int]]:
    """Return the pairs of kinds that cannot share a node, because of host ports or anti-affinity."""
    out: set[tuple[int, int]] = set()
    for k, kind in enumerate(question.kinds):
        for r, other in enumerate(question.kinds):
            apart = any(is_per_node(c.column) and c.per_class[other.class_id] > 0 for c in kind.filters.exclusions)
            if apart or any(a.conflicts(b) for a in kind.filters.ports for b in other.filters.ports):
                out.add((min(k, r), max(k, r)))
    return out
