"""Lists of a Job's completion indexes, such as ``0-3,7``."""

from __future__ import annotations

import re
from typing import Final

from kschedctl.objects.field_errors import go_quote

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch


class IndexesError(ValueError):
    """A text that is not a list of indexes; its message is the API server's."""


def count_indexes(text: str, completions: int) -> int:
    """Count the indexes in a list.

    Parameters
    ----------
    completions : int
        The number of completions; each index must be less.

    Raises
    ------
    IndexesError
        If the text is not a list of indexes.

    Examples
    --------
    >>> count_indexes("0-3,7", 8)
    5
    """
    total, last = 0, None
    for part in text.split(",") if text else ():
        first, end = _interval(part, completions)
        if last is not None and last >= first:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def _interval(part: str, completions: int) -> tuple[int, int]:
    limits = part.split("-")
    if len(limits) > 2:
        problem = f"the fragment {go_quote(part)} violates the requirement that an index interval can have at most"
        raise IndexesError(f"{problem} two parts separated by '-'")
    first = _index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    end = _index(limits[1], completions)
    if first >= end:
        raise IndexesError(f"non-increasing order, previous: {first}, current: {end}")
    return first, end


def _index(text: str, completions: int) -> int:
    if not _INTEGER(text) or len(text) > 18:
        raise IndexesError(f"cannot convert string to integer for index: {go_quote(text)}")
    index = int(text)
    if index >= completions:
        raise IndexesError(f"too large index: {go_quote(text)}")
    return index
