"""Repeated keys of JSON and YAML objects. Parsers accept them silently, and the last value wins."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from kschedctl.common.findings.location import Position
from kschedctl.common.text.tree import Step, key_name

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

    Parameters
    ----------
    steps : tuple of str or int
        The path to the key from the document.
    position : Position or None
        The position of the repeated occurrence; ``None`` if unknown.
    """

    steps: tuple[Step, ...]
    position: Position | None = None


def repeated_in_json(text: bytes) -> Iterator[RepeatedKey]:
    r"""Yield the repeated keys of a well-formed JSON value, without their positions.

    Examples
    --------
    >>> [each.steps for each in repeated_in_json(b'{"a": [{"b": 1, "b": 2}]}')]
    [('a', 0, 'b')]
    """
    characters = text.decode(errors="replace")
    # Few texts have a repeated key; the values of the others are not needed.
    if not _has_repeated(characters):
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


def _has_repeated(characters: str) -> bool:
    is_repeated = False

    def check(pairs: list[tuple[str, Any]]) -> None:
        nonlocal is_repeated
        is_repeated = is_repeated or len(dict(pairs)) < len(pairs)

    _decoded(characters, check)
    return is_repeated


def _decoded(characters: str, hook: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    # The decoder of the value rejects invalid text and numbers; only the keys matter here.
    return json.loads(characters, object_pairs_hook=hook, parse_int=str, strict=False)


def _containers_in(value: Any, steps: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Yield the mappings and lists in a mapping or a list, each with its path; empty ones are left out."""
    pairs: Iterable[tuple[Step, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    return (((*steps, step), inner) for step, inner in pairs if inner and isinstance(inner, dict | list))


def repeated_in_yaml(text: bytes, *, last: int | None = None) -> Iterator[tuple[int, RepeatedKey]]:
    r"""Yield the repeated keys of YAML documents, each with its document's number, from 1; stop at a syntax error.

    Parameters
    ----------
    text : bytes
        The YAML text, in UTF-8.
    last : int, optional
        The number of the last document to check; by default all documents are checked.

    Notes
    -----
    Keys merged by ``<<`` do not count as repeated, since ``<<`` exists to be overridden.

    Examples
    --------
    >>> list(repeated_in_yaml(b"a: 1\n---\nb:\n- c: 1\n  c: 2\n"))
    [(2, RepeatedKey(steps=('b', 0, 'c'), position=Position(line=5, column=3)))]
    """
    from yaml import YAMLError

    with suppress(YAMLError, _UnreadableError):
        yield from _repeated(text, last)


class _UnreadableError(Exception):
    """A mapping or a list used as a key."""


class _Open(msgspec.Struct):
    """An open mapping or sequence.

    Attributes
    ----------
    keys : set of str, optional
        The keys of a mapping read so far; ``None`` for a sequence.
    step : str, int or None
        The key or index of the next value; ``_MERGE`` for ``<<``, and for an alias used as a key.
    waits_for_key : bool
        True if the next event is a key.
    """

    keys: set[str] | None
    step: Step | None
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


def _after_value(opened: list[_Open]) -> None:
    if opened:
        opened[-1].go_on()
