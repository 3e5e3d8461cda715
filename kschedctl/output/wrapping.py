"""Wrapping of text at spaces. A name is never broken, as somebody may copy it."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len

_WORD: Final = re.compile(r"\s*\S+")
#: Labels, taints and expressions, and the parts between which they may be broken: they are no names of objects.
_LABEL: Final = re.compile(r"\s*\S*[=:]\w\S*")
_PART_OF_LABEL: Final = re.compile(r"\s*[^\s/=:]*(?:[/=:]+|$)")
_EXPRESSION: Final = re.compile(r"\s*\S*(?:\w[(\[]|\",\")\S*")
_PART_OF_EXPRESSION: Final = re.compile(r"\s*[^\s,(\]]*(?:[,(\]]+|$)")


def wrapped(text: str, width: int, *, breaks_labels: bool = False) -> list[str]:
    """Return the lines of a text; a line exceeds the width only if it consists of a single longer word.

    Parameters
    ----------
    width : int
        The maximum line length, in terminal columns.
    breaks_labels : bool
        True to break labels and taints that are longer than a line after ``/``, ``=`` and ``:``, and CEL expressions
        and JSON after commas and brackets.

    Examples
    --------
    >>> wrapped("fits on 5 of 15 nodes", 10)
    ['fits on 5', 'of 15', 'nodes']
    >>> wrapped("taint nvidia.com/gpu=present:NoSchedule", 22, breaks_labels=True)
    ['taint nvidia.com/gpu=', 'present:NoSchedule']
    >>> wrapped('device.capacity["x"].compareTo(quantity("80Gi"))', 32, breaks_labels=True)
    ['device.capacity["x"].compareTo(', 'quantity("80Gi"))']
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
    if _EXPRESSION.fullmatch(word):
        return _PART_OF_EXPRESSION.findall(word)
    return _PART_OF_LABEL.findall(word) if _LABEL.fullmatch(word) else [word]
