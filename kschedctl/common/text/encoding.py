"""The encoding of files: UTF-8 with or without a byte order mark, UTF-16, and binary files."""

from __future__ import annotations

from typing import Final

from kschedctl.common.errors import InputError

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

    Parameters
    ----------
    content : bytes
        The content of the file.
    file : str
        The file's name, for error messages.

    Returns
    -------
    bytes
        UTF-8. Only the first 8,192 bytes are checked for NUL bytes; the parsers of the text check its encoding.

    Raises
    ------
    InputError
        If the file is binary or compressed, or not valid UTF-16.

    Notes
    -----
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
