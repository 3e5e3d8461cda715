"""JSON text: one document, concatenated documents or JSON Lines; split into documents, each checked for syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.findings.location import Location, Position

T = TypeVar("T", bound=msgspec.Struct)
_BLANKS: Final = re.compile(rb"[ \t\r\n]*")
_AT_BYTE: Final = re.compile(r"(.*) \(byte (\d+)\)")
_BRACE: Final = ord("}")
_RETURN: Final = ord("\r")
_TRAILING: Final = "JSON is malformed: trailing characters"


class NotJsonError(Exception):
    """A syntax error in a JSON text.

    Parameters
    ----------
    problem : str
        The problem at the offset `at`.
    at : int
        The offset in the text, in bytes.
    start : int
        The offset at which the document begins, in bytes.
    number : int
        The document's number, from 1.
    """

    def __init__(self, problem: str, at: int, start: int, number: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.at = at
        self.start = start
        self.number = number

    def error(self, text: bytes, file: str) -> InputError:
        """Return the error to report, with line and column; columns are counted in bytes."""
        before = text[: self.at]
        line, column = before.count(b"\n") + 1, self.at - before.rfind(b"\n")
        return InputError(
            f"is not valid JSON: {self.problem}",
            where=Location(file, self.number),
            position=Position(line, column),
        )


def json_documents(text: bytes, decoder: msgspec.json.Decoder[T]) -> Iterator[tuple[int, memoryview, T | None]]:
    """Yield the documents of a JSON text, in order.

    Parameters
    ----------
    text : bytes
        The JSON text, in UTF-8.
    decoder : msgspec.json.Decoder
        The decoder applied to each document. Decoding also finds the end of the document.

    Yields
    ------
    tuple of (int, memoryview, object or None)
        The document's number from 1, its text, and the decoded value; ``None`` if the document is valid JSON but
        not of the decoder's type.

    Raises
    ------
    NotJsonError
        If the text is not valid JSON. The documents before the error are yielded first.
    """
    whole = memoryview(text)
    position = skip_blanks(text, 0)
    number, line_end = 1, text.find(b"\n", position)
    while position < len(text):
        # The end of a line is searched once, even if the line contains many documents.
        if 0 <= line_end < position:
            line_end = text.find(b"\n", position)
        end = line_end
        # Most texts are one document, or one document per line; only otherwise must the end be searched.
        if end >= 0 and _ends_a_document(text, end) and (value := _typed(whole[position:end], decoder)) is not None:
            yield number, whole[position:end], value
        else:
            length, value = _first_document(whole[position:], decoder, position, number)
            end = position + length
            yield number, whole[position:end], value
        position = skip_blanks(text, end)
        number += 1


def skip_blanks(text: bytes, position: int) -> int:
    """Return the offset of the first byte at or after the position that is not white space."""
    match = _BLANKS.match(text, position)
    assert match is not None
    return match.end()


def _ends_a_document(text: bytes, end: int) -> bool:
    last = text[end - 2] if text[end - 1] == _RETURN else text[end - 1]
    return last == _BRACE


def _typed(text: memoryview, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Decode a text that is one document of the decoder's type; return ``None`` for any other text."""
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _first_document(
    rest: memoryview, decoder: msgspec.json.Decoder[T], position: int, number: int
) -> tuple[int, T | None]:
    """Return the length of the first document of a text, and its value."""
    if (value := _typed(rest, decoder)) is not None:
        return len(rest), value
    end = _end(rest, position, number)
    return end, _typed(rest[:end], decoder)


def _end(rest: memoryview, position: int, number: int) -> int:
    """Return the length of the first document of a text, of any type; raise ``NotJsonError`` if it is not JSON."""
    try:
        msgspec.json.decode(rest, type=msgspec.Raw)
    except RecursionError:
        raise NotJsonError("is nested too deeply", position, position, number) from None
    except msgspec.DecodeError as error:
        if (match := _AT_BYTE.fullmatch(str(error))) is None:
            raise NotJsonError("the text ends too early", position + len(rest), position, number) from None
        problem, at = match[1], int(match[2])
        if problem == _TRAILING:
            # msgspec reports the offset after the first trailing character.
            return at - 1
        problem = problem.removeprefix("JSON is malformed: ")
        raise NotJsonError(problem, position + at, position, number) from None
    return len(rest)
