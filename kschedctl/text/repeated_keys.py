"""Keys that an object has more than once, which readers of JSON and YAML let pass: the last of them wins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kschedctl.findings.location import Position
from kschedctl.text.tree import Step, key_name

#: The key ``<<``, which may be given more than once.
_MERGE: Final = None


class Fields(dict[str, Any]):
    """A JSON object as read from text, which remembers the keys that were written more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: tuple[str, ...] = ()
        if len(self) < len(pairs):
            names = [name for name, _ in pairs]
            self.repeated = tuple(name for name in self if names.count(name) > 1)


class RepeatedKey(NamedTuple):
    """A key that its object has already.

    Parameters
    ----------
    steps : tuple of str or int
        The way to it from the document.
    position : Position or None
        Where it stands the second time; ``None`` where that is not known.
    """

    steps: tuple[Step, ...]
    position: Position | None = None


def repeated_in_json(text: bytes) -> Iterator[RepeatedKey]:
    r"""The repeated keys of a JSON value, known to be well-formed; without their positions.

    Examples
    --------
    >>> [each.steps for each in repeated_in_json(b'{"a": [{"b": 1, "b": 2}]}')]
    [('a', 0, 'b')]
    """
    # Whoever reads a value refuses it where it is no text, or no number that can be; only the keys matter here.
    root = json.loads(text.decode(errors="replace"), object_pairs_hook=Fields, parse_int=str, strict=False)
    waiting: list[tuple[tuple[Step, ...], Any]] = [((), root)]
    while waiting:
        steps, value = waiting.pop()
        if isinstance(value, Fields):
            yield from (RepeatedKey((*steps, name)) for name in value.repeated)
            waiting += reversed([((*steps, name), child) for name, child in value.items()])
        elif isinstance(value, list):
            waiting += reversed([((*steps, index), child) for index, child in enumerate(value)])


def repeated_in_yaml(text: bytes, *, last: int | None = None) -> Iterator[tuple[int, RepeatedKey]]:
    r"""The repeated keys of YAML documents, each with its document, from 1; nothing beyond what cannot be read.

    Parameters
    ----------
    text : bytes
        UTF-8.
    last : int, optional
        The last document that is looked at.

    Notes
    -----
    Keys that ``<<`` merges are repeated by none: it is there to be overridden.

    Examples
    --------
    >>> list(repeated_in_yaml(b"a: 1\n---\nb:\n- c: 1\n  c: 2\n"))
    [(2, RepeatedKey(steps=('b', 0, 'c'), position=Position(line=5, column=3)))]
    """
    from yaml import YAMLError

    with suppress(YAMLError, _UnreadableError):
        yield from _repeated(text, last)


class _UnreadableError(Exception):
    """A key is a mapping or a list."""


@dataclass(slots=True)
class _Open:
    """An open mapping or sequence.

    Attributes
    ----------
    keys : set of str, optional
        The keys of a mapping so far; ``None`` for a sequence.
    step : str, int or None
        The key or index of the value that comes next; ``_MERGE`` for ``<<``, and for an alias in place of a key.
    waits_for_key : bool
        Whether a key comes next.
    """

    keys: set[str] | None
    step: Step | None
    waits_for_key: bool

    def go_on(self) -> None:
        """Go on to the next key or item, behind a value."""
        self.waits_for_key = self.keys is not None
        if isinstance(self.step, int):
            self.step += 1


def _repeated(text: bytes, last: int | None) -> Iterator[tuple[int, RepeatedKey]]:
    import yaml

    next_event: Any = yaml.CBaseLoader(text).get_event
    number = 0
    opened: list[_Open] = []
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
            opened.append(_Open(set(), None, True) if is_map else _Open(None, 0, False))
        elif isinstance(event, yaml.NodeEvent):
            _after_value(opened)


def _take_key(mapping: _Open, event: Any) -> bool:
    """Take the key of a mapping, and return whether the mapping has it already."""
    import yaml

    if isinstance(event, yaml.CollectionStartEvent):
        raise _UnreadableError
    # What an alias stands for is not known here.
    name = key_name(event) if isinstance(event, yaml.ScalarEvent) else _MERGE
    mapping.step, mapping.waits_for_key = name, False
    if name is _MERGE or mapping.keys is None:
        return False
    repeated = name in mapping.keys
    mapping.keys.add(name)
    return repeated


def _after_value(opened: list[_Open]) -> None:
    if opened:
        opened[-1].go_on()
