"""From a field path to the line and column of its value, by reading the text of one document again.

Nobody keeps places while reading: they cost as much as the values, and few are ever asked for. A path is read along
the data, because it alone does not tell its keys apart: ``requests.nvidia.com/gpu`` and ``requests[nvidia.com/gpu]``
are both written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from kschedctl.findings.location import Position
from kschedctl.text.json_text import skip_blanks
from kschedctl.text.tree import Step, YamlNode, read_tree

_INDEX: Final = re.compile(r"\[(\d+)\]")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NESTING: Final = re.compile(_STRING.pattern + rb"|[\[\]{}]")
_SCALAR: Final = re.compile(rb"[^\s,\]}]+")


class _Node(Protocol):
    """A value in a text."""

    @property
    def start(self) -> int | None:
        """Its offset; ``None`` where nothing is written."""

    def fields(self) -> Mapping[str, tuple[int, _Node]]:
        """Its keys, with their offsets, and values; of keys given twice the last."""

    def items(self) -> Sequence[_Node]:
        """Its items."""


def json_position(
    text: bytes, path: str, *, start: int = 0, inside: Sequence[Step] = (), key: bool = False
) -> Position:
    r"""Where a field of a JSON document stands.

    Parameters
    ----------
    text : bytes
        UTF-8, known to hold a JSON value there.
    path : str
        The field, such as ``spec.containers[0].resources.requests[cpu]``; empty for the value as a whole.
    start : int
        The offset of the document's first character.
    inside : sequence of str or int
        The way from the document to the object whose field it is, such as ``("items", 3)``.
    key : bool
        Whether the field's name is meant, not its value.

    Returns
    -------
    Position
        Of the value; where there is none, of the key of the nearest parent that there is, or of that parent.

    Examples
    --------
    >>> json_position(b'{"a": [1,\n {"b": 2}]}', "a[1].b")
    Position(line=2, column=8)
    """
    at = _offset(_JsonNode(text, start), path, inside, key=key)
    begin = text.rfind(b"\n", 0, at) + 1
    return Position(text.count(b"\n", 0, at) + 1, len(text[begin:at].decode(errors="replace")) + 1)


def yaml_position(
    text: bytes, path: str, *, document: int = 1, inside: Sequence[Step] = (), key: bool = False
) -> Position | None:
    r"""Where a field of a YAML document stands.

    Parameters
    ----------
    text : bytes
        UTF-8.
    path, inside, key
        As for ``json_position``.
    document : int
        The document, from 1, empty ones counted.

    Returns
    -------
    Position or None
        As for ``json_position``; ``None`` where there is no such document, or none that can be read. What an alias
        or ``<<`` repeats stands where it is written.

    Examples
    --------
    >>> yaml_position(b"spec:\n  containers:\n  - name: api\n", "spec.containers[0].name")
    Position(line=3, column=11)
    """
    root = read_tree(text, document, inside)
    return None if root is None else position_in_tree(root, text, path, inside=inside, key=key)


def position_in_tree(
    root: YamlNode, text: bytes, path: str, *, inside: Sequence[Step] = (), key: bool = False
) -> Position:
    """Return the place of a field in a YAML document that has been read; parameters are those of ``json_position``."""
    at, characters = _offset(root, path, inside, key=key), text.decode(errors="replace")
    return Position(characters.count("\n", 0, at) + 1, at - characters.rfind("\n", 0, at))


def _offset(root: _Node, path: str, inside: Sequence[Step], *, key: bool) -> int:
    """Where the field stands, or what comes nearest to it."""
    found, key_at = root, root.start
    for step in inside:
        child = _child(found, step)
        if child is None:
            return _first(key_at, found.start)
        key_at, found = child
    found, key_at, left = _reach(found, key_at, path)
    return _first(key_at, found.start) if left or key else _first(found.start, key_at)


def _first(*offsets: int | None) -> int:
    return next((offset for offset in offsets if offset is not None), 0)


def _child(node: _Node, step: Step) -> tuple[int | None, _Node] | None:
    if isinstance(step, str):
        return node.fields().get(step)
    items = node.items()
    return (items[step].start, items[step]) if step < len(items) else None


def _reach(node: _Node, key: int | None, path: str) -> tuple[_Node, int | None, str]:
    """The value that a path leads to, where its key stands, and what of the path leads no further."""
    best = node, key, path
    for at, child, rest in _branches(node, path) if path else ():
        found = _reach(child, at, rest)
        if not found[2]:
            return found
        best = min(best, found, key=lambda each: len(each[2]))
    return best


def _branches(node: _Node, path: str) -> Iterator[tuple[int | None, _Node, str]]:
    """The fields or the item that a path may go on with: first those that it names as paths mostly do."""
    if (index := _INDEX.match(path)) is not None and (child := _child(node, int(index[1]))) is not None:
        yield *child, path[index.end() :]
    bare = path.removeprefix(".")
    unusual = []
    for key, (at, value) in node.fields().items():
        in_brackets = path.startswith(f"[{key}]")
        rest = path[len(key) + 2 :] if in_brackets else bare[len(key) :]
        if not in_brackets and (not bare.startswith(key) or rest[:1] not in ("", ".", "[")):
            continue
        if in_brackets == (_PLAIN_KEY.fullmatch(key) is None):
            yield at, value, rest
        else:
            unusual.append((at, value, rest))
    yield from unusual


@dataclass(frozen=True, slots=True)
class _JsonNode:
    """A JSON value; what is in it is looked at when it is asked for, and only one level deep."""

    text: bytes
    start: int

    def fields(self) -> dict[str, tuple[int, _Node]]:
        if not self.text.startswith(b"{", self.start):
            return {}
        out: dict[str, tuple[int, _Node]] = {}
        at = skip_blanks(self.text, self.start + 1)
        while (key := _STRING.match(self.text, at)) is not None:
            value = skip_blanks(self.text, skip_blanks(self.text, key.end()) + 1)
            out[json.loads(key[0])] = at, _JsonNode(self.text, value)
            at = self._next(value)
        return out

    def items(self) -> list[_Node]:
        if not self.text.startswith(b"[", self.start):
            return []
        out: list[_Node] = []
        at = skip_blanks(self.text, self.start + 1)
        while not self.text.startswith(b"]", at):
            out.append(_JsonNode(self.text, at))
            at = self._next(at)
        return out

    def _next(self, value: int) -> int:
        """What follows a value in its list or object: the next one, or the closing bracket."""
        at = skip_blanks(self.text, self._end(value))
        return skip_blanks(self.text, at + 1) if self.text.startswith(b",", at) else at

    def _end(self, value: int) -> int:
        if not self.text.startswith((b"{", b"["), value):
            match = _STRING.match(self.text, value) or _SCALAR.match(self.text, value)
            assert match is not None
            return match.end()
        depth = 0
        for token in _NESTING.finditer(self.text, value):
            depth += (token[0] in (b"{", b"[")) - (token[0] in (b"}", b"]"))
            if not depth:
                return token.end()
        return len(self.text)
