"""An answer that fits the context window of a model: long lists are cut, with counts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from kschedctl.common.text.characters import printable
from kschedctl.common.text.json_text import encodable
from kschedctl.output.terminal import as_text
from kschedctl.questions.answer import Answer, OperandsData, encode_part, ordered
from kschedctl.questions.frame import View


class Size(NamedTuple):
    """The largest size of the parts of an answer, in bytes; 0 is no limit."""

    data: int
    text: int


class Detail(StrEnum):
    """The amount of detail in the answer of a tool."""

    SUMMARY = "summary"
    NODES = "nodes"
    ALL = "all"

    @property
    def size(self) -> Size:
        """The sizes; those of a summary leave room for the envelope of a message of 20 kB."""
        return {Detail.SUMMARY: Size(13_000, 5_000), Detail.NODES: Size(130_000, 50_000), Detail.ALL: Size(0, 0)}[self]


class LeftOut(msgspec.Struct, frozen=True, rename="camel"):
    """The items of lists of one field that were left out."""

    field: str
    shown: int
    total: int


class Shortened(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer of a tool."""

    #: The answer in one sentence.
    summary: str
    #: Notes and warnings that are no part of the answer.
    notices: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    #: The parameter that shows what is left out.
    more: str = ""
    #: The answer with the fields of ``-o json``; absent if it is too long even without the items of its lists.
    answer: dict[str, Any] = {}


#: The numbers of items of every list that are tried, one after the other; a summary begins with the third.
_ITEMS: Final = (1000, 300, 30, 10, 5, 3, 1, 0)
#: Lists of so few items are never cut: some have a fixed length.
_FEW: Final = 3
#: The longest text inside a shortened answer, in characters.
_LONGEST: Final = 800
#: The most fields that are named as left out.
_MOST_FIELDS: Final = 20


def shortened(answer: Answer, view: View, detail: Detail, notices: Sequence[str]) -> tuple[bytes, str]:
    """Return an answer as the JSON of `Shortened`, and as the text of the command, both within the size of a detail."""
    text = encodable(as_text(answer, 0, view=view))
    summary = getattr(answer, "summary", None)
    if not isinstance(summary, str):
        # The text of lint ends with its counts.
        summary = text.rpartition("\n")[2]
    result = Shortened(_line(summary), tuple(map(_line, notices[:_MOST_FIELDS])))
    size = detail.size
    tried = _ITEMS[2:] if detail is Detail.SUMMARY else _ITEMS
    for most in tried if size.data else (None,):
        outline = _Outline(most, with_nodes=detail is not Detail.SUMMARY)
        data = outline.fields(ordered(answer), "")
        left_out = tuple(LeftOut(field, *counts) for field, counts in islice(outline.counts.items(), _MOST_FIELDS))
        whole = msgspec.structs.replace(result, answer=data, left_out=left_out, more=_more(detail) if left_out else "")
        encoded = msgspec.json.encode(whole)
        # Some transports write characters beyond ASCII as escapes.
        if not size.data or len(encoded) + 5 * (len(encoded) - len(encoded.decode())) <= size.data:
            break
    else:
        left_out = (LeftOut("answer", 0, 1),)
        encoded = msgspec.json.encode(msgspec.structs.replace(result, left_out=left_out, more=_more(detail)))
    return encoded, "\n".join(_lines(text, size.text, detail))


def _line(text: str) -> str:
    line = printable(encodable(text))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _more(detail: Detail) -> str:
    nodes = "detail nodes shows nodes one by one; " if detail is Detail.SUMMARY else ""
    return f"{nodes}detail all shows everything"


def _lines(text: str, most: int, detail: Detail) -> Iterator[str]:
    left, lines = most, text.split("\n")
    for number, line in enumerate(lines):
        # Messages have the text as JSON, in which some characters are several.
        size = len(json.dumps(line)) if most else 0
        if size > left:
            if not number:
                yield f"{line[: left // 6]}..."
            yield f"... {len(lines) - number} more lines: {_more(detail)}"
            return
        left -= size
        yield line


class _Outline:
    """An answer as data, with a number of items in each list.

    counts: The items that are shown and all items, by field.
    """

    def __init__(self, most: int | None, *, with_nodes: bool) -> None:
        self._most = most
        self._with_nodes = with_nodes
        self.counts: dict[str, tuple[int, int]] = {}

    def fields(self, values: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return the fields of a part of an answer."""
        return {name: self._value(value, f"{path}.{name}" if path else name) for name, value in values.items()}

    def _value(self, value: Any, path: str) -> Any:
        if isinstance(value, msgspec.Struct):
            return self.fields(ordered(value), path)
        if isinstance(value, OperandsData):
            return self._value(value.operands.data() if value.operands is not None else {}, path)
        if type(value) is str:
            long = self._most is not None and len(value) > _LONGEST
            return encodable(f"{value[:_LONGEST]}... ({len(value)} characters)" if long else value)
        if isinstance(value, Mapping):
            return self.fields({str(key): value[key] for key in self._kept([*value], path)}, path)
        if isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes):
            return [self._value(each, f"{path}[]") for each in self._kept([*value], path)]
        return msgspec.to_builtins(value, enc_hook=encode_part)

    def _kept(self, items: list[Any], path: str) -> list[Any]:
        most = self._most
        if most is None:
            return items
        are_nodes = path.rpartition(".")[2] == "nodes" and items and isinstance(items[0], msgspec.Struct)
        most = 0 if are_nodes and not self._with_nodes else most
        if len(items) <= max(most, _FEW):
            return items
        kept = items[:most]
        shown, total = self.counts.get(path, (0, 0))
        self.counts[path] = shown + len(kept), total + len(items)
        return kept
