"""JSON texts: one document, documents one after the other, or JSON Lines; found and checked, not yet decoded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec

from kschedctl.errors import InputError
from kschedctl.findings.location import Location, Position

T = TypeVar("T", bound=msgspec.Struct)
_BLANKS: Final = re.compile(rb"[ \t\r\n]*")
_AT_BYTE: Final = re.compile(r"(.*) \(byte (\d+)\)")
_BRACE: Final = ord("}")
_RETURN: Final = ord("\r")
_TRAILING: Final = "JSON is malformed: trailing characters"


class NotJsonError(Exception):
    """The text is no JSON from some byte on.

    Parameters
    ----------
    problem : str
        What is wrong there.
    at : int
        The offset in the text, in bytes.
    start : int
        The offset at which the document begins.
    number : int
        The document.
    """

    def __init__(self, problem: str, at: int, start: int, number: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.at = at
        self.start = start
        self.number = number

    def error(self, text: bytes, file: str) -> InputError:
        """The error to show, with line and column."""
        before = text[: self.at]
        line, column = before.count(b"\n") + 1, self.at - before.rfind(b"\n")
        return InputError(
            f"is not valid JSON: {self.problem}",
            where=Location(file, self.number),
            position=Position(line, column),
        )


def json_documents(text: bytes, decoder: msgspec.json.Decoder[T]) -> Iterator[tuple[int, memoryview, T | None]]:
    """The documents of a JSON text.

    Parameters
    ----------
    text : bytes
        UTF-8.
    decoder : msgspec.json.Decoder
        Decodes each document on the way, so that finding where it ends costs nothing extra.

    Yields
    ------
    tuple of (int, memoryview, object or None)
        The document's number from 1, its text, and the decoded value; ``None`` where it is JSON but not of the
        decoder's type.

    Raises
    ------
    NotJsonError
        Where the text is no JSON; the documents before have been yielded.
    """
    whole = memoryview(text)
    position = skip_blanks(text, 0)
    number, line_end = 1, text.find(b"\n", position)
    while position < len(text):
        # The end of the line is looked for once, also where many documents stand on it.
        if 0 <= line_end < position:
            line_end = text.find(b"\n", position)
        end = line_end
        # Most texts are one document, or a document per line; only else the end must be searched for.
        if end >= 0 and _ends_a_document(text, end) and (value := _typed(whole[position:end], decoder)) is not None:
            yield number, whole[position:end], value
        else:
            length, value = _first_document(whole[position:], decoder, position, number)
            end = position + length
            yield number, whole[position:end], value
        position = skip_blanks(text, end)
        number += 1


def skip_blanks(text: bytes, position: int) -> int:
    """The offset of the first byte at or after the position that is no white space."""
    match = _BLANKS.match(text, position)
    assert match is not None
    return match.end()


def _ends_a_document(text: bytes, end: int) -> bool:
    last = text[end - 2] if text[end - 1] == _RETURN else text[end - 1]
    return last == _BRACE


def _typed(text: memoryview, decoder: msgspec.json.Decoder[T]) -> T | None:
    """The value of a text that is one document of the decoder's type; ``None`` for any other."""
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _first_document(
    rest: memoryview, decoder: msgspec.json.Decoder[T], position: int, number: int
) -> tuple[int, T | None]:
    """Where the first document of a text ends, and its value."""
    if (value := _typed(rest, decoder)) is not None:
        return len(rest), value
    end = _end(rest, position, number)
    return end, _typed(rest[:end], decoder)


def _end(rest: memoryview, position: int, number: int) -> int:
    """Where the first document of a text ends, whatever it is; checks that it is JSON."""
    try:
        msgspec.json.decode(rest, type=msgspec.Raw)
    except RecursionError:
        raise NotJsonError("is nested too deeply", position, position, number) from None
    except msgspec.DecodeError as error:
        if (match := _AT_BYTE.fullmatch(str(error))) is None:
            raise NotJsonError("the text ends too early", position + len(rest), position, number) from None
        problem, at = match[1], int(match[2])
        if problem == _TRAILING:
            # The byte given is the one after the first that does not belong.
            return at - 1
        problem = problem.removeprefix("JSON is malformed: ")
        raise NotJsonError(problem, position + at, position, number) from None
    return len(rest)
