"""Typing mistakes in names: known names that a wrong one was meant for.

`meant` is strict, because the corrected name becomes a cure: names that differ in a digit, such as zones and models of
devices, or in their first letter, such as ``cpu`` and ``gpu``, are different names. `nearest` is for hints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

#: The least length of names in which a letter may be replaced, and of names with two mistakes.
_LONG: Final = 5
_VERY_LONG: Final = 9
_PARTS: Final = re.compile(r"[-_./:]")
_SEPARATORS: Final = str.maketrans("", "", "-_. ")


def meant(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that `name` was probably meant for, the most similar first.

    Examples
    --------
    >>> meant("nvem", ["hdd", "nvme"]), meant("SSD", ["ssd"]), meant("eu-1c", ["eu-1a"]), meant("cpu", ["gpu"])
    (['nvme'], ['ssd'], [], [])
    """
    ranked = sorted((found, other) for other in dict.fromkeys(names) if (found := mistakes(name, other)))
    return [other for found, other in ranked if found == ranked[0][0]]


def mistakes(name: str, other: str) -> int:
    """Return the number of typing mistakes by which a name differs from another one; 0 if the names are different.

    Another case or other separators count as one mistake.
    """
    if not name or not other or name == other:
        return 0
    one, two = name.casefold(), other.casefold()
    if one == two or one.translate(_SEPARATORS) == two.translate(_SEPARATORS):
        return 1
    mine, others = _PARTS.split(one), _PARTS.split(two)
    if len(mine) == len(others) > 1:
        # Each part must be meant for the other one: eu-west is not eu-east, and team-a is not team-b.
        found = [mistakes(part, other) for part, other in zip(mine, others, strict=True) if part != other]
        return sum(found) if all(found) and sum(found) <= 2 else 0
    shorter = min(len(one), len(two))
    most = 2 if shorter >= _VERY_LONG else 1
    n_edits = edits(one, two)
    if shorter < 3 or n_edits > most or _digits(one) != _digits(two):
        return 0
    swapped = n_edits == 1 and len(one) == len(two) and sorted(one) == sorted(two)
    if one[0] != two[0] and not swapped:
        return 0
    replaced = n_edits == 1 and len(one) == len(two) and not swapped
    return 0 if replaced and shorter < _LONG else n_edits


def _digits(text: str) -> list[str]:
    return [letter for letter in text if letter.isdigit()]


def edits(one: str, other: str) -> int:
    """Return the least number of letters to insert, delete or replace, or of neighbours to swap.

    Examples
    --------
    >>> edits("nvem", "nvme"), edits("zone", "zones"), edits("os", "arch")
    (1, 1, 4)
    """
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, compared in enumerate(other, 1):
            least = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (letter != compared))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == compared:
                least = min(least, rows[i - 2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]


def nearest(name: str, names: Iterable[str], most: int = 2) -> str:
    """Return the known name with the fewest `edits` from `name`, at most `most`; empty if there is none.

    The number of edits ignores case, which only decides between names with the same number.

    Examples
    --------
    >>> nearest("SSD", ["ssd", "hdd"]), nearest("gpu", ["memory"])
    ('ssd', '')
    """
    ranked = sorted((edits(name.lower(), each.lower()), edits(name, each), each) for each in names)
    return ranked[0][2] if ranked and ranked[0][0] <= most else ""
