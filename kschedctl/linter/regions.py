"""Regions of fields in a text: from line and column to line and column of the value, the key, or the nearest parent."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from kschedctl.common.text.tree import YamlNode
from kschedctl.linter.values import Steps


class Region(NamedTuple):
    """A region of a text."""

    #: The first character; lines and columns are counted from 1.
    line: int
    column: int
    #: The character after the last one.
    end_line: int
    end_column: int

    def down(self, n_lines: int) -> Region:
        """Return the region moved down by `n_lines` lines."""
        return Region(self.line + n_lines, self.column, self.end_line + n_lines, self.end_column)


def region_in(root: YamlNode, newlines: Sequence[int], steps: Steps, *, key: bool = False) -> Region:
    """Return the region of a field of a YAML or JSON document.

    Parameters
    ----------
    root : YamlNode
        The document.
    newlines : sequence of int
        The offsets of the ends of lines in the text.
    steps : Steps
        The field. The region of a scalar is its value; the region of a mapping or list is its key, which is where
        people look for it.
    key : bool
        True for the region of the field's name, whatever the value is.
    """
    start, end = _span(root, steps, key=key)
    return Region(*_spot(newlines, start), *_spot(newlines, max(start, end)))


def _span(root: YamlNode, steps: Steps, *, key: bool) -> tuple[int, int]:
    node, span = root, _first_line(root)
    for index, step in enumerate(steps):
        last = index == len(steps) - 1
        if isinstance(step, str):
            found = node.children.get(step)
            if found is None:
                break
            key_at, node_at = found
            key_span = key_at, node.key_ends.get(step, key_at)
            by_key = (key and last) or node_at.start is None or (node_at.is_map or node_at.is_list)
            span = key_span if by_key else (node_at.start or key_at, node_at.end)
            node = node_at
        else:
            if step >= len(node.elements):
                break
            node = node.elements[step]
            span = _first_line(node)
    return span


def _first_line(node: YamlNode) -> tuple[int, int]:
    """Return the span of a value's beginning: the first key of a block mapping, all of a scalar, else one character."""
    start = node.start or 0
    if node.is_map and not node.flow and node.children:
        first = min(node.children, key=lambda name: node.children[name][0])
        return start, node.key_ends.get(first, start)
    if node.is_map or node.is_list:
        return start, start + 1
    return start, node.end


def _spot(newlines: Sequence[int], offset: int) -> tuple[int, int]:
    line = bisect_left(newlines, offset)
    return line + 1, offset - (newlines[line - 1] if line else -1)
