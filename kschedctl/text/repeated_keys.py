"""Keys that an object has more than once, which readers of JSON and YAML let pass: the last of them wins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
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


def _repeated(text: bytes, last: int | None) -> Iterator[tuple[int, RepeatedKey]]:
    import yaml

    next_event: Any = yaml.CBaseLoader(text).get_event
    number = 0
    #: Per open mapping its keys, per open sequence ``None``; and the way to what comes next in each.
    opened: list[dict[str, None] | None] = []
    steps: list[Step | None] = []
    waits_for_key: list[bool] = []
    while not isinstance(event := next_event(), yaml.StreamEndEvent):
        if isinstance(event, yaml.DocumentStartEvent):
            number += 1
            if last is not None and number > last:
                return
            continue
        if isinstance(event, yaml.DocumentEndEvent | yaml.StreamStartEvent):
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop(), steps.pop(), waits_for_key.pop()
        elif opened and (keys := opened[-1]) is not None and waits_for_key[-1]:
            if isinstance(event, yaml.CollectionStartEvent):
                raise _UnreadableError
            # An alias in place of a key is taken for no key: what it stands for is not known here.
            name = key_name(event) if isinstance(event, yaml.ScalarEvent) else _MERGE
            steps[-1], waits_for_key[-1] = name, False
            if name is not _MERGE and name in keys and _MERGE not in steps:
                mark = event.start_mark
                way = tuple(step for step in steps if step is not None)
                yield number, RepeatedKey(way, Position(mark.line + 1, mark.column + 1))
            if name is not _MERGE:
                keys[name] = None
            continue
        elif isinstance(event, yaml.CollectionStartEvent):
            is_map = isinstance(event, yaml.MappingStartEvent)
            opened.append({} if is_map else None)
            steps.append(None if is_map else 0)
            waits_for_key.append(is_map)
            continue
        _after_value(opened, steps, waits_for_key)


def _after_value(opened: list[dict[str, None] | None], steps: list[Step | None], waits_for_key: list[bool]) -> None:
    """Go on to the next key or item of what is open."""
    if not opened:
        return
    waits_for_key[-1] = opened[-1] is not None
    step = steps[-1]
    if isinstance(step, int):
        steps[-1] = step + 1
