"""How far apart two names are."""

from __future__ import annotations

from collections.abc import Iterable


def distance(one: str, other: str) -> int:
    """How many letters must be put in, taken out or changed to make one name of the other (Levenshtein).

    Examples
    --------
    >>> distance("zone", "zones"), distance("zone", "Zone"), distance("os", "arch")
    (1, 1, 4)
    """
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, compared in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != compared))
    return row[-1]


def nearest(name: str, names: Iterable[str], most: int = 2) -> str:
    """The name that is nearest to one, so many letters away at most; a different case counts little. Empty for none.

    Examples
    --------
    >>> nearest("SSD", ["ssd", "hdd"]), nearest("gpu", ["memory"])
    ('ssd', '')
    """
    ranked = sorted((distance(name.lower(), each.lower()), distance(name, each), each) for each in names)
    return ranked[0][2] if ranked and ranked[0][0] <= most else ""
