"""The encoding of files, and printable text: control, invisible and bidirectional characters are escaped."""

import re
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.common.text.patterns import pattern

_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_LOOKED_AT: Final = 8192
#: The first bytes of compressed formats that are not unpacked.
_PACKED: Final = {
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "LZ4",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
}


def utf8_text(content: bytes, file: str) -> bytes:
    """Return the text of a file as UTF-8 without a byte order mark.

    Args:
        file: The file's name, for error messages.

    Returns: UTF-8. Only the first 8,192 bytes are checked for NUL bytes; the parsers of the text check its
        encoding.

    Raises InputError if the file is binary or compressed, or not valid UTF-16.

    UTF-16 is decoded if a byte order mark announces it; older PowerShell versions write it for ``>``.
    """
    if content.startswith(_UTF8_MARK):
        return content[len(_UTF8_MARK) :]
    if content.startswith(_UTF16_MARKS):
        try:
            return content.decode("utf-16").encode()
        except UnicodeDecodeError:
            raise InputError("is not valid UTF-16", where=file, hint="save it as UTF-8") from None
    packed = next((name for magic, name in _PACKED.items() if content.startswith(magic)), "")
    if packed:
        raise InputError(f"is compressed with {packed}", where=file, hint="unpack it, or pack it with gzip, zip or tar")
    if b"\0" in content[:_LOOKED_AT]:
        raise InputError("is a binary file, not YAML or JSON", where=file, hint="UTF-8 text is expected")
    return content


# Printable text: control, invisible and bidirectional characters are escaped, so that the reader sees them.
#
# Names come from a cluster, and a snapshot can contain any character. All text for people is passed through this
# module.

#: Default_Ignorable_Code_Point (DerivedCoreProperties.txt of Unicode), limited to the characters that
#: `str.isprintable` accepts: joiners, fillers and variation selectors, which have no width.
_UNSEEN: Final = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff"
_IGNORABLE: Final = pattern(f"[{_UNSEEN}]")
#: The characters that are checked one by one: all except visible ASCII and Latin characters.
_SUSPECT: Final = pattern("[^ -~\u00a1-\u00ac\u00ae-\u02ff]")
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str) -> str:
    r"""Escape the control characters, line and other separators, and invisible characters of a text, except spaces.

    The result is one line. Backslashes are not escaped: the text is for people, and may be escaped a second time.

    >>> print(printable("web\x1b[2J\n\u202e1\u00e9"))
    web\x1b[2J\n\u202e1é
    """
    return text if text.isascii() and text.isprintable() else _SUSPECT.sub(_escape, text)


def is_invisible(character: str) -> bool:
    """Report whether `printable` escapes a character."""
    return not character.isprintable() or _IGNORABLE.match(character) is not None


def json_escape(character: str) -> str:
    r"""Return a character as a JSON escape sequence.

    >>> print(json_escape("\x9b"), json_escape("\U0001f600"))
    \u009b \ud83d\ude00
    """
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def json_text(data: bytes) -> str:
    r"""Decode encoded JSON, with invisible characters escaped; newlines between tokens remain.

    Invisible characters within strings become JSON escapes; a JSON encoder escapes only characters below U+0020.

    >>> print(json_text('{"a": "\u202e"}'.encode()))
    {"a": "\u202e"}
    """
    text = data.decode()
    return text if data.isascii() and b"\x7f" not in data else _SUSPECT.sub(_escape_in_json, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if not is_invisible(character):
        return character
    return _SHORT.get(character) or character.encode("unicode_escape", "surrogatepass").decode()


def _escape_in_json(found: re.Match[str]) -> str:
    character = found[0]
    return json_escape(character) if is_invisible(character) and character != "\n" else character
