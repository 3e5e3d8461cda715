"""Limits on decompressed data and on streams without a known end, so that a small file cannot fill the memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from io import BufferedReader, BytesIO, RawIOBase
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.objects.quantity import QuantityError, parse_quantity, value

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: The maximum number of bytes that one reading unpacks, by default.
MAX_UNPACKED: Final = 4 * 1024**3
#: The maximum ratio of unpacked to packed size, by default. JSON of many equal pods stays below 100.
MAX_RATIO: Final = 250
#: The number of unpacked bytes up to which the ratio is not limited.
RATIO_FROM: Final = 64 * 1024**2
#: The maximum number of bytes in a line of input with one case per line.
MAX_LINE: Final = 256 * 1024**2
_PIECE: Final = 1024 * 1024


class Unpacking:
    """A counter that limits the bytes that one reading unpacks.

    Parameters
    ----------
    max_unpacked : int, optional
        The maximum number of bytes, by default 4 GiB. If it is given, the compression ratio is not limited.
    """

    def __init__(self, max_unpacked: int | None = None) -> None:
        self.limit = MAX_UNPACKED if max_unpacked is None else max_unpacked
        self._ratio = MAX_RATIO if max_unpacked is None else None
        self._total = 0

    @classmethod
    def piecewise(cls) -> Self:
        """Return limits for data that is discarded piece by piece: only the ratio is limited."""
        unpacking = cls()
        unpacking.limit = sys.maxsize
        return unpacking

    def counted(
        self, stream: Any, name: str, packed: Callable[[], int] | None = None, n_before: int = 0
    ) -> BufferedReader:
        """Return the same stream, but raise InputError when it exceeds the limits.

        Parameters
        ----------
        stream : BinaryIO
            The stream of unpacked bytes.
        name : str
            The name for errors.
        packed : callable, optional
            Returns the number of packed bytes read so far; omitted for data that is not packed.
        n_before : int
            The number of bytes already unpacked from the same archive.
        """
        return BufferedReader(_Counted(stream, name, self, packed, n_before), _PIECE)

    def add(self, n_bytes: int, name: str, n_of_stream: int, packed: Callable[[], int] | None) -> None:
        """Count more bytes of a stream.

        Raises
        ------
        InputError
            If a limit is exceeded.
        """
        self._total += n_bytes
        if self._total > self.limit:
            what = "unpacks to" if packed is not None else "is"
            self.refuse(f"{what} more than {size_text(self.limit)}", name)
        if self._ratio is not None and packed is not None and n_of_stream > RATIO_FROM:
            times = n_of_stream // max(packed(), 1)
            if times > self._ratio:
                self.refuse(f"unpacks to more than {self._ratio} times its size", name)

    def refuse(self, problem: str, name: str) -> None:
        """Raise the error for data that is too large."""
        raise InputError(problem, where=name, hint="to read it anyway, allow more with --max-unpacked")


class _Counted(RawIOBase):
    """A stream that counts its bytes."""

    def __init__(
        self, stream: Any, name: str, unpacking: Unpacking, packed: Callable[[], int] | None, n_before: int
    ) -> None:
        self._stream = stream
        self._name = name
        self._unpacking = unpacking
        self._packed = packed
        self._n_read = n_before

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        # Some streams have no ``readinto``, and that of others may return any amount of data.
        into = memoryview(buffer)
        piece = self._stream.read(len(into))
        if not piece:
            return 0
        into[: len(piece)] = piece
        self._n_read += len(piece)
        self._unpacking.add(len(piece), self._name, self._n_read, self._packed)
        return len(piece)


class PackedStream:
    """A packed stream that counts the bytes read from it, for streams that cannot report their position."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.n_read = 0

    def read(self, size: int = -1) -> bytes:
        """Read from the stream and count the bytes."""
        piece = self._stream.read(size)
        self.n_read += len(piece)
        return piece


def drained(stream: BufferedReader) -> bytes:
    """Return all data of a counted stream, holding it only once."""
    out = BytesIO()
    while piece := stream.read1(_PIECE):
        out.write(piece)
    return out.getvalue()


def bounded_lines(stream: BinaryIO, max_line: int = MAX_LINE) -> Iterator[bytes]:
    """Yield the lines of a stream.

    Raises
    ------
    InputError
        If a line is longer than ``max_line`` bytes (by default 256 MiB).
    """
    while line := stream.readline(max_line + 1):
        if len(line) > max_line:
            raise InputError(f"a line has more than {size_text(max_line)}", hint="a case takes one line")
        yield line


def size_text(n_bytes: int) -> str:
    """Return a number of bytes as text for users.

    Examples
    --------
    >>> size_text(4 * 1024**3), size_text(1500)
    ('4 GiB', '1500 bytes')
    """
    for power, name in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if n_bytes and not n_bytes % 1024**power:
            return f"{n_bytes // 1024**power} {name}"
    return f"{n_bytes} bytes"


def parse_size(text: str) -> int:
    """Parse a size such as ``10Gi``, and return it in bytes.

    Raises
    ------
    InputError
        If the text is not a quantity, or is not greater than zero.

    Examples
    --------
    >>> parse_size("2Gi")
    2147483648
    """
    try:
        size = value(parse_quantity(text))
    except QuantityError as error:
        raise InputError(f"{error}", hint="a size such as 500Mi or 10Gi is expected") from None
    if size <= 0:
        raise InputError(f"{text} is not greater than zero", hint="a size such as 500Mi or 10Gi is expected")
    return size
