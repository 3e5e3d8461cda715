"""The line and column of a field in a document, found by parsing the document again.

Parsers do not record positions: positions need as much memory as the values, and few are ever queried. A field path
is matched against the data, because the path alone is ambiguous: ``requests.nvidia.com/gpu`` and
``requests[nvidia.com/gpu]`` are both used.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from kschedctl.common.findings import Position
from kschedctl.common.text.json_text import skip_blanks
from kschedctl.common.text.patterns import pattern
from kschedctl.common.text.tree import Step, YamlNode, read_tree

_INDEX: Final = pattern(r"\[(\d+)\]")
_PLAIN_KEY: Final = pattern(r"[A-Za-z0-9_-]+")
_QUOTED: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_STRING: Final = pattern(_QUOTED)
_NESTING: Final = pattern(_QUOTED + rb"|[\[\]{}]")
_SCALAR: Final = pattern(rb"[^\s,\]}]+")


class _Node(Protocol):
    """A value in a text, with its position."""

    @property
    def start(self) -> int | None:
        """The offset of the value; ``None`` if it is empty, as after a YAML key without a value."""

    def fields(self) -> "Mapping[str, tuple[int, _Node]]":
        """Return the offset and value of each key; of a repeated key, the last occurrence."""

    def items(self) -> "Sequence[_Node]":
        """Return the items of a list."""


def json_position(
    text: bytes, path: str, *, start: int = 0, inside: Sequence[Step] = (), key: bool = False
) -> Position:
    r"""Return the position of a field in a JSON document.

    Args:
        text: UTF-8 text with a valid JSON value at `start`.
        path: The field, such as ``spec.containers[0].resources.requests[cpu]``; empty for the whole value.
        start: The offset of the document's first character.
        inside: The path from the document to the object that contains the field, such as ``("items", 3)``.
        key: True for the position of the field's name, False for that of its value.

    Returns: The position of the value. If the field does not exist, the position of the key of its nearest existing
        parent, or of the parent's value if the parent has no key.

    >>> json_position(b'{"a": [1,\n {"b": 2}]}', "a[1].b")
    Position(line=2, column=8)
    """
    return _position(text, _offset(_JsonNode(text, start), path, inside, key=key))


def _position(text: bytes, at: int) -> Position:
    begin = text.rfind(b"\n", 0, at) + 1
    return Position(text.count(b"\n", 0, at) + 1, len(text[begin:at].decode(errors="replace")) + 1)


def nesting_position(text: bytes, most: int) -> Position:
    r"""Return the position of the first value in a JSON document that is in more than `most` containers.

    >>> nesting_position(b'{"a":\n [{"b": "]"}]}', 2)
    Position(line=2, column=3)
    """
    depth = 0
    for token in _NESTING.finditer(text):
        depth += (token[0] in (b"{", b"[")) - (token[0] in (b"}", b"]"))
        if depth > most:
            return _position(text, token.start())
    raise ValueError(f"the document has at most {most} levels")


def yaml_position(
    text: bytes, path: str, *, document: int = 1, inside: Sequence[Step] = (), key: bool = False
) -> Position | None:
    r"""Return the position of a field in a YAML document.

    Args:
        path, inside, key: The same parameters as those of ``json_position``.
        document: The document's number, from 1; empty documents are counted.

    Returns: The position, as returned by ``json_position``; ``None`` if the document does not exist or cannot be
        parsed. Values repeated by an alias or ``<<`` have the position of the original.

    >>> yaml_position(b"spec:\n  containers:\n  - name: api\n", "spec.containers[0].name")
    Position(line=3, column=11)
    """
    root = read_tree(text, document, inside)
    return None if root is None else position_in_tree(root, text, path, inside=inside, key=key)


def position_in_tree(
    root: YamlNode, text: bytes, path: str, *, inside: Sequence[Step] = (), key: bool = False
) -> Position:
    """Return the position of a field in a parsed YAML document; parameters are those of ``json_position``."""
    at, characters = _offset(root, path, inside, key=key), text.decode(errors="replace")
    return Position(characters.count("\n", 0, at) + 1, at - characters.rfind("\n", 0, at))


def _offset(root: _Node, path: str, inside: Sequence[Step], *, key: bool) -> int:
    """Return the offset of the field, or of its nearest existing parent."""
    found, key_at = root, root.start
    for step in inside:
        child = _child(found, step)
        if child is None:
            return _first(key_at, found.start)
        key_at, found = child
    found, key_at, left = _deepest_value(found, key_at, path)
    return _first(key_at, found.start) if left or key else _first(found.start, key_at)


def _first(*offsets: int | None) -> int:
    return next((offset for offset in offsets if offset is not None), 0)


def _child(node: _Node, step: Step) -> tuple[int | None, _Node] | None:
    if isinstance(step, str):
        return node.fields().get(step)
    items = node.items()
    return (items[step].start, items[step]) if step < len(items) else None


def _deepest_value(node: _Node, key: int | None, path: str) -> tuple[_Node, int | None, str]:
    """Return the deepest value that a path leads to, the offset of its key, and the unmatched rest of the path."""
    best = node, key, path
    for at, child, rest in _branches(node, path) if path else ():
        found = _deepest_value(child, at, rest)
        if not found[2]:
            return found
        best = min(best, found, key=lambda each: len(each[2]))
    return best


def _branches(node: _Node, path: str) -> Iterator[tuple[int | None, _Node, str]]:
    """Yield the fields or the item that match the start of a path: the usual notation of each key first."""
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


class _JsonNode(msgspec.Struct, frozen=True):
    """A JSON value, parsed on demand and only one level deep."""

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
        """Return the offset of the next value in the list or object, or of its closing bracket."""
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
