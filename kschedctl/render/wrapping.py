"""Wrapping of text at spaces. A name is never broken, as somebody may copy it."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len

_WORD: Final = re.compile(r"\s*\S+")
#: A label, taint or address, which may be broken after these characters: it is no name of an object.
_COMPOUND: Final = re.compile(r"\s*\S*[=:]\w\S*")
_PART: Final = re.compile(r"\s*[^\s/=:]*(?:[/=:]+|$)")


def wrapped(text: str, width: int, *, breaks_labels: bool = False) -> list[str]:
    """Return the lines of a text; a line exceeds the width only if it consists of a single longer word.

    Parameters
    ----------
    width : int
        The maximum line length, in terminal columns.
    breaks_labels : bool
        True to break labels and taints that are longer than a line, after ``/``, ``=`` and ``:``.

    Examples
    --------
    >>> wrapped("fits on 5 of 15 nodes", 10)
    ['fits on 5', 'of 15', 'nodes']
    >>> wrapped("taint nvidia.com/gpu=present:NoSchedule", 22, breaks_labels=True)
    ['taint nvidia.com/gpu=', 'present:NoSchedule']
    """
    if cell_len(text) <= width:
        return [text]
    lines: list[str] = []
    line = ""
    for word in _WORD.findall(text):
        for part in _parts(word) if breaks_labels and cell_len(word.strip()) > width else (word,):
            if line.strip() and cell_len(line) + cell_len(part) > width:
                lines.append(line)
                line = part.lstrip()
            else:
                line += part
    return [*lines, line]


def longest_word(text: str, *, breaks_labels: bool = False) -> int:
    """Return the width of the widest word, which is the smallest possible width of a text."""
    words = text.split()
    if breaks_labels:
        words = [part for word in words for part in _parts(word)]
    return max(map(cell_len, words), default=0)


def _parts(word: str) -> list[str]:
    return _PART.findall(word) if _COMPOUND.fullmatch(word) else [word]
