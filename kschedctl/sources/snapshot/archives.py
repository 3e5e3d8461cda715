"""Reading of tar, zip and gzip files, with limits on decompressed data."""

import posixpath
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO, RawIOBase
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Self

from kschedctl.common.errors import InputError
from kschedctl.objects.quantity import QuantityError, parse_quantity, value
from kschedctl.sources.snapshot.content_sniffing import GZIP_MAGIC, HEAD, passed_file
from kschedctl.sources.snapshot.names import HIDDEN, IS_ONE, NOT_A_FILE, VERSION_CONTROL, why_not_read
from kschedctl.sources.snapshot.summary import SkippedFile

if TYPE_CHECKING:
    import tarfile

    from _typeshed import WriteableBuffer


# Limits on decompressed data and on streams without a known end, so that a small file cannot fill the memory.

#: The maximum number of bytes that one reading unpacks, by default.
MAX_UNPACKED: Final = 4 * 1024**3
#: The maximum ratio of unpacked to packed size, by default. JSON of many equal pods stays below 100.
MAX_RATIO: Final = 250
#: The number of unpacked bytes up to which the ratio is not limited.
RATIO_FROM: Final = 64 * 1024**2
#: The maximum number of bytes in a line of input with one case per line.
MAX_LINE: Final = 256 * 1024**2


class Unpacking:
    """A counter that limits the bytes that one reading unpacks.

    total: The number of bytes that it has unpacked.

    Args:
        max_unpacked: The maximum number of bytes, by default 4 GiB. If it is given, the compression ratio is not
            limited.
    """

    def __init__(self, max_unpacked: int | None = None) -> None:
        self.limit = MAX_UNPACKED if max_unpacked is None else max_unpacked
        self._ratio = MAX_RATIO if max_unpacked is None else None
        self.total = 0

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

        Args:
            stream: The stream of unpacked bytes.
            packed: Returns the number of packed bytes read so far; omitted for data that is not packed.
            n_before: The number of bytes already unpacked from the same archive.
        """
        return BufferedReader(_Counted(stream, name, self, packed, n_before), _PIECE)

    def add(self, n_bytes: int, name: str, n_of_stream: int, packed: Callable[[], int] | None) -> None:
        """Count more bytes of a stream.

        Raises InputError if a limit is exceeded.
        """
        self.total += n_bytes
        if self.total > self.limit:
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

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
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

    Raises InputError if a line is longer than ``max_line`` bytes (by default 256 MiB).
    """
    while line := stream.readline(max_line + 1):
        if len(line) > max_line:
            raise InputError(f"a line has more than {size_text(max_line)}", hint="a case takes one line")
        yield line


def size_text(n_bytes: int) -> str:
    """Return a number of bytes as text for users.

    >>> size_text(4 * 1024**3), size_text(1500)
    ('4 GiB', '1500 bytes')
    """
    for power, name in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if n_bytes and not n_bytes % 1024**power:
            return f"{n_bytes // 1024**power} {name}"
    return f"{n_bytes} bytes"


def parse_size(text: str) -> int:
    """Parse a size such as ``10Gi``, and return it in bytes.

    Raises InputError if the text is not a quantity, or is not greater than zero.

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


_ENCRYPTED: Final = 0x1
_PIECE: Final = 1024 * 1024


class Member(NamedTuple):
    """A file in an archive: its name in the archive, and its content."""

    name: str
    content: bytes


@contextmanager
def compressed(name: str) -> Iterator[None]:
    """Convert the errors that decompressors raise for broken input to ``InputError``."""
    import lzma
    import struct
    import tarfile
    import zipfile

    broken = (zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zipfile.LargeZipFile, struct.error)
    # zipfile raises these for unknown methods and flags, and for invalid numbers.
    unusual = (NotImplementedError, RuntimeError, ValueError, OverflowError, LookupError)
    try:
        yield
    except EOFError:
        raise InputError("is truncated: the compressed data ends too early", where=name) from None
    except (*broken, *unusual) as error:
        raise InputError(f"is a broken archive: {error}", where=name) from None
    except OSError as error:
        # gzip.BadGzipFile is an OSError without an errno; real read errors have one.
        if error.errno is not None:
            raise
        raise InputError(f"is a broken archive: {error}", where=name) from None


def gunzipped(content: bytes, name: str, unpacking: Unpacking) -> bytes:
    """Return the decompressed content of a gzip file, and the content of any other file unchanged.

    Raises InputError if the content is broken, or exceeds the limits when decompressed.
    """
    if not content.startswith(GZIP_MAGIC):
        return content
    import gzip

    packed = BytesIO(content)
    with compressed(name):
        return drained(unpacking.counted(gzip.GzipFile(fileobj=packed), name, packed.tell))


def read_tar(stream: BinaryIO | Any, name: str, unpacking: Unpacking) -> Iterator[Member | InputError | SkippedFile]:
    """Yield the members of a tar archive, in its order.

    Args:
        stream: The archive, positioned at its beginning.
        unpacking: The limits on decompressed data.

    Raises InputError if the archive is broken or incomplete; the members before the error have been yielded.
    """
    import tarfile

    with compressed(name), tarfile.open(fileobj=stream, mode="r|", tarinfo=_strict_members()) as archive:
        for member in archive:
            if member.isdir():
                continue
            inside = member.name.removeprefix("./")
            if not member.isreg():
                # The skipped entry for a link, pipe or device; nothing is missing if a link's target is read.
                target = (
                    member.linkname if member.islnk() else posixpath.join(posixpath.dirname(inside), member.linkname)
                )
                identity = f"{name}:{posixpath.normpath(target)}"
                is_folder_like = not posixpath.splitext(inside)[1] and member.issym()
                hidden = _is_hidden(inside)
                doubtful = not hidden and (why_not_read(inside) is None or is_folder_like)
                yield SkippedFile(f"{name}:{inside}", NOT_A_FILE, doubtful, identity)
                continue
            if member.issparse():
                yield InputError("is a sparse file, not text", where=f"{name}:{inside}")
                continue
            extracted = archive.extractfile(member)
            assert extracted is not None
            reason = _why_passed(inside)
            if reason is not None:
                yield _passed(name, inside, reason, extracted)
                continue
            packed = extracted.read()
            try:
                yield Member(inside, gunzipped(packed, f"{name}:{inside}", unpacking))
            except InputError as error:
                yield error
        # Data behind the end of the archive would be lost.
        behind: Any = archive.fileobj
        while rest := behind.read(_PIECE):
            if rest.count(0) != len(rest):
                raise tarfile.ReadError("more data follows its end, as in joined archives: give them one by one")


def _strict_members() -> "type[tarfile.TarInfo]":
    """Return a member class that raises an error for a damaged or missing header, which tarfile takes for the end."""
    import tarfile

    # The published types lack the subclasses of HeaderError.
    errors: Any = tarfile

    class StrictMember(tarfile.TarInfo):
        @classmethod
        def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
            try:
                return super().fromtarfile(archive)
            except (errors.EmptyHeaderError, errors.TruncatedHeaderError):
                raise tarfile.ReadError("it is truncated: its end marker is missing") from None
            except errors.InvalidHeaderError as error:
                raise tarfile.ReadError(f"a member cannot be read: {error}") from None

    return StrictMember


def read_zip(stream: BinaryIO | Any, name: str, unpacking: Unpacking) -> Iterator[Member | InputError | SkippedFile]:
    """Yield the members of a zip archive, in its order; parameters and errors are those of ``read_tar``."""
    import zipfile

    with compressed(name), zipfile.ZipFile(stream) as archive:
        size, n_unpacked = stream.seek(0, 2), 0
        for member in archive.infolist():
            if member.is_dir():
                continue
            inside = member.filename.removeprefix("./")
            where = f"{name}:{inside}"
            reason = _why_passed(inside)
            if stat.S_ISLNK(member.external_attr >> 16):
                yield SkippedFile(where, NOT_A_FILE, reason is None)
            elif member.flag_bits & _ENCRYPTED:
                if reason is None:
                    yield InputError("is encrypted", where=where, hint="unpack it and give the folder")
                else:
                    yield SkippedFile(where, reason, reason in IS_ONE)
            else:
                try:
                    with compressed(where), archive.open(member) as opened:
                        if reason is not None:
                            yield _passed(name, inside, reason, opened)
                            continue
                        # Members may overlap, so the ratio is computed for the archive as a whole.
                        content = drained(unpacking.counted(opened, where, lambda: size, n_unpacked))
                    n_unpacked += len(content)
                    yield Member(inside, gunzipped(content, where, unpacking))
                except InputError as error:
                    yield error


def _is_hidden(inside: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in inside.split("/"))


def _why_passed(inside: str) -> str | None:
    return HIDDEN if _is_hidden(inside) else why_not_read(inside)


def _passed(archive: str, inside: str, reason: str, stream: Any) -> SkippedFile:
    name = f"{archive}:{inside}"
    if not VERSION_CONTROL.isdisjoint(inside.split("/")):
        return SkippedFile(name, reason, identity=name)
    return passed_file(name, reason, stream.read(HEAD), name)
