"""JSON text: one document, concatenated documents or JSON Lines; split into documents, each checked for syntax."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.findings import Location, Position
from kschedctl.common.text.patterns import pattern

T = TypeVar("T", bound=msgspec.Struct)
_BLANKS: Final = pattern(rb"[ \t\r\n]*")
_AT_BYTE: Final = pattern(r"(.*) \(byte (\d+)\)")
_BRACE: Final = ord("}")
_RETURN: Final = ord("\r")
_TRAILING: Final = "JSON is malformed: trailing characters"


class NotJsonError(Exception):
    """A syntax error in a JSON text.

    Args:
        at: The offset in the text, in bytes.
        start: The offset at which the document begins, in bytes.
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
            f"is not valid JSON: {self.problem}", where=Location(file, self.number), position=Position(line, column)
        )


def json_documents(text: bytes, decoder: msgspec.json.Decoder[T]) -> Iterator[tuple[int, memoryview, T | None]]:
    """Yield the documents of a JSON text, in order.

    Args:
        decoder: The decoder applied to each document. Decoding also finds the end of the document.

    Yields: The document's number from 1, its text, and the decoded value; ``None`` if the document is valid JSON
        but not of the decoder's type.

    Raises NotJsonError if the text is not valid JSON. The documents before the error are yielded first.
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
    end = _end_of_first(rest, position, number)
    return end, _typed(rest[:end], decoder)


def _end_of_first(rest: memoryview, position: int, number: int) -> int:
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


# Values as JSON: encoding of any text, even of file names that are not UTF-8, and decoding of outside text.

#: A lone surrogate: Python decodes each byte of a file name or argument that is not UTF-8 to one.
_SURROGATE: Final = pattern("[\ud800-\udfff]")


def encoded_json(value: object, enc_hook: Callable[[Any], Any] | None = None) -> bytes:
    r"""Return a value as JSON in UTF-8; lone surrogates, which UTF-8 cannot contain, become U+FFFD.

    >>> encoded_json({"file": "caf\udce9.yaml"}).decode()
    '{"file":"caf�.yaml"}'
    """
    try:
        return msgspec.json.encode(value, enc_hook=enc_hook)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(value, enc_hook=enc_hook)))


def encodable(text: str) -> str:
    """Return a text with U+FFFD in place of lone surrogates, so that it can be encoded as UTF-8."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def decoded_json(text: str | bytes) -> Any:
    """Return the value of a JSON text that comes from outside.

    Raises ValueError if the text is not JSON, is nested too deeply, or has a number of more than 4,300 digits.
    """
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        raise ValueError("a number has more than 4,300 digits") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list | tuple) else value
