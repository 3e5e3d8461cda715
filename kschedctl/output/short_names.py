"""Shortened names in tables: the digits of UUIDs, then the text that the names of a column have in common.

``*`` stands for the omitted text, as in a pattern of ``--cordon``: ``pvc-0b1c2d3e*`` for a volume, and ``*x7k2`` for a
node in a sentence. What the names of a column have in common is said once, above the table:
``node: gke-prod-default-pool-1a2b3c4d-*``. A column with nothing but names shows the rest without the star.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Final

import msgspec

from kschedctl.output.column import Column

#: The separators at which names are cut, and the shortest shared text that is worth a line, in characters.
_SEPARATORS: Final = "-./:"
_LEAST_IN_COMMON: Final = 4
_UUID: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
#: The lengths to which UUIDs are cut; the first at which all of a table differ is used.
_UUID_LENGTHS: Final = (8, 13, 18, 23)
#: A long name in a sentence: in lower case, with a digit, and with a namespace or not.
_WORD: Final = re.compile(r"[^\s,;()\"']+")
_NAME: Final = re.compile(r"(?=.*[0-9])(?:[a-z0-9][-a-z0-9]*/)?[a-z0-9][-a-z0-9.]*[a-z0-9]")
_LEAST_NAME: Final = 16
#: The cell of a column of names that has none.
_NO_NAME: Final = "-"


#: The prefix and suffix of names that are omitted.
_Cut = tuple[str, str]


class Shortened(msgspec.Struct, frozen=True):
    """Columns with shortened names.

    Attributes
    ----------
    notes : tuple of str
        The lines above the table that say what was cut.
    cut : int
        The length of the text that was cut last; 0 for the unchanged columns.
    """

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    cut: int = 0


def shortenings(columns: Sequence[Column], *, uuids: bool) -> Iterator[Shortened]:
    """Yield the columns unchanged, then with one more kind of names shortened each time, the longest cut first.

    Parameters
    ----------
    uuids : bool
        True to shorten UUIDs, which nothing in the table completes.
    """
    now = Shortened(tuple(columns))
    yield now
    if uuids and (short := _with_short_uuids(now)) is not None:
        now = short
        yield now
    found = {cut for column in now.columns if (cut := _in_common(column)) is not None}
    known = sorted(found, key=lambda cut: (-len("".join(cut)), cut))
    by_cut: dict[tuple[str, str], list[int]] = {}
    for i, column in enumerate(now.columns):
        # What the names of another column share is often what most names of this column share, or its only name has.
        if fitting := [cut for cut in known if any(_rest(name, cut) for name in _names(column))]:
            by_cut.setdefault(min(fitting, key=partial(_left, column)), []).append(i)
    for cut in filter(by_cut.__contains__, known):
        changed = list(now.columns)
        alone = all(_is_alone(changed[i], cut) for i in by_cut[cut])
        for i in by_cut[cut]:
            changed[i] = _without(changed[i], cut, alone=alone)
        note = f"{', '.join(columns[i].title for i in by_cut[cut])}: {'*'.join(cut)}"
        now = Shortened(tuple(changed), (*now.notes, note), len("".join(cut)))
        yield now


def _with_short_uuids(before: Shortened) -> Shortened | None:
    lines = [line for column in before.columns for cell in column.cells for line in cell]
    every = {uuid for line in lines for uuid in _UUID.findall(line)}
    length = next((n for n in _UUID_LENGTHS if len({uuid[:n] for uuid in every}) == len(every)), None)
    if not every or length is None:
        return None
    note = "*: the rest of a UUID, which -o wide shows"

    def cut(line: str) -> str:
        return _UUID.sub(lambda uuid: f"{uuid[0][:length]}*", line)

    columns = tuple(column.with_lines(cut) for column in before.columns)
    return Shortened(columns, (*before.notes, note), len(next(iter(every))) - length)


def _in_common(column: Column) -> _Cut | None:
    """Return the prefix and suffix that names of a column share, the longest if there are several groups of names."""
    groups: dict[str, set[str]] = {}
    for name in _names(column):
        # A column of names has one group; in a sentence, names of one kind begin with the same word.
        groups.setdefault("" if column.names else re.split("[-./]", name, maxsplit=1)[0], set()).add(name)
    cuts = (cut for names in groups.values() if (cut := _shared(names)) is not None)
    return max(cuts, key=lambda cut: (len(cut[0]) + len(cut[1]), cut), default=None)


def _names(column: Column) -> Iterator[str]:
    if column.right:
        return
    lines = [line for cell in column.cells for line in cell if line not in ("", _NO_NAME)]
    if column.names and not any(" " in line for line in lines):
        # A word such as "pending" is no name.
        yield from (line for line in lines if re.search("[-./:0-9]", line) and not line.endswith("*"))
        return
    words = (word.rstrip(".:") for line in lines for word in _WORD.findall(line))
    yield from (word for word in words if len(word) >= _LEAST_NAME and _NAME.fullmatch(word))


def _shared(names: Collection[str]) -> _Cut | None:
    if len(names) < 2:
        return None
    start = _upto_separator(_same_start(names))
    end = _upto_separator(_same_start([name[len(start) :][::-1] for name in names]))[::-1]
    # Every name must retain a distinguishing part.
    if any(len(name) <= len(start) + len(end) for name in names) or len(start) + len(end) < _LEAST_IN_COMMON:
        return None
    return start, end


def _same_start(names: Collection[str]) -> str:
    # A prefix that the first and the last name share is shared by all names between them.
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    return "".join(character for character, _ in alike)


def _upto_separator(text: str) -> str:
    return text[: max(map(text.rfind, _SEPARATORS)) + 1]


def _rest(name: str, cut: _Cut) -> str:
    """Return a name without a prefix and suffix; empty if it has no other text, or not both."""
    start, end = cut
    return name[len(start) : len(name) - len(end)] if name.startswith(start) and name.endswith(end) else ""


def _left(column: Column, cut: _Cut) -> tuple[int, int]:
    """Return the width that a column needs at least without a prefix and suffix, and the length of its text."""
    short = _without(column, cut, alone=_is_alone(column, cut))
    return short.floor, sum(len(line) for cell in short.cells for line in cell)


def _is_alone(column: Column, cut: _Cut) -> bool:
    """Report whether a column has nothing but names with a prefix and suffix."""
    lines = {line for cell in column.cells for line in cell} - {"", _NO_NAME}
    return column.names and all(_rest(line, cut) for line in lines)


def _without(column: Column, cut: _Cut, *, alone: bool) -> Column:
    """Return a column with the prefix and suffix of its names omitted; ``alone`` is true to show no star for them."""
    names = {name for name in _names(column) if _rest(name, cut)}

    def short(name: str) -> str:
        if name not in names:
            return name
        rest = _rest(name, cut)
        return rest if alone else f"{'*' * bool(cut[0])}{rest}{'*' * bool(cut[1])}"

    def word(found: re.Match[str]) -> str:
        name = found[0].rstrip(".:")
        return short(name) + found[0][len(name) :]

    return column.with_lines(lambda line: _WORD.sub(word, line))
