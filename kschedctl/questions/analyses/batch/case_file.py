"""A file of recorded cases: its lines with their numbers, decompressed if needed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import BinaryIO, Final

from kschedctl.common.errors import InputError
from kschedctl.questions.analyses.batch.decider import Line
from kschedctl.sources.snapshot.archives import PackedStream, Unpacking, bounded_lines
from kschedctl.sources.snapshot.files import STDIN, open_stdin

_GZIP_MAGIC: Final = b"\x1f\x8b"


def numbered_lines(stream: BufferedReader, max_unpacked: int | None) -> Iterator[Line]:
    """Yield the lines that are not empty, each with its number.

    Parameters
    ----------
    max_unpacked : int or None
        The most bytes to unpack in all. ``None`` limits only the compression ratio: no more than a case is in memory.

    Raises
    ------
    InputError
        If the compressed cases cannot be read.
    """
    opened: BinaryIO = stream
    if stream.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
        packed = PackedStream(stream)
        unzipped = gzip.GzipFile(fileobj=packed)  # type: ignore[call-overload]
        unpacking = Unpacking.piecewise() if max_unpacked is None else Unpacking(max_unpacked)
        opened = unpacking.counted(unzipped, "the compressed cases", lambda: packed.n_read)
    try:
        for number, text in enumerate(bounded_lines(opened), 1):
            if text.strip():
                yield number, text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"the compressed cases cannot be read: {error}") from None


@contextmanager
def opened_cases(path: str) -> Iterator[BufferedReader]:
    """Open a file of cases; ``-`` is standard input.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    is_stdin = path == STDIN
    try:
        stream = open(open_stdin().fileno() if is_stdin else path, "rb", closefd=not is_stdin)  # noqa: SIM115
        # A folder can be opened but not read.
        stream.peek(1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=path) from None
    with stream:
        yield stream
