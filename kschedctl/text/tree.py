"""The values of a YAML text with where each begins and ends: read when somebody asks for places, or edits the text.

Reading keeps no places (``kschedctl.text.positions`` says why); this reads a document again. JSON is YAML here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kschedctl.text.yaml_scalars import plain_key

#: A key or index.
Step: TypeAlias = str | int


class NoTreeError(Exception):
    """The YAML is none that is read."""


@dataclass(slots=True, eq=False)
class YamlNode:
    """A YAML value.

    Attributes
    ----------
    start : int or None
        Its offset, in characters; ``None`` where nothing is written.
    end : int
        The offset behind its last character; behind a block's last value, not the blanks and comments after it.
    is_map, is_list : bool
        Whether it is a mapping, or a sequence.
    flow : bool
        Whether it is written in braces or brackets.
    name : str or None
        What it is as a key; ``None`` for ``<<``.
    anchor : str or None
        Its anchor.
    key_ends : dict of str to int
        Of a mapping: the offset behind each key.
    borrowed : set of str
        Of a mapping: the keys that ``<<`` brought in, and those whose value is an alias: they are written elsewhere.
    """

    start: int | None
    end: int = 0
    is_map: bool = False
    is_list: bool = False
    flow: bool = False
    name: str | None = ""
    anchor: str | None = None
    children: dict[str, tuple[int, YamlNode]] = field(default_factory=dict)
    elements: list[YamlNode] = field(default_factory=list)
    key_ends: dict[str, int] = field(default_factory=dict)
    borrowed: set[str | int] = field(default_factory=set)
    #: Of a mapping that is being read: the key whose value comes next, where it stands and where it ends.
    key: tuple[str | None, int, int] | None = None

    def fields(self) -> Mapping[str, tuple[int, YamlNode]]:
        """Its keys, with their offsets, and values; of keys given twice the last."""
        return self.children

    def items(self) -> Sequence[YamlNode]:
        """Its items."""
        return self.elements

    def take(self, node: YamlNode, at: int, end: int, *, alias: bool) -> None:
        """Take in what comes next, and stands there: a key, or a value."""
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
                # As it is read: overrides keys above it, and of several mappings the earlier take precedence.
                for source in [node] if node.is_map else reversed(node.elements):
                    self.children.update(source.children)
                    self.key_ends.update(source.key_ends)
                    self.borrowed.update(source.children)


def yaml_trees(text: bytes, *, first: int = 1, inside: Sequence[Step] = ()) -> Iterator[YamlNode]:
    r"""The values of a text's documents.

    Parameters
    ----------
    text : bytes
        UTF-8.
    first : int
        The document to begin with, from 1, empty ones counted.
    inside : sequence of str or int
        The way to what is wanted; what stands beside it is left empty, for there may be much.

    Raises
    ------
    yaml.YAMLError
        Where it is no YAML.
    NoTreeError
        Where a key is a mapping or a list, or an alias stands for nothing.

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
    """Return the values of one document, parameters as for ``yaml_trees``; ``None`` where it cannot be read."""
    import yaml

    try:
        return next(yaml_trees(text, first=document, inside=inside), None)
    except (yaml.YAMLError, NoTreeError):
        return None


def _tree(next_event: Any, inside: Sequence[Step]) -> YamlNode:
    """The values of the document that comes next."""
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
            # A block's end is only seen where something else begins.
            last = node.end = end if node.flow else max(last, node.end)
            if not _leads_on(opened, inside) and not any(each.anchor for each in (node, *opened)):
                node.children, node.elements = {}, []
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise NoTreeError
            node, alias, last = anchors[event.anchor], True, end
        else:
            # An empty value stands nowhere.
            node = YamlNode(at if end > at else None, end, name=key_name(event), anchor=event.anchor)
            last = end if end > at else last
        if node.anchor is not None:
            anchors[node.anchor] = node
        if not opened:
            return node
        opened[-1].take(node, at, end, alias=alias)


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


def _leads_on(opened: Sequence[YamlNode], inside: Sequence[Step]) -> bool:
    """Whether the value that comes next in the innermost of these is on the way, or beyond its end."""
    for node, step in zip(opened, inside, strict=False):
        here = node.key[0] if node.key is not None else len(node.elements)
        if here != step:
            return False
    return True
