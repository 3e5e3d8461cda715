"""Merging of texts about many nodes into one line: shared words once, differing values with their counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from kschedctl.common.wording import counted

#: A number with its unit, as a word of its own and not as part of a name.
NUMBER: Final = re.compile(r"(?<![^\s(])(\d+(?:\.\d+)?)((?:[KMGTPE]i)?)(?=[\s,:;)]|$)")
_UNITS: Final = {"": 1, **{f"{prefix}i": 1 << 10 * power for power, prefix in enumerate("KMGTPE", 1)}}
#: The number of differing values that are listed; the rest is counted.
_NAMED: Final = 3
#: The number of places in which texts may differ and still be merged word by word.
_MOST_PLACES: Final = 2
_WORD: Final = re.compile(r"\s*\S+")
_ENDING: Final = re.compile(r"[,;:)]*$")


def shape(text: str) -> str:
    """Return the text with its numbers replaced by ``#``; texts of one shape differ only in numbers."""
    return NUMBER.sub("#", text)


def merge(texts: Sequence[str]) -> str:
    """Merge texts that differ only in numbers into one, with ranges of numbers.

    Examples
    --------
    >>> merge(["wants 2 cpu, free 0.1 of 4", "wants 2 cpu, free 1.6 of 4"])
    'wants 2 cpu, free 0.1 to 1.6 of 4'
    """
    found = [NUMBER.findall(text) for text in texts]
    ranges = []
    for column in zip(*found, strict=True):
        ordered = sorted(set(column), key=lambda number: float(number[0]) * _UNITS[number[1]])
        low, high = "".join(ordered[0]), "".join(ordered[-1])
        ranges.append(low if low == high else f"{low} to {high}")
    replacements = iter(ranges)
    return NUMBER.sub(lambda _: next(replacements), texts[0])


def together(texts: Sequence[str]) -> str:
    """Merge the texts about several nodes into one line.

    Parameters
    ----------
    texts : sequence of str
        One text per node; at least one.

    Examples
    --------
    >>> together(["has disk=hdd, free 2 of 4", "has disk=ssd, free 1 of 4", "has disk=hdd, free 3 of 4"])
    'has disk=hdd (2) or ssd (1), free 1 to 3 of 4'
    """
    shapes = Counter(map(shape, texts))
    if len(shapes) == 1:
        return merge(texts)
    words = [_WORD.findall(text) for text in texts]
    if len({len(own) for own in words}) == 1:
        columns = list(zip(*words, strict=True))
        differing = [column for column in columns if len(set(map(shape, column))) > 1]
        if len(differing) <= _MOST_PLACES:
            return "".join(merge(column) if column not in differing else _values(column) for column in columns)
    start, end = _common(words), _common([own[::-1] for own in words])
    shortest = min(map(len, words))
    if 2 * (start + end) >= shortest > start + end:
        parts = [("".join(w[:start]), "".join(w[start : len(w) - end]), "".join(w[len(w) - end :])) for w in words]
        first, middle, last = zip(*parts, strict=True)
        if all(map(_is_phrase, middle)):
            return f"{merge(first)}{_values(middle)}{merge(last)}"
    # The texts have too little in common: only the most frequent shape is shown, the others are counted.
    (commonest, number), *others = shapes.most_common()
    told = merge([text for text in texts if shape(text) == commonest])
    rest = sum(n for _, n in others)
    ending = "with another reason" if len(others) == 1 else "with other reasons"
    return f"{told} ({counted(number, 'node')}; {rest} {ending})"


def _common(words: Sequence[Sequence[str]]) -> int:
    """Return the number of words that all texts share at their beginning, numbers aside."""
    return sum(1 for _ in takewhile(lambda column: len(set(map(shape, column))) == 1, zip(*words, strict=False)))


def _is_phrase(text: str) -> bool:
    """Report whether a text can be one of several values in a sentence: it contains no part of another clause."""
    return ";" not in text.rstrip(";") and text.count("(") == text.count(")")


def _values(phrases: Sequence[str]) -> str:
    """Join the phrases of one place with their counts, most frequent first; numbers in them become ranges."""
    alike: dict[str, list[str]] = {}
    for phrase in phrases:
        alike.setdefault(shape(phrase), []).append(phrase)
    ordered = sorted((merge(same), len(same)) for same in alike.values())
    ordered.sort(key=lambda item: -item[1])
    texts = [text for text, _ in ordered]
    space = texts[0][: len(texts[0]) - len(texts[0].lstrip())]
    ending = _ENDING.search(texts[0])
    end = ending[0] if ending and all(text.endswith(ending[0]) for text in texts) else ""
    bare = [text.strip().removesuffix(end) for text in texts]
    # A shared beginning is printed once; it ends at "=", so that no name is cut in two.
    start = "".join(c[0] for c in takewhile(lambda column: len(set(column)) == 1, zip(*bare, strict=False)))
    start = start[: start.rfind("=") + 1]
    named = [
        f"{text.removeprefix(start)} ({number})" for text, (_, number) in zip(bare[:_NAMED], ordered, strict=False)
    ]
    if len(bare) > _NAMED:
        named.append(f"{len(bare) - _NAMED} others ({sum(number for _, number in ordered[_NAMED:])})")
    return f"{space}{start}{', '.join(named[:-1])} or {named[-1]}{end}"
