"""Text broken at spaces where a line ends. A word is never broken: it may be a name that somebody copies."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len

_WORD: Final = re.compile(r"\s*\S+")


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text; one is longer than the width only where it has a single word that is.

    Parameters
    ----------
    width : int
        How long a line may be, in columns of a terminal.

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
    """How wide the widest word is, which is the least room that a text needs."""
    return max(map(cell_len, text.split()), default=0)
