"""From a field path to the line and column of its value, by reading the text of one document again.

Nobody keeps places while reading: they cost as much as the values, and few are ever asked for. A path is read along
the data, because it alone does not tell its keys apart: ``requests.nvidia.com/gpu`` and ``requests[nvidia.com/gpu]``
are both written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from kschedctl.findings.location import Position
from kschedctl.text.json_text import skip_blanks
from kschedctl.text.yaml_scalars import plain_key

#: A key or index.
Step: TypeAlias = str | int

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
    import yaml

    try:
        root = _yaml_tree(text, document, inside)
    except (yaml.YAMLError, _NoTreeError):
        return None
    if root is None:
        return None
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


class _NoTreeError(Exception):
    """The YAML is none that is read."""


@dataclass(slots=True, eq=False)
class _YamlNode:
    """A YAML value.

    Parameters
    ----------
    start : int or None
        Its offset.
    is_map : bool
        Whether it is a mapping.
    name : str or None
        What it is as a key; ``None`` for ``<<``.
    anchor : str or None
        Its anchor.
    """

    start: int | None
    is_map: bool = False
    name: str | None = ""
    anchor: str | None = None
    children: dict[str, tuple[int, _Node]] = field(default_factory=dict)
    elements: list[_Node] = field(default_factory=list)
    #: Of a mapping that is being read: the key whose value comes next, and where it stands.
    key: tuple[str | None, int] | None = None

    def fields(self) -> dict[str, tuple[int, _Node]]:
        return self.children

    def items(self) -> list[_Node]:
        return self.elements

    def take(self, node: _YamlNode, at: int) -> None:
        """Take in what comes next, and stands there: a key, or a value."""
        if not self.is_map:
            self.elements.append(node)
        elif self.key is None:
            self.key = node.name, at
        else:
            (name, key_at), self.key = self.key, None
            if name is not None:
                self.children[name] = key_at, node
            else:
                # As it is read: overrides keys above it, and of several mappings the earlier take precedence.
                for source in [node] if node.is_map else reversed(node.elements):
                    self.children.update(source.fields())


def _yaml_tree(text: bytes, number: int, inside: Sequence[Step]) -> _YamlNode | None:
    """The values of a document; those beside the way that is wanted are left empty, for there may be many."""
    import yaml

    next_event: Any = yaml.CBaseLoader(text).get_event
    while number:
        event = next_event()
        if isinstance(event, yaml.StreamEndEvent):
            return None
        number -= isinstance(event, yaml.DocumentStartEvent)
    anchors: dict[str, _YamlNode] = {}
    opened: list[_YamlNode] = []
    while True:
        event = next_event()
        at = event.start_mark.index
        if isinstance(event, yaml.CollectionStartEvent):
            if opened and opened[-1].is_map and opened[-1].key is None:
                raise _NoTreeError
            opened.append(_YamlNode(at, isinstance(event, yaml.MappingStartEvent), anchor=event.anchor))
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            node = opened.pop()
            if not _leads_on(opened, inside) and not any(each.anchor for each in (node, *opened)):
                node.children, node.elements = {}, []
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise _NoTreeError
            node = anchors[event.anchor]
        else:
            # An empty value stands nowhere.
            node = _YamlNode(at if event.end_mark.index > at else None, name=key_name(event), anchor=event.anchor)
        if node.anchor is not None:
            anchors[node.anchor] = node
        if not opened:
            return node
        opened[-1].take(node, at)


def key_name(event: Any) -> str | None:
    """What a scalar of YAML is as a key, as it is read; ``None`` for ``<<``."""
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text == "<<":
        return None
    try:
        return plain_key(text)
    except ValueError:
        return text


def _leads_on(opened: Sequence[_YamlNode], inside: Sequence[Step]) -> bool:
    """Whether the value that comes next in the innermost of these is on the way, or beyond its end."""
    for node, step in zip(opened, inside, strict=False):
        here = node.key[0] if node.key is not None else len(node.elements)
        if here != step:
            return False
    return True
