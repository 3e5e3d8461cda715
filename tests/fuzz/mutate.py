"""Small changes to bytes that often break parsers: cut, repeated, nested, inflated, spliced, flipped."""

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

#: Tokens on which parsers often fail.
TOKENS: Final = [
    token.encode()
    for token in (
        *(
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            '"',
            "'",
            "\\",
            "\n",
            "\r",
            "\t",
            "- ",
            "? ",
            ": ",
            "# ",
            "---\n",
            "...\n",
            "| ",
            ">-",
        ),
        *("&a ", "*a", "<<: ", "!!int ", "!!binary ", "!x ", "%YAML 1.1\n", "~", "null", "true", "yes", ".inf", ".nan"),
        *("0", "-1", "1e400", "9223372036854775808", "1" * 40, "0x", "1_0", "1e", "Ki", "1.5Gi", "-0", "0o17", "08"),
        *("\x00", "\ufeff", "\u2028", "\x85", "\\u0000", "\\ud800", "apiVersion", "kind", "items", "metadata", "List"),
        *("pods.json", "../x", "./", ".hidden/", "a" * 300),
    )
] + [b"\xff", b"\xfe\xff", b"\x1f\x8b", b"PK\x03\x04", b"\x80"]
#: Quoted text and numbers after a colon or a comma, which are values in most texts.
_SCALAR: Final = re.compile(rb'(?<=[:,] )("[^"\n]*"|\d+)')
#: The maximum length of an input, in bytes.
LONGEST: Final = 200_000


def mutated(content: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Return the content after one to eight random changes."""
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        content = chance.choice(_CHANGES)(content or b" ", others, chance)[:LONGEST]
    return content


def _place(content: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.choice((0, 1, 4, 16, 64, 512)))


def _flipped(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    at = chance.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]


def _cut(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _place(content, chance)
    return content[:start] if chance.random() < 0.2 else content[:start] + content[end:]


def _token(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _place(content, chance)
    return content[:start] + chance.choice(TOKENS) + content[end if chance.random() < 0.5 else start :]


def _repeated(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    start, end = _place(content, chance)
    return content[:start] + content[start:end] * chance.choice((2, 3, 50, 3000)) + content[end:]


def _nested(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    start = end = chance.randrange(len(content) + 1)
    pairs: Sequence[tuple[bytes, bytes]] = ((b"[", b"]"), (b'{"a":', b"}"), (b"- ", b""), (b"{a: ", b"}"), (b"? ", b""))
    scalars = list(_SCALAR.finditer(content)) if chance.random() < 0.5 else []
    if scalars:
        # In place of a value and in flow style, so that the text is still well-formed.
        start, end = chance.choice(scalars).span()
        pairs = pairs[:2]
    opening, closing = chance.choice(pairs)
    times = chance.choice((5, 150, 500, 1500, 20_000))
    return content[:start] + opening * times + b"1" + closing * times + content[end:]


def _blown_up(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    return content[:at] + chance.choice((b"1", b"a", b" ", b"\n", b"0", b"_1", b"&a ")) * 30_000 + content[at:]


def _number(content: bytes, _: Sequence[bytes], chance: random.Random) -> bytes:
    size = chance.choice((1, 2, 4, 8))
    at = chance.randrange(len(content))
    value = chance.choice((0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1)))
    order = chance.choice(("little", "big"))
    return content[:at] + value.to_bytes(size, order) + content[at + size :]  # type: ignore[arg-type]


def _spliced(content: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    other = chance.choice(others)
    start, end = _place(content, chance)
    first, last = _place(other, chance)
    return content[:start] + (other[first:last] if chance.random() < 0.7 else other) + content[end:]


_CHANGES: Final[list[Callable[[bytes, Sequence[bytes], random.Random], bytes]]] = [
    _flipped,
    _cut,
    _token,
    _token,
    _repeated,
    _nested,
    _blown_up,
    _number,
    _spliced,
]
