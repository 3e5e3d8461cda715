"""Files as UTF-8 text: byte order marks, UTF-16 and what is no text at all."""

from __future__ import annotations

from typing import Final

from kschedctl.errors import InputError

_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_LOOKED_AT: Final = 8192


def utf8_text(content: bytes, file: str) -> bytes:
    """The text of a file as UTF-8 without a byte order mark.

    Parameters
    ----------
    content : bytes
        What the file holds.
    file : str
        The name for errors.

    Returns
    -------
    bytes
        UTF-8, not checked to the end: the readers of the text do that where they use it.

    Raises
    ------
    InputError
        Where the file holds no text.

    Notes
    -----
    UTF-16 is read where a byte order mark announces it: it is what ``>`` writes in older PowerShells.
    """
    if content.startswith(_UTF8_MARK):
        return content[len(_UTF8_MARK) :]
    if content.startswith(_UTF16_MARKS):
        try:
            return content.decode("utf-16").encode()
        except UnicodeDecodeError:
            raise InputError("is not valid UTF-16", where=file, hint="save it as UTF-8") from None
    if b"\0" in content[:_LOOKED_AT]:
        raise InputError("is a binary file, not YAML or JSON", where=file, hint="UTF-8 text is expected")
    return content
