"""Where the text of a snapshot comes from: folders, files, archives and standard input."""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import Any, BinaryIO, Final

from kschedctl.errors import InputError

STDIN: Final = "-"
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonl", ".ndjson")
READABLE: Final = (*_SUFFIXES, *(f"{suffix}.gz" for suffix in _SUFFIXES))
_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".zip")
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZIP_MAGIC: Final = b"PK\x03\x04"
_EMPTY_ZIP_MAGIC: Final = b"PK\x05\x06"
_TAR_MAGIC: Final = b"ustar"
_TAR_MAGIC_AT: Final = 257
_ENCRYPTED: Final = 0x1

OTHER_NAME: Final = "not named .yaml, .yml, .json, .jsonl, .ndjson or one of these with .gz"
HIDDEN: Final = "hidden"
FOLDER_LINK: Final = "link to a folder"
NESTED_ARCHIVE: Final = "archive inside a folder or archive"
NOT_A_FILE: Final = "no regular file"
#: From this size on a plain file is read piece by piece, in bytes.
LARGE: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """The content of one file.

    Parameters
    ----------
    name : str
        As the user would name it; members of archives as ``dump.tar.gz:nodes.json``.
    content : bytes
        Decompressed; empty where ``path`` is given.
    named : bool
        Whether the user named this very file; the others were found in a folder or archive.
    modified : float or None
        Seconds since the epoch; unknown for standard input.
    path : str
        A file that is so large that it is better not read as a whole; empty for all others.
    """

    name: str
    content: bytes
    named: bool
    modified: float | None
    path: str = ""


def read_sources(
    paths: Sequence[str | Path], stdin: BinaryIO | None, not_read: Counter[str]
) -> Iterator[Source | InputError]:
    """The files behind the given paths, one at a time, in a fixed order.

    Parameters
    ----------
    paths : sequence of str or Path
        Files, folders and archives; ``-`` is standard input. Folders are read recursively in the order of names,
        archives in their own.
    stdin : BinaryIO or None
        Read where ``-`` is given.
    not_read : Counter
        Gets the reasons why files of folders and archives were passed over.

    Yields
    ------
    Source or InputError
        An error for each file that cannot be read; the files after it follow all the same.
    """
    for path in paths:
        name = str(path)
        try:
            if name == STDIN:
                yield from _read_stdin(stdin, not_read)
            elif Path(path).is_dir():
                yield from _read_folder(name, not_read)
            else:
                with open(path, "rb", buffering=0) as raw:
                    yield from _read_stream(raw, name, os.fstat(raw.fileno()).st_mtime, not_read)
        except OSError as error:
            yield _cannot_read(name, error)
        except InputError as error:
            yield error


def _cannot_read(name: str, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file or folder", where=name)
    return InputError(f"cannot be read: {error.strerror or error}", where=name)


def _read_stdin(stdin: BinaryIO | None, not_read: Counter[str]) -> Iterator[Source | InputError]:
    if stdin is None:
        raise InputError("standard input is not available here", where=STDIN, hint="name a file or a folder")
    # A fresh buffer allows to look ahead whatever kind of stream this is.
    yield from _read_stream(BytesIO(stdin.read()), "standard input", None, not_read)


def _read_folder(folder: str, not_read: Counter[str]) -> Iterator[Source | InputError]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield _cannot_read(folder, error)
        return
    for entry in entries:
        if entry.name.startswith("."):
            not_read[HIDDEN] += 1
        elif entry.is_dir(follow_symlinks=False):
            yield from _read_folder(entry.path, not_read)
        elif entry.is_dir():
            # Following it could lead round in a circle.
            not_read[FOLDER_LINK] += 1
        elif (reason := _not_readable(entry.name)) is not None:
            not_read[reason] += 1
        elif not entry.is_file() and not entry.is_symlink():
            not_read[NOT_A_FILE] += 1
        else:
            yield _found(entry)


def _found(entry: os.DirEntry[str]) -> Source | InputError:
    try:
        if entry.stat().st_size >= LARGE and not entry.name.endswith(".gz"):
            return Source(entry.path, b"", False, entry.stat().st_mtime, entry.path)
        content = _gunzipped(Path(entry.path).read_bytes(), entry.path)
        return Source(entry.path, content, False, entry.stat().st_mtime)
    except OSError as error:
        return _cannot_read(entry.path, error)
    except InputError as error:
        return error


def _not_readable(name: str) -> str | None:
    """Why a file of this name, found in a folder or archive, is passed over; ``None`` where it is read."""
    lower = name.lower()
    if lower.endswith(READABLE):
        return None
    return NESTED_ARCHIVE if lower.endswith(_ARCHIVES) else OTHER_NAME


def _gunzipped(content: bytes, name: str) -> bytes:
    if not content.startswith(_GZIP_MAGIC):
        return content
    import gzip

    with _compressed(name):
        return gzip.decompress(content)


@contextmanager
def _compressed(name: str) -> Iterator[None]:
    """Turn what the decompressors raise on broken input into one kind of error."""
    import tarfile
    import zipfile

    try:
        yield
    except EOFError:
        raise InputError("is truncated: the compressed data ends too early", where=name) from None
    except (zlib.error, tarfile.TarError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise InputError(f"is a broken archive: {error}", where=name) from None
    except OSError as error:
        # gzip.BadGzipFile is one; real read errors carry an errno.
        if error.errno is not None:
            raise
        raise InputError(f"is a broken archive: {error}", where=name) from None


def _read_stream(
    raw: FileIO | BytesIO, name: str, modified: float | None, not_read: Counter[str]
) -> Iterator[Source | InputError]:
    """A file that the user named: what it is shows in its first bytes, not in its name."""
    with BufferedReader(raw) as stream:
        head = _peek(stream)
        if head.startswith((_ZIP_MAGIC, _EMPTY_ZIP_MAGIC)):
            yield from _read_zip(stream, name, not_read)
        elif head.startswith(_GZIP_MAGIC):
            yield from _read_gzip(stream, name, modified, not_read)
        elif _is_tar(head):
            yield from _read_tar(stream, name, not_read)
        elif isinstance(raw, FileIO) and raw.seekable() and raw.seek(0, os.SEEK_END) >= LARGE:
            yield Source(name, b"", True, modified, name)
        elif raw.seekable():
            # Reading through the buffer would hold the text twice.
            raw.seek(0)
            yield Source(name, raw.read(), True, modified)
        else:
            yield Source(name, stream.read(), True, modified)


def _read_gzip(
    stream: BufferedReader[Any], name: str, modified: float | None, not_read: Counter[str]
) -> Iterator[Source | InputError]:
    import gzip

    with BufferedReader(gzip.GzipFile(fileobj=stream)) as unzipped:
        with _compressed(name):
            is_tar = _is_tar(_peek(unzipped))
            content = b"" if is_tar else unzipped.read()
        if is_tar:
            yield from _read_tar(unzipped, name, not_read)
        else:
            yield Source(name, content, True, modified)


def _peek(stream: BufferedReader[Any]) -> bytes:
    return stream.peek(_TAR_MAGIC_AT + len(_TAR_MAGIC))


def _is_tar(head: bytes) -> bool:
    return head[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC)


def _member_name(member: str, not_read: Counter[str]) -> str | None:
    """The member's name without leading ``./``, or ``None`` where it is passed over, which is counted."""
    name = member.removeprefix("./")
    if any(part.startswith(".") for part in name.split("/")):
        not_read[HIDDEN] += 1
        return None
    if (reason := _not_readable(name)) is not None:
        not_read[reason] += 1
        return None
    return name


def _read_tar(stream: BufferedReader[Any], name: str, not_read: Counter[str]) -> Iterator[Source | InputError]:
    import tarfile

    with _compressed(name), tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            if member.isdir():
                continue
            if not member.isreg():
                not_read[NOT_A_FILE] += 1
                continue
            if (inside := _member_name(member.name, not_read)) is None:
                continue
            extracted = archive.extractfile(member)
            assert extracted is not None
            # Archives made to be reproducible have no times.
            yield _member(f"{name}:{inside}", extracted.read(), member.mtime or None)


def _member(name: str, content: bytes, modified: float | None) -> Source | InputError:
    try:
        return Source(name, _gunzipped(content, name), False, modified)
    except InputError as error:
        return error


def _read_zip(stream: BufferedReader[Any], name: str, not_read: Counter[str]) -> Iterator[Source | InputError]:
    import zipfile

    file = stream if stream.seekable() else BytesIO(stream.read())
    with _compressed(name), zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.is_dir() or (inside := _member_name(member.filename, not_read)) is None:
                continue
            if member.flag_bits & _ENCRYPTED:
                yield InputError("is encrypted", where=f"{name}:{inside}", hint="unpack it and give the folder")
                continue
            yield _member(f"{name}:{inside}", archive.read(member), _zip_time(member.date_time))


def _zip_time(fields: tuple[int, int, int, int, int, int]) -> float | None:
    from datetime import datetime

    try:
        return datetime(*fields).timestamp()
    except ValueError:
        return None
