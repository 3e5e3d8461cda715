"""Sources of text: folders, files, archives and standard input."""

import os
import stat
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from io import BytesIO, FileIO
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from kschedctl.common.errors import InputError
from kschedctl.common.text.characters import utf8_text
from kschedctl.sources.snapshot.archives import (
    Member,
    Unpacking,
    compressed,
    drained,
    gunzipped,
    read_tar,
    read_zip,
    size_text,
)
from kschedctl.sources.snapshot.clusters import outside, path_inside
from kschedctl.sources.snapshot.content_sniffing import GZIP_MAGIC, HEAD, ZIP_MAGICS, is_tar, passed_file
from kschedctl.sources.snapshot.names import (
    CACHE_PREFIX,
    FOLDER_LINK,
    HIDDEN,
    NOT_A_FILE,
    NOT_REACHED,
    VERSION_CONTROL,
    why_not_read,
)
from kschedctl.sources.snapshot.summary import ReadSummary, SkippedFile

# Detection of files that change while they are read: the result would be a mix of both versions.

State = tuple[int, int, int, int]
CHANGED: Final = "was changed while it was read"


def state(of: os.stat_result) -> State:
    """Return the values that identify a file and its version: device, inode, size and modification time."""
    return of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns


def check_unchanged(descriptor: int, path: str, before: State) -> None:
    """Raise InputError if an open file, or the file at its path, has changed.

    Args:
        before: The file's state before reading.
    """
    now = [state(os.fstat(descriptor))]
    with suppress(FileNotFoundError):
        # A file that was only deleted was still read completely.
        now.append(state(os.stat(path)))
    if any(each != before for each in now):
        raise InputError(CHANGED, where=path, hint="read it again once nothing writes to it")


#: Returns the reason for leaving out a path, and an empty text to read it; the second argument is true for a folder.
Exclusion: TypeAlias = Callable[[str, bool], str]
STDIN: Final = "-"
STDIN_NAME: Final = "standard input"


def input_name(path: str | Path) -> str:
    """Return the name of an input in errors: its path, or words for ``-``."""
    return STDIN_NAME if str(path) == STDIN else str(path)


#: The size in bytes from which an uncompressed file is streamed.
LARGE: Final = 64 * 1024 * 1024
#: The end of the name of a packed file, which is not streamed.
_PACKED: Final = ".gz"


class _Opened(Enum):
    """The files of folders whose content is read when they are found; others are yielded by their paths."""

    SMALL = auto()
    PACKED_OR_EMPTY = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True)
class Source:
    """The content of one file.

    Args:
        name: The name as the user would write it; members of archives as ``dump.tar.gz:nodes.json``.
        content: The decompressed content; empty if ``path`` is set.
        named: True if the user named this file itself, False if it was found in a folder or archive.
        path: The path of a file that is too large to be read as a whole; empty for all others.
        state: The state of the large file when it was found.
        inside: The path inside the folder or archive that the user named; empty if ``named``.
    """

    name: str
    content: bytes
    named: bool
    path: str = ""
    state: State | None = field(default=None, compare=False)
    identity: Hashable = field(default=None, compare=False)
    inside: str = ""

    def below(self, root: str) -> "Source":
        """Return the source with its path inside a folder or archive."""
        inside = path_inside(self.name, root)
        return Source(self.name, self.content, self.named, self.path, self.state, self.identity, inside)


def read_sources(
    paths: Sequence[str | Path],
    stdin: BinaryIO | None,
    summary: ReadSummary,
    unpacking: Unpacking,
    exclusion_below: Callable[[str], Exclusion] | None = None,
    *,
    contents: bool = True,
    later: bool = False,
    cluster: str = "",
) -> Iterator[Source | InputError]:
    """Yield the files at the given paths, one at a time, in a fixed order.

    Args:
        paths: Files, folders and archives; ``-`` is standard input. Folders are read recursively in the order of
            names, archives in their own.
        summary: Records the skipped files of folders and archives, and the reasons.
        unpacking: The limits on decompressed data.
        exclusion_below: Returns the paths to leave out below a folder of ``paths``; ``None`` to read all.
        contents: False to yield each regular file by its path only, as if it were large; archives are not opened.
        later: True to yield the files of folders by their paths only, unless they are packed or empty.
        cluster: The path of a cluster inside folders and archives, whose other files are skipped; empty to read
            all.

    Yields: An error for each file that cannot be read; the files after it still follow.
    """
    for path in paths:
        root = input_name(path)
        is_other = outside(root, cluster) if cluster else _read_all
        exclusion = exclusion_below(root) if exclusion_below is not None and root != STDIN_NAME else is_other
        n_passed = len(summary.passed)
        opened = (_Opened.PACKED_OR_EMPTY if later else _Opened.SMALL) if contents else _Opened.NONE
        for source in _read_path(path, stdin, summary, unpacking, exclusion, opened):
            if isinstance(source, InputError) or source.named:
                yield source
            elif why := is_other(source.name, False):
                summary.passed.append(SkippedFile(source.name, why))
            else:
                yield source.below(root)
        if cluster:
            # Nothing is missing if a file of another cluster is not read.
            summary.passed[n_passed:] = [
                each._replace(doubtful=each.doubtful and not is_other(each.name, False))
                for each in summary.passed[n_passed:]
            ]


def _read_path(
    path: str | Path,
    stdin: BinaryIO | None,
    summary: ReadSummary,
    unpacking: Unpacking,
    exclusion: Exclusion,
    opened: _Opened,
) -> Iterator[Source | InputError]:
    name = str(path)
    try:
        if name == STDIN:
            if stdin is None:
                raise InputError("standard input is not available here", where=STDIN, hint="name a file or a folder")
            yield from _read_endless(stdin, STDIN_NAME, summary, unpacking)
        elif Path(path).is_dir():
            yield from _read_folder(name, summary, unpacking, exclusion, opened)
        else:
            with open(path, "rb", buffering=0) as raw:
                yield from _read_named(raw, name, summary, unpacking, contents=opened is not _Opened.NONE)
    except (OSError, ValueError) as error:
        # A path with a NUL is a ValueError.
        yield cannot_read(name, error)
    except InputError as error:
        yield error


def cannot_read(name: str, error: OSError | ValueError) -> InputError:
    """Return the error for a file that the operating system does not let us read."""
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file or folder", where=name)
    return InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", where=name)


def _read_named(
    raw: FileIO, name: str, summary: ReadSummary, unpacking: Unpacking, *, contents: bool
) -> Iterator[Source | InputError]:
    """Read a file that the user named, which may also be a pipe or a device."""
    before = os.fstat(raw.fileno())
    if not stat.S_ISREG(before.st_mode):
        yield from _read_endless(raw, name, summary, unpacking)
        return
    head = os.pread(raw.fileno(), HEAD, 0)
    if not contents or (before.st_size >= LARGE and not _is_packed(head)):
        yield Source(name, b"", True, name, state(before), (before.st_dev, before.st_ino))
        return
    try:
        yield from _read_stream(raw, name, before, summary, unpacking)
    except InputError:
        # A file that changed while being read may look broken.
        check_unchanged(raw.fileno(), name, state(before))
        raise
    check_unchanged(raw.fileno(), name, state(before))


def _read_endless(
    stream: BinaryIO | FileIO, name: str, summary: ReadSummary, unpacking: Unpacking
) -> Iterator[Source | InputError]:
    """Read a stream without a known end."""
    counted = unpacking.counted(stream, name)
    head = counted.peek(HEAD)
    if not _is_packed(head):
        # Fail early on binary data: a device may yield zeros without end.
        utf8_text(head[: len(head) // 2 * 2], name)
        yield Source(name, drained(counted), True)
        return
    yield from _read_stream(BytesIO(drained(counted)), name, None, summary, unpacking)


def _is_packed(head: bytes) -> bool:
    return head.startswith((GZIP_MAGIC, *ZIP_MAGICS)) or is_tar(head)


def _read_stream(
    raw: FileIO | BytesIO, name: str, of: os.stat_result | None, summary: ReadSummary, unpacking: Unpacking
) -> Iterator[Source | InputError]:
    """Read a file, with its format detected from its first bytes, not from its name."""
    identity = None if of is None else (of.st_dev, of.st_ino)
    head = raw.read(HEAD)
    raw.seek(0)
    if head.startswith(ZIP_MAGICS):
        yield from _sources_in_archive(read_zip(raw, name, unpacking), name, summary)
    elif head.startswith(GZIP_MAGIC):
        import gzip

        # Closing the reader must not close the file, whose state is checked later.
        with gzip.GzipFile(fileobj=raw) as unzipped:
            with compressed(name):
                stream = unpacking.counted(unzipped, name, raw.tell)
                packs_tar = is_tar(stream.peek(HEAD))
                content = b"" if packs_tar else drained(stream)
            if packs_tar:
                yield from _sources_in_archive(read_tar(stream, name, unpacking), name, summary)
            else:
                yield Source(name, content, True, identity=identity)
    elif is_tar(head):
        yield from _sources_in_archive(read_tar(raw, name, unpacking), name, summary)
    else:
        yield Source(name, raw.read(), True, identity=identity)


def _sources_in_archive(
    members: Iterator[Member | InputError | SkippedFile], archive: str, summary: ReadSummary
) -> Iterator[Source | InputError]:
    for member in members:
        if isinstance(member, InputError):
            yield member
        elif isinstance(member, SkippedFile):
            summary.passed.append(member)
        else:
            # A link may point to a member, or to a folder that contains it.
            parts = member.name.split("/")
            summary.identities |= {f"{archive}:{'/'.join(parts[:n])}" for n in range(1, len(parts))}
            name = f"{archive}:{member.name}"
            yield Source(name, member.content, False, identity=name)


def _read_all(_: str, __: bool) -> str:
    return ""


def _read_folder(
    folder: str, summary: ReadSummary, unpacking: Unpacking, exclusion: Exclusion, opened: _Opened
) -> Iterator[Source | InputError]:
    # A stack instead of recursion, as folders can be nested deeper than Python calls.
    waiting: list[tuple[str, bool]] = [(folder, False)]
    while waiting:
        path, hidden = waiting.pop()
        try:
            is_folder = path == folder or stat.S_ISDIR(os.lstat(path).st_mode)
            if path != folder and (why := exclusion(path, is_folder)):
                summary.passed.append(SkippedFile(path, why))
                continue
            if is_folder:
                entries = sorted(os.listdir(path))
        except OSError as error:
            yield cannot_read(path, error)
            continue
        if not is_folder:
            yield from _read_entry(path, summary, unpacking, opened, hidden=hidden)
            continue
        if not hidden:
            of = os.stat(path)
            summary.identities.add((of.st_dev, of.st_ino))
        for name in reversed(entries):
            if name.startswith(CACHE_PREFIX):
                continue
            if name in VERSION_CONTROL:
                summary.passed.append(SkippedFile(os.path.join(path, name), HIDDEN))
            else:
                waiting.append((os.path.join(path, name), hidden or name.startswith(".")))


def _read_entry(
    path: str, summary: ReadSummary, unpacking: Unpacking, opened: _Opened, *, hidden: bool
) -> Iterator[Source | InputError]:
    """Read a file that was found in a folder."""
    reason = HIDDEN if hidden else why_not_read(os.path.basename(path))
    try:
        of = os.stat(path)
    except OSError as error:
        if reason is None:
            yield cannot_read(path, error)
        else:
            # Without an extension, it could have been a folder.
            lost = not hidden and not os.path.splitext(path)[1]
            summary.passed.append(SkippedFile(path, f"{reason}, {NOT_REACHED}", lost))
        return
    identity = of.st_dev, of.st_ino
    if stat.S_ISDIR(of.st_mode):
        # Following a link to a folder could lead into a cycle.
        summary.passed.append(SkippedFile(path, FOLDER_LINK, not hidden, identity))
    elif not stat.S_ISREG(of.st_mode):
        # A pipe may never yield data, and a device may never end.
        summary.passed.append(SkippedFile(path, NOT_A_FILE, reason is None, identity))
    elif reason is not None:
        try:
            with open(path, "rb") as stream:
                summary.passed.append(passed_file(path, reason, stream.read(HEAD), identity))
        except OSError:
            summary.passed.append(SkippedFile(path, f"{reason}, {NOT_REACHED}", True, identity))
    elif opened is _Opened.PACKED_OR_EMPTY and 0 < of.st_size < LARGE and not path.endswith(_PACKED):
        yield Source(path, b"", False, path, state(of), identity)
    else:
        yield source_at(path, unpacking, 0 if opened is _Opened.NONE else LARGE)


def source_at(path: str, unpacking: Unpacking, large: int = LARGE, inside: str = "") -> Source | InputError:
    """Read a file of a folder.

    Args:
        large: The size in bytes from which the file is returned by its path only, unless it is packed; 0 for any file.

    Returns: An error if the file cannot be read.
    """
    try:
        with open(path, "rb", buffering=0) as raw:
            of = os.fstat(raw.fileno())
            identity = of.st_dev, of.st_ino
            if of.st_size >= large and not (large and path.endswith(_PACKED)):
                return Source(path, b"", False, path, state(of), identity, inside)
            content = gunzipped(raw.read(), path, unpacking)
            check_unchanged(raw.fileno(), path, state(of))
            return Source(path, content, False, identity=identity, inside=inside)
    except (OSError, InputError) as error:
        return error if isinstance(error, InputError) else cannot_read(path, error)


def whole_source(source: Source, unpacking: Unpacking) -> Source:
    """Return a large file with its content, if it cannot be streamed.

    Raises InputError if the file is larger than ``unpacking.limit``, binary, or has changed in the meantime.
    """
    assert source.state is not None
    with open(source.path, "rb") as stream:
        # A binary file is recognised by its beginning.
        utf8_text(stream.read(HEAD), source.name)
        if os.fstat(stream.fileno()).st_size > unpacking.limit:
            problem = f"is more than {size_text(unpacking.limit)} and not a list that can be read in pieces"
            unpacking.refuse(problem, source.name)
        stream.seek(0)
        content = stream.read()
        check_unchanged(stream.fileno(), source.path, source.state)
    return Source(source.name, content, source.named, identity=source.identity)


# Standard input as a source of snapshots and manifests.


def open_stdin() -> BinaryIO:
    """Return standard input as bytes.

    Raises InputError if standard input is closed.
    """
    if sys.stdin is None:
        raise InputError("cannot be read: it is closed", where="standard input")
    return sys.stdin.buffer


# Files that are held in memory as a whole, such as settings, configurations and baselines: read and replaced.

#: The maximum number of bytes of a file that is no snapshot and no manifest.
MAX_TEXT: Final = 64 * 1024**2
#: The beginning of the names of files that are still being written; readers of folders leave out hidden files.
_UNFINISHED: Final = ".kschedctl-unfinished-"


def file_bytes(path: str | Path, error: type[InputError] = InputError, *, hint: str = "") -> bytes:
    """Return the content of a file of at most 64 MiB.

    Args:
        path: The file, which may also be a pipe or a device.
        hint: The remedy for a file that cannot be read.

    Raises InputError if the file cannot be read, or is larger: an error of the given type.
    """
    try:
        with open(path, "rb") as stream:
            content = stream.read(MAX_TEXT + 1)
    except (OSError, ValueError) as problem:
        # A path with a NUL is a ValueError.
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"cannot be read: {reason}", where=str(path), hint=hint) from None
    if len(content) > MAX_TEXT:
        raise error(f"is more than {size_text(MAX_TEXT)}", where=str(path))
    return content


def replace_file(path: str | Path, content: bytes) -> None:
    """Write a file in one step: it has the old content or the new one, even if the disk is full or the power fails.

    An existing file keeps its permissions and its owner; of a link, the file that it leads to is replaced.

    Raises OSError if the file cannot be written. It then has its old content.
    """
    # Few commands write a file.
    import tempfile

    file = Path(os.path.realpath(path))
    of = file.stat() if file.exists() else None
    if of is not None:
        # Renaming would replace a file that is protected from writing.
        with open(file, "r+b"):
            pass
    descriptor, unfinished = tempfile.mkstemp(prefix=_UNFINISHED, dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if of is not None and sys.platform != "win32":
            # Only root can give a file to somebody else.
            with suppress(OSError):
                os.chown(unfinished, of.st_uid, of.st_gid)
        os.chmod(unfinished, _mode_of_new() if of is None else stat.S_IMODE(of.st_mode))
        os.replace(unfinished, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


def _mode_of_new() -> int:
    """Return the permissions that a new file gets by default."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
