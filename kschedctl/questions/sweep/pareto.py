"""The Pareto front: the cases that no other case dominates.

A case dominates another one if it is at least as good in every goal and better in one.
"""

from collections.abc import Iterable, Mapping

from kschedctl.questions.sweep.answer import Aim
from kschedctl.questions.sweep.job import Row


def front(rows: Iterable[Row], goals: Mapping[str, Aim]) -> frozenset[int]:
    """Return the numbers of the cases on the front. Failed cases and cases without a value for a goal are not on it.

    >>> rows = [Row(case=i, axes={}, values={"a": a, "b": b}) for i, (a, b) in enumerate([(1, 1), (2, 1), (1, 0)])]
    >>> sorted(front(rows, {"a": Aim.MAXIMISE, "b": Aim.MINIMISE}))
    [1, 2]
    """
    if not goals:
        return frozenset()
    points: dict[tuple[float, ...], list[int]] = {}
    for row in rows:
        numbers = [row.values.get(goal) for goal in goals]
        known = [number for number in numbers if number is not None]
        if not row.error and len(known) == len(numbers):
            point = tuple(-n if aim is Aim.MAXIMISE else n for n, aim in zip(known, goals.values(), strict=True))
            points.setdefault(point, []).append(row.case)
    # In lexicographic order no point is dominated by a later one, so points are never removed from the front.
    best: list[tuple[float, ...]] = []
    for point in sorted(points):
        if not any(all(a <= b for a, b in zip(other, point, strict=True)) for other in best):
            best.append(point)
    return frozenset(case for point in best for case in points[point])
