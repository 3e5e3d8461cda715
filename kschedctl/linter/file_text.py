"""The texts of files, the large ones compressed, and the positions of fields in them."""

import re
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from kschedctl.common.text.tree import YamlNode, comments, json_tree, read_tree
from kschedctl.linter.values import Steps

# The memory of a run: a repository can have hundreds of megabytes of manifests, of which few are reported. Large texts
# are compressed while they are not needed, to a tenth; what is computed from them is cached for the last few only.

#: The size in bytes from which a text is large.
LARGE: Final = 64 * 1024
MOST_RECENT: Final = 4
#: The words that rules search in all texts.
PATCH_WORDS: Final = (b"$patch", b"$retainKeys")
IGNORE_WORDS: Final = (b"ignore.kschedctl.io/", b"kschedctl:")
BRACES: Final = (b"{{", b"{%")
_WORDS: Final = (*PATCH_WORDS, *IGNORE_WORDS, *BRACES)


class Packed(NamedTuple):
    """A large text, compressed."""

    content: bytes
    #: The words of rules that occur in the text.
    words: frozenset[bytes]

    @classmethod
    def of(cls, text: bytes) -> "Packed":
        """Compress a text."""
        return cls(zlib.compress(text, 1), frozenset(word for word in _WORDS if word in text))

    @property
    def text(self) -> bytes:
        return _unpacked(self.content)

    @property
    def lines(self) -> list[str]:
        """The lines, without line ends."""
        return _recent_lines(self.content)


@lru_cache(maxsize=MOST_RECENT)
def _unpacked(content: bytes) -> bytes:
    return zlib.decompress(content)


@lru_cache(maxsize=MOST_RECENT)
def _recent_lines(content: bytes) -> list[str]:
    return lines_of(_unpacked(content))


def lines_of(text: bytes) -> list[str]:
    """Return the lines of a text, without line ends."""
    return [line.rstrip("\r") for line in text.decode(errors="replace").split("\n")]


class DocumentLayout:
    """The text of a document as characters, and the positions of its values and comments."""

    def __init__(self, text: bytes, *, json: bool) -> None:
        self._text = text
        self._json = json

    @cached_property
    def characters(self) -> str:
        return self._text.decode(errors="replace")

    @cached_property
    def tree(self) -> YamlNode | None:
        return json_tree(self.characters) if self._json else read_tree(self._text)

    @cached_property
    def comments(self) -> Sequence[int]:
        import yaml

        try:
            return [comment.start for comment in comments(self.characters)] if "#" in self.characters else ()
        except yaml.YAMLError:
            return ()

    @cached_property
    def newlines(self) -> "array[int]":
        return array("q", (found.start() for found in re.finditer("\n", self.characters)))


# Regions of fields in a text: from line and column to line and column of the value, the key, or the nearest parent.


class Region(NamedTuple):
    """A region of a text."""

    #: The first character; lines and columns are counted from 1.
    line: int
    column: int
    #: The character after the last one.
    end_line: int
    end_column: int

    def down(self, n_lines: int) -> "Region":
        """Return the region moved down by `n_lines` lines."""
        return Region(self.line + n_lines, self.column, self.end_line + n_lines, self.end_column)


def region_in(root: YamlNode, newlines: Sequence[int], steps: Steps, *, key: bool = False) -> Region:
    """Return the region of a field of a YAML or JSON document.

    Args:
        newlines: The offsets of the ends of lines in the text.
        steps: The field. The region of a scalar is its value; the region of a mapping or list is its key, which is
            where people look for it.
        key: True for the region of the field's name, whatever the value is.
    """
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
    start, end = span
    return Region(*_spot(newlines, start), *_spot(newlines, max(start, end)))


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
