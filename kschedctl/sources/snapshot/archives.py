"""Reading of tar, zip and gzip files; broken content of any kind raises one type of error."""

from __future__ import annotations

import posixpath
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Self

from kschedctl.common.errors import InputError
from kschedctl.sources.snapshot.content_sniffing import GZIP_MAGIC, HEAD, passed_file
from kschedctl.sources.snapshot.names import HIDDEN, IS_ONE, NOT_A_FILE, VERSION_CONTROL, why_not_read
from kschedctl.sources.snapshot.summary import SkippedFile
from kschedctl.sources.snapshot.unpacking import Unpacking, drained

if TYPE_CHECKING:
    import tarfile

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

    Raises
    ------
    InputError
        If the content is broken, or exceeds the limits when decompressed.
    """
    if not content.startswith(GZIP_MAGIC):
        return content
    import gzip

    packed = BytesIO(content)
    with compressed(name):
        return drained(unpacking.counted(gzip.GzipFile(fileobj=packed), name, packed.tell))


def read_tar(stream: BinaryIO | Any, name: str, unpacking: Unpacking) -> Iterator[Member | InputError | SkippedFile]:
    """Yield the members of a tar archive, in its order.

    Parameters
    ----------
    stream : BinaryIO
        The archive, positioned at its beginning.
    name : str
        The archive's name.
    unpacking : Unpacking
        The limits on decompressed data.

    Raises
    ------
    InputError
        If the archive is broken or incomplete; the members before the error have been yielded.
    """
    import tarfile

    with compressed(name), tarfile.open(fileobj=stream, mode="r|", tarinfo=_strict_members()) as archive:
        for member in archive:
            if member.isdir():
                continue
            inside = member.name.removeprefix("./")
            if not member.isreg():
                yield _tar_link(member, name, inside)
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
        _check_end(archive)


def _strict_members() -> type[tarfile.TarInfo]:
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


def _check_end(archive: tarfile.TarFile) -> None:
    """Raise an error if data follows the end of the archive, which would be lost."""
    import tarfile

    stream: Any = archive.fileobj
    while rest := stream.read(_PIECE):
        if rest.count(0) != len(rest):
            raise tarfile.ReadError("more data follows its end, as in joined archives: give them one by one")


def _tar_link(member: tarfile.TarInfo, archive: str, inside: str) -> SkippedFile:
    """Return the skipped entry for a link, pipe or device; nothing is missing if a link's target is read."""
    target = member.linkname if member.islnk() else posixpath.join(posixpath.dirname(inside), member.linkname)
    identity = f"{archive}:{posixpath.normpath(target)}"
    is_folder_like = not posixpath.splitext(inside)[1] and member.issym()
    hidden = _is_hidden(inside)
    doubtful = not hidden and (why_not_read(inside) is None or is_folder_like)
    return SkippedFile(f"{archive}:{inside}", NOT_A_FILE, doubtful, identity)


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
