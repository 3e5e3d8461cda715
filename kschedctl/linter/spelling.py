"""Similarity of names."""

from __future__ import annotations

from collections.abc import Iterable


def distance(one: str, other: str) -> int:
    """Return the Levenshtein distance of two names: the least number of letters to insert, delete or replace.

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
    """Return the name nearest to `name`, at a Levenshtein distance of at most `most`; empty if there is none.

    The distance ignores case, which only decides between names at the same distance.

    Examples
    --------
    >>> nearest("SSD", ["ssd", "hdd"]), nearest("gpu", ["memory"])
    ('ssd', '')
    """
    ranked = sorted((distance(name.lower(), each.lower()), distance(name, each), each) for each in names)
    return ranked[0][2] if ranked and ranked[0][0] <= most else ""
