"""YAML values with their start and end offsets, for locating fields and editing the text.

The ordinary parser records no positions (see ``kschedctl.text.positions``), so a document is parsed again. JSON is
parsed as YAML here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from kschedctl.text.yaml_scalars import plain_key

#: A step of a path: a key or an index.
Step: TypeAlias = str | int


class NoTreeError(Exception):
    """YAML without a tree: a key is a mapping or a list, or an alias has no anchor."""


class YamlNode(msgspec.Struct, eq=False):
    """A YAML value.

    Attributes
    ----------
    start : int or None
        The offset of the value, in characters; ``None`` if the value is empty.
    end : int
        The offset after the last character of the value; for a block, after its last value, without the blanks
        and comments that follow.
    is_map, is_list : bool
        True if the value is a mapping, or a sequence.
    flow : bool
        True if the value is written in braces or brackets.
    name : str or None
        The value's text as a mapping key; ``None`` for ``<<``.
    anchor : str or None
        The value's anchor.
    key_ends : dict of str to int
        For a mapping: the offset after each key.
    borrowed : set of str
        For a mapping: the keys merged by ``<<`` and the keys whose value is an alias. For a sequence: the indices of
        aliases. The text of these values is elsewhere in the document.
    """

    start: int | None
    end: int = 0
    is_map: bool = False
    is_list: bool = False
    flow: bool = False
    name: str | None = ""
    anchor: str | None = None
    children: dict[str, tuple[int, YamlNode]] = msgspec.field(default_factory=dict)
    elements: list[YamlNode] = msgspec.field(default_factory=list)
    key_ends: dict[str, int] = msgspec.field(default_factory=dict)
    borrowed: set[str | int] = msgspec.field(default_factory=set)
    #: For a mapping that is being parsed: the current key with its start and end offset, or ``None`` before a key.
    key: tuple[str | None, int, int] | None = None

    def fields(self) -> Mapping[str, tuple[int, YamlNode]]:
        """Return the offset and value of each key; of a repeated key, the last occurrence."""
        return self.children

    def items(self) -> Sequence[YamlNode]:
        """Return the items of a sequence."""
        return self.elements

    def take(self, node: YamlNode, at: int, end: int, *, alias: bool) -> None:
        """Add the next key, value or item, with its start and end offset."""
        if not self.is_map:
            if alias:
                self.borrowed.add(len(self.elements))
            self.elements.append(node)
        elif self.key is None:
            self.key = node.name, at, end
        else:
            (name, key_at, key_end), self.key = self.key, None
            if name is not None:
                self.children[name] = key_at, node
                self.key_ends[name] = key_end
                (self.borrowed.add if alias else self.borrowed.discard)(name)
            else:
                # Same precedence as in the parser: ``<<`` overrides keys above it; of several mappings, the first wins.
                for source in [node] if node.is_map else reversed(node.elements):
                    self.children.update(source.children)
                    self.key_ends.update(source.key_ends)
                    self.borrowed.update(source.children)


def yaml_trees(text: bytes, *, first: int = 1, inside: Sequence[Step] = ()) -> Iterator[YamlNode]:
    r"""Yield the root value of each document of a text.

    Parameters
    ----------
    text : bytes
        The YAML text, in UTF-8.
    first : int
        The number of the first document to parse, from 1; empty documents are counted.
    inside : sequence of str or int
        The path to the needed value. Values outside of it are left empty, because they can be large.

    Raises
    ------
    yaml.YAMLError
        If the text is not valid YAML.
    NoTreeError
        If a key is a mapping or a list, or an alias has no anchor.

    Examples
    --------
    >>> [root] = yaml_trees(b"a: {b: 1}\n")
    >>> (key, value), = root.fields().values()
    >>> key, value.start, value.end, value.flow
    (0, 3, 9, True)
    """
    import yaml

    next_event: Any = yaml.CBaseLoader(text).get_event
    number = 0
    while not isinstance(event := next_event(), yaml.StreamEndEvent):
        if isinstance(event, yaml.DocumentStartEvent):
            number += 1
            if number >= first:
                yield _tree(next_event, inside)


def read_tree(text: bytes, document: int = 1, inside: Sequence[Step] = ()) -> YamlNode | None:
    """Return the root value of one document; parameters as for ``yaml_trees``; ``None`` if it cannot be parsed."""
    import yaml

    try:
        return next(yaml_trees(text, first=document, inside=inside), None)
    except (yaml.YAMLError, NoTreeError):
        return None


def _tree(next_event: Any, inside: Sequence[Step]) -> YamlNode:
    """Parse the next document and return its root value."""
    import yaml

    anchors: dict[str, YamlNode] = {}
    opened: list[YamlNode] = []
    last = 0
    while True:
        event = next_event()
        at, end, alias = event.start_mark.index, event.end_mark.index, False
        if isinstance(event, yaml.CollectionStartEvent):
            if opened and opened[-1].is_map and opened[-1].key is None:
                raise NoTreeError
            is_map = isinstance(event, yaml.MappingStartEvent)
            opened.append(YamlNode(at, end, is_map, not is_map, bool(event.flow_style), anchor=event.anchor))
            last = end
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            node = opened.pop()
            # The parser reports the end of a block only where the next token begins.
            last = node.end = end if node.flow else max(last, node.end)
            if not _leads_on(opened, inside) and not any(each.anchor for each in (node, *opened)):
                node.children, node.elements = {}, []
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise NoTreeError
            node, alias, last = anchors[event.anchor], True, end
        else:
            # An empty value has no offset.
            node = YamlNode(at if end > at else None, end, name=key_name(event), anchor=event.anchor)
            last = end if end > at else last
        if node.anchor is not None:
            anchors[node.anchor] = node
        if not opened:
            return node
        opened[-1].take(node, at, end, alias=alias)


def key_name(event: Any) -> str | None:
    """Return the text of a YAML scalar used as a key, as kubectl parses it; ``None`` for ``<<``."""
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text == "<<":
        return None
    try:
        return plain_key(text)
    except ValueError:
        return text


def _leads_on(opened: Sequence[YamlNode], inside: Sequence[Step]) -> bool:
    """Report whether the next value of the innermost open container is on the path `inside`, or below its end."""
    for node, step in zip(opened, inside, strict=False):
        here = node.key[0] if node.key is not None else len(node.elements)
        if here != step:
            return False
    return True
