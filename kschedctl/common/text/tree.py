"""YAML and JSON values with their start and end offsets, for locating fields and editing the text.

The ordinary parsers record no positions (see ``kschedctl.common.text.positions``), so a document is parsed again. The
offsets
are columns with 29 bytes per value, in the order of the text; a node is made when it is reached.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias, overload

import msgspec

from kschedctl.common.findings import Position
from kschedctl.common.text.patterns import pattern
from kschedctl.common.text.yaml_events import plain_key

#: A step of a path: a key or an index.
Step: TypeAlias = str | int

#: Flags of a value: a mapping, a sequence, written in braces or brackets, without text.
_MAP: Final = 1
_LIST: Final = 2
_FLOW: Final = 4
_EMPTY: Final = 8
_JSON_TOKEN: Final = pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|[^\s,:{}\[\]"]+')
_NO_NAME: Final = -1


class NoTreeError(Exception):
    """A text without a tree: a key is a mapping or a list, or an alias has no anchor."""


class _Columns:
    """The values of a document in the order of the text, each with a number."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        #: The number of the first value after each value and everything in it.
        self.nexts = array("q")
        self.flags = bytearray()
        #: The number of each value's text as a key in ``names``; ``_NO_NAME`` if it is no key.
        self.name_ids = array("i")
        #: The different keys; ``None`` is ``<<``.
        self.names: list[str | None] = []
        self._id_of: dict[str | None, int] = {}
        self.anchors: dict[int, str] = {}
        #: The anchored value of each alias.
        self.aliases: dict[int, int] = {}

    def add(self, start: int, end: int, flags: int) -> int:
        number = len(self.flags)
        self.starts.append(start)
        self.ends.append(end)
        self.nexts.append(number + 1)
        self.flags.append(flags)
        self.name_ids.append(_NO_NAME)
        return number

    def set_name(self, number: int, name: str | None) -> None:
        """Store the text of a value as a key."""
        if name not in self._id_of:
            self._id_of[name] = len(self.names)
            self.names.append(name)
        self.name_ids[number] = self._id_of[name]

    def name(self, number: int) -> str | None:
        """Return the text of a value as a key."""
        found = self.name_ids[self.aliases.get(number, number)]
        return self.names[found] if found != _NO_NAME else ""

    def forget_below(self, number: int) -> None:
        """Remove the values in a value, which is the last one that is still open."""
        for column in (self.starts, self.ends, self.nexts, self.flags, self.name_ids):
            del column[number + 1 :]
        while self.aliases and next(reversed(self.aliases)) > number:
            self.aliases.popitem()

    def inside(self, number: int) -> Iterator[int]:
        """Yield the numbers of the values directly in a value: the items of a sequence, or keys and values in turn."""
        each, end = number + 1, self.nexts[number]
        while each < end:
            yield each
            each = self.nexts[each]


class YamlNode:
    """A value of a YAML or JSON document."""

    def __init__(self, columns: _Columns, number: int) -> None:
        self._columns = columns
        self._number = columns.aliases.get(number, number)

    @property
    def start(self) -> int | None:
        """The offset of the value, in characters; ``None`` if the value is empty."""
        return None if self._flag(_EMPTY) else self._columns.starts[self._number]

    @property
    def end(self) -> int:
        """The offset after the last character of the value.

        For a block it is after its last value, without the blanks and comments that follow.
        """
        return self._columns.ends[self._number]

    @property
    def is_map(self) -> bool:
        """True if the value is a mapping."""
        return self._flag(_MAP)

    @property
    def is_list(self) -> bool:
        """True if the value is a sequence."""
        return self._flag(_LIST)

    @property
    def flow(self) -> bool:
        """True if the value is written in braces or brackets."""
        return self._flag(_FLOW)

    @property
    def anchor(self) -> str | None:
        """The value's anchor."""
        return self._columns.anchors.get(self._number)

    def _flag(self, flag: int) -> bool:
        return bool(self._columns.flags[self._number] & flag)

    @property
    def elements(self) -> Sequence[YamlNode]:
        """The items of a sequence."""
        return _Elements(self._columns, self._items)

    @cached_property
    def _items(self) -> array[int]:
        return array("q", self._columns.inside(self._number) if self.is_list else ())

    @property
    def children(self) -> dict[str, tuple[int, YamlNode]]:
        """The offset and the value of each key of a mapping; of a repeated key, those of the last occurrence."""
        return self._entries.children

    def values_of(self, name: str) -> list[YamlNode]:
        """Return the values of a key of a mapping in the order of the text: several if the key is repeated."""
        columns = self._columns
        numbers = columns.inside(self._number) if self.is_map else iter(())
        pairs = zip(numbers, numbers, strict=True)
        return [YamlNode(columns, number) for key, number in pairs if columns.name(key) == name]

    @property
    def key_ends(self) -> dict[str, int]:
        """The offset after each key of a mapping."""
        return self._entries.key_ends

    @property
    def borrowed(self) -> set[str | int]:
        """The keys merged by ``<<``, the keys whose value is an alias, and the indices of items that are aliases.

        The text of these values is elsewhere in the document.
        """
        return self._entries.borrowed

    @cached_property
    def _entries(self) -> _Entries:
        columns, found = self._columns, _Entries()
        found.borrowed.update(i for i, item in enumerate(self._items) if item in columns.aliases)
        numbers = columns.inside(self._number) if self.is_map else iter(())
        for key, number in zip(numbers, numbers, strict=True):
            name, value = columns.name(key), YamlNode(columns, number)
            if name is not None:
                found.children[name] = columns.starts[key], value
                found.key_ends[name] = columns.ends[key]
                (found.borrowed.add if number in columns.aliases else found.borrowed.discard)(name)
                continue
            # Same precedence as in the parser: ``<<`` overrides keys above it; of several mappings, the first wins.
            for source in [value] if value.is_map else reversed(value.elements):
                found.children.update(source.children)
                found.key_ends.update(source.key_ends)
                found.borrowed.update(source.children)
        return found

    def fields(self) -> Mapping[str, tuple[int, YamlNode]]:
        """Return the offset and value of each key; of a repeated key, the last occurrence."""
        return self.children

    def items(self) -> Sequence[YamlNode]:
        return self.elements


class _Entries(msgspec.Struct, eq=False):
    """The keys and items of a value: ``children``, ``key_ends`` and ``borrowed`` of its node."""

    children: dict[str, tuple[int, YamlNode]] = msgspec.field(default_factory=dict)
    key_ends: dict[str, int] = msgspec.field(default_factory=dict)
    borrowed: set[str | int] = msgspec.field(default_factory=set)


class _Elements(Sequence[YamlNode]):
    """The items of a sequence, made when they are reached."""

    def __init__(self, columns: _Columns, numbers: array[int]) -> None:
        self._columns, self._numbers = columns, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> YamlNode: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[YamlNode]: ...

    def __getitem__(self, index: int | slice) -> YamlNode | Sequence[YamlNode]:
        if isinstance(index, slice):
            return _Elements(self._columns, self._numbers[index])
        return YamlNode(self._columns, self._numbers[index])


def yaml_trees(text: bytes, *, first: int = 1, inside: Sequence[Step] = ()) -> Iterator[YamlNode]:
    r"""Yield the root value of each document of a text.

    Args:
        first: The number of the first document to parse, from 1; empty documents are counted.
        inside: The path to the needed value. Values outside of it are left empty, because they can be large.

    Raises yaml.YAMLError if the text is not valid YAML.
    Raises NoTreeError if a key is a mapping or a list, or an alias has no anchor.

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
                yield _TreeReader(inside).root(next_event)


def read_tree(text: bytes, document: int = 1, inside: Sequence[Step] = ()) -> YamlNode | None:
    """Return the root value of one document; parameters as for ``yaml_trees``; ``None`` if it cannot be parsed."""
    import yaml

    try:
        return next(yaml_trees(text, first=document, inside=inside), None)
    except (yaml.YAMLError, NoTreeError):
        return None


def json_tree(characters: str) -> YamlNode:
    """Return the root value of a well-formed JSON document.

    >>> root = json_tree('{"a": [1, "b"]}')
    >>> [(each.start, each.end) for each in root.children["a"][1].elements]
    [(7, 8), (10, 13)]
    """
    columns = _Columns()
    opened: list[int] = []
    waits_for_key = False
    for token in _JSON_TOKEN.finditer(characters):
        text = token[0]
        if text in ("}", "]"):
            number = opened.pop()
            columns.ends[number], columns.nexts[number] = token.end(), len(columns.flags)
        else:
            flags = _MAP | _FLOW if text == "{" else _LIST | _FLOW if text == "[" else 0
            number = columns.add(token.start(), token.end(), flags)
            if waits_for_key:
                columns.set_name(number, json.loads(text, strict=False) if "\\" in text else text[1:-1])
                waits_for_key = False
                continue
            if flags:
                opened.append(number)
        waits_for_key = bool(opened) and bool(columns.flags[opened[-1]] & _MAP)
    return YamlNode(columns, 0)


class _Open(msgspec.Struct):
    """A mapping or sequence that is being parsed."""

    #: Its number in the columns.
    number: int
    #: The key or index of the current value; ``None`` before a key, and for ``<<``.
    step: Step | None
    #: True if the next value is a key.
    waits_for_key: bool


class _TreeReader:
    """The reader of one document from the events of libyaml."""

    def __init__(self, inside: Sequence[Step]) -> None:
        import yaml

        self._events = yaml.events
        self._inside = inside
        self._columns = _Columns()
        self._anchors: dict[str, int] = {}
        self._opened: list[_Open] = []
        #: The end of the last value, and the number of the last one with an anchor.
        self._last = 0
        self._last_anchor = -1

    def root(self, next_event: Any) -> YamlNode:
        """Parse the document, and return its root value."""
        starts = self._events.MappingStartEvent, self._events.SequenceStartEvent
        ends = self._events.MappingEndEvent, self._events.SequenceEndEvent
        while True:
            event = next_event()
            kind = type(event)
            if kind in starts:
                self._open(event, is_map=kind is starts[0])
                continue
            number = self._close(event) if kind in ends else self._scalar_or_alias(event)
            if not self._opened:
                return YamlNode(self._columns, number)
            parent = self._opened[-1]
            if isinstance(parent.step, int):
                parent.step += 1
            elif parent.waits_for_key:
                parent.step, parent.waits_for_key = self._columns.name(number), False
            else:
                parent.step, parent.waits_for_key = None, True

    def _open(self, event: Any, *, is_map: bool) -> None:
        if self._opened and self._opened[-1].waits_for_key:
            raise NoTreeError
        flags = (_MAP if is_map else _LIST) | (_FLOW if event.flow_style else 0)
        self._last = event.end_mark.index
        number = self._columns.add(event.start_mark.index, self._last, flags)
        if event.anchor is not None:
            self._columns.anchors[number], self._last_anchor = event.anchor, number
        self._opened.append(_Open(number, None if is_map else 0, is_map))

    def _close(self, event: Any) -> int:
        columns, number = self._columns, self._opened.pop().number
        # The parser reports the end of a block only where the next token begins.
        is_flow = columns.flags[number] & _FLOW
        self._last = columns.ends[number] = event.end_mark.index if is_flow else max(self._last, columns.ends[number])
        if (
            self._inside
            and not all(each.step == step for each, step in zip(self._opened, self._inside, strict=False))
            and not (self._last_anchor >= number or any(each.number in self._columns.anchors for each in self._opened))
        ):
            columns.forget_below(number)
        columns.nexts[number] = len(columns.flags)
        if number in columns.anchors:
            self._anchors[columns.anchors[number]] = number
        return number

    def _scalar_or_alias(self, event: Any) -> int:
        columns, at, end = self._columns, event.start_mark.index, event.end_mark.index
        # An empty value has no offset.
        number = columns.add(at, end, 0 if end > at else _EMPTY)
        self._last = end if end > at else self._last
        if type(event) is self._events.AliasEvent:
            if event.anchor not in self._anchors:
                raise NoTreeError
            columns.aliases[number] = self._anchors[event.anchor]
            return number
        if event.anchor is not None:
            columns.anchors[number], self._last_anchor = event.anchor, number
            self._anchors[event.anchor] = number
        if event.anchor is not None or (self._opened and self._opened[-1].waits_for_key):
            columns.set_name(number, key_name(event))
        return number


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


# Repeated keys of JSON and YAML objects. Parsers accept them silently, and the last value wins.

#: Represents the key ``<<``, which may be repeated.
_MERGE: Final = None


class Fields(dict[str, Any]):
    """A JSON object parsed from text, with the names of its repeated keys."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: tuple[str, ...] = ()
        if len(self) < len(pairs):
            names = [name for name, _ in pairs]
            self.repeated = tuple(name for name in self if names.count(name) > 1)


class RepeatedKey(NamedTuple):
    """A key that occurs earlier in the same object.

    Args:
        steps: The path to the key from the document.
        position: The position of the repeated occurrence; ``None`` if unknown.
    """

    steps: tuple[Step, ...]
    position: Position | None = None


def repeated_in_json(text: bytes) -> Iterator[RepeatedKey]:
    r"""Yield the repeated keys of a well-formed JSON value, without their positions.

    >>> [each.steps for each in repeated_in_json(b'{"a": [{"b": 1, "b": 2}]}')]
    [('a', 0, 'b')]
    """
    characters = text.decode(errors="replace")
    # Few texts have a repeated key; the values of the others are not needed.
    is_repeated = False

    def check(pairs: list[tuple[str, Any]]) -> None:
        nonlocal is_repeated
        is_repeated = is_repeated or len(dict(pairs)) < len(pairs)

    _decoded(characters, check)
    if not is_repeated:
        return
    root = _decoded(characters, lambda pairs: found if len(found := dict(pairs)) == len(pairs) else Fields(pairs))
    opened: list[Iterator[tuple[tuple[Step, ...], Any]]] = [iter([((), root)])]
    while opened:
        steps, value = next(opened[-1], ((), None))
        if value is None:
            opened.pop()
            continue
        if isinstance(value, Fields):
            yield from (RepeatedKey((*steps, name)) for name in value.repeated)
        opened.append(_containers_in(value, steps))


def _decoded(characters: str, hook: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    # The decoder of the value rejects invalid text and numbers; only the keys matter here.
    return json.loads(characters, object_pairs_hook=hook, parse_int=str, strict=False)


def _containers_in(value: Any, steps: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Yield the mappings and lists in a mapping or a list, each with its path; empty ones are left out."""
    pairs: Iterable[tuple[Step, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    return (((*steps, step), inner) for step, inner in pairs if inner and isinstance(inner, dict | list))


def repeated_in_yaml(text: bytes, *, last: int | None = None) -> Iterator[tuple[int, RepeatedKey]]:
    r"""Yield the repeated keys of YAML documents, each with its document's number, from 1; stop at a syntax error.

    Args:
        last: The number of the last document to check; by default all documents are checked.

    Keys merged by ``<<`` do not count as repeated, since ``<<`` exists to be overridden.

    >>> list(repeated_in_yaml(b"a: 1\n---\nb:\n- c: 1\n  c: 2\n"))
    [(2, RepeatedKey(steps=('b', 0, 'c'), position=Position(line=5, column=3)))]
    """
    from yaml import YAMLError

    with suppress(YAMLError, _UnreadableError):
        yield from _repeated(text, last)


class _UnreadableError(Exception):
    """A mapping or a list used as a key."""


class _RepeatedKeysOpen(msgspec.Struct):
    """An open mapping or sequence."""

    #: The keys of a mapping read so far; ``None`` for a sequence.
    keys: set[str] | None
    #: The key or index of the next value; ``_MERGE`` for ``<<``, and for an alias used as a key.
    step: Step | None
    #: True if the next event is a key.
    waits_for_key: bool

    def go_on(self) -> None:
        """Advance to the next key or item after a value."""
        self.waits_for_key = self.keys is not None
        if isinstance(self.step, int):
            self.step += 1


def _repeated(text: bytes, last: int | None) -> Iterator[tuple[int, RepeatedKey]]:
    import yaml

    next_event: Any = yaml.CBaseLoader(text).get_event
    number = 0
    opened: list[_RepeatedKeysOpen] = []
    while not isinstance(event := next_event(), yaml.StreamEndEvent):
        if isinstance(event, yaml.DocumentStartEvent):
            number += 1
            if last is not None and number > last:
                return
        elif isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
            _after_value(opened)
        elif opened and opened[-1].waits_for_key:
            if _take_key(opened[-1], event) and all(each.step is not _MERGE for each in opened):
                steps = tuple(each.step for each in opened if each.step is not None)
                yield number, RepeatedKey(steps, Position(event.start_mark.line + 1, event.start_mark.column + 1))
        elif isinstance(event, yaml.CollectionStartEvent):
            is_map = isinstance(event, yaml.MappingStartEvent)
            opened.append(_RepeatedKeysOpen(set(), None, True) if is_map else _RepeatedKeysOpen(None, 0, False))
        elif isinstance(event, yaml.NodeEvent):
            _after_value(opened)


def _take_key(mapping: _RepeatedKeysOpen, event: Any) -> bool:
    """Record the key of a mapping, and report whether the mapping already has it."""
    import yaml

    if isinstance(event, yaml.CollectionStartEvent):
        raise _UnreadableError
    # Aliases are not resolved here.
    name = key_name(event) if isinstance(event, yaml.ScalarEvent) else _MERGE
    mapping.step, mapping.waits_for_key = name, False
    if name is _MERGE or mapping.keys is None:
        return False
    repeated = name in mapping.keys
    mapping.keys.add(name)
    return repeated


def _after_value(opened: list[_RepeatedKeysOpen]) -> None:
    if opened:
        opened[-1].go_on()


# Comments of a YAML text.

_COMMENT: Final = pattern(r"#[^\r\n]*")


class Comment(NamedTuple):
    """A comment: its offset in characters, and its text with the ``#``, without trailing blanks."""

    start: int
    text: str


def comments(text: str) -> list[Comment]:
    r"""Return the comments of a YAML text, in their order.

    Raises yaml.YAMLError if the text is not valid YAML.

    >>> [comment.text for comment in comments("a: 1 # one\nb: '# no comment'\n# end")]
    ['# one', '# end']
    """
    import yaml

    marks = [(token.start_mark.index, token.end_mark.index) for token in yaml.scan(text, Loader=yaml.CBaseLoader)]
    # Between two tokens there are only blanks and comments.
    gaps = ((end, start) for (_, end), (start, _) in pairwise([(0, 0), *marks, (len(text), len(text))]))
    return [
        Comment(found.start(), found[0].rstrip())
        for end, start in gaps
        for found in _COMMENT.finditer(text, end, start)
    ]
