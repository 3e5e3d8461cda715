"""Wrapping of text at spaces. A word is never broken: it may be a name that somebody copies."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len

_WORD: Final = re.compile(r"\s*\S+")


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text; a line exceeds the width only if it consists of a single longer word.

    Parameters
    ----------
    width : int
        The maximum line length, in terminal columns.

    Examples
    --------
    >>> wrapped("fits on 5 of 15 nodes", 10)
    ['fits on 5', 'of 15', 'nodes']
    """
    if cell_len(text) <= width:
        return [text]
    lines: list[str] = []
    line = ""
    for word in _WORD.findall(text):
        if line.strip() and cell_len(line) + cell_len(word) > width:
            lines.append(line)
            line = word.lstrip()
        else:
            line += word
    return [*lines, line]


def longest_word(text: str) -> int:
    """Return the width of the widest word, which is the smallest possible width of a text."""
    return max(map(cell_len, text.split()), default=0)
