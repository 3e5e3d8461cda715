"""The fingerprint of the files of a snapshot: equal fingerprints mean that reading them gives equal results."""

from __future__ import annotations

import hashlib
import os
import platform
import stat
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.sources.snapshot.file_state import State, check_unchanged
from kschedctl.sources.snapshot.sources import STDIN, read_sources
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.sources.snapshot.unpacking import Unpacking

#: SHA-256 is computed at 1.8 GB/s by processors with instructions for it, twice as fast as BLAKE2b.
_ALGORITHM: Final = "sha256"
#: The packages whose code determines the result of reading.
_READERS: Final = ("api", "cluster", "findings", "snapshot", "text")


class FileToRead(NamedTuple):
    """A file that is read, unless its content shows that it is none of the snapshot."""

    name: str
    path: str
    named: bool
    state: State


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """The files of a snapshot, before they are read.

    Attributes
    ----------
    files : tuple of FileToRead
        The files, in the order of reading.
    passed : tuple
        The files and folders that are skipped for their name or type: name, reason, whether that is doubtful, and the
        number of the file that has the same identity, or true for a folder.
    max_unpacked, cluster : int or None, and str
        As for ``SnapshotReader``.
    """

    files: tuple[FileToRead, ...]
    passed: tuple[tuple[str, str, bool, int | None, bool], ...]
    max_unpacked: int | None
    cluster: str

    def fingerprint(self) -> bytes:
        """Return the digest of names and contents, and of the versions of all that reads them.

        Raises
        ------
        InputError, OSError
            If a file cannot be read, or changes meanwhile.
        """
        numbers: dict[Hashable, int] = {}
        # Two names of one file count once, so it matters which names are those of one file.
        files = [
            (each.name, each.named, numbers.setdefault(each.state[:2], len(numbers)), _content(each))
            for each in self.files
        ]
        program = (
            version("kschedctl"),
            _newest_code(),
            platform.python_version(),
            version("msgspec"),
            version("numpy"),
        )
        return _digest(msgspec.msgpack.encode((program, self.max_unpacked, self.cluster, files, self.passed)))


def find_files(paths: Sequence[str | Path], max_unpacked: int | None, cluster: str = "") -> SnapshotFiles | None:
    """Return the files of a snapshot.

    Parameters
    ----------
    paths : sequence of str or Path
        Files, folders and archives.
    max_unpacked, cluster : int or None, and str
        As for ``SnapshotReader``.

    Returns
    -------
    SnapshotFiles or None
        ``None`` if a path is neither a folder nor a regular file, or a folder cannot be read.
    """
    if not all(map(can_be_read_twice, paths)):
        return None
    summary = ReadSummary()
    files: list[FileToRead] = []
    numbers: dict[Hashable, int] = {}
    for source in read_sources(paths, None, summary, Unpacking(max_unpacked), contents=False):
        if isinstance(source, InputError) or source.state is None:
            return None
        files.append(FileToRead(source.name, source.path, source.named, source.state))
        numbers.setdefault(source.identity, len(numbers))
    passed = tuple(
        (each.name, each.reason, each.doubtful, numbers.get(each.identity), each.identity in summary.identities)
        for each in summary.passed
    )
    return SnapshotFiles(tuple(files), passed, max_unpacked, cluster)


def can_be_read_twice(path: str | Path) -> bool:
    """Report whether a path is a folder or a regular file, and not standard input or a pipe."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False
    return str(path) != STDIN and (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _content(file: FileToRead) -> bytes:
    with open(file.path, "rb", buffering=0) as stream:
        digest = hashlib.file_digest(stream, _ALGORITHM).digest()
        check_unchanged(stream.fileno(), file.path, file.state)
    return digest


def _digest(data: bytes) -> bytes:
    return hashlib.new(_ALGORITHM, data).digest()


def _newest_code() -> int:
    """Return the time of the newest module that reads: the version of an editable installation stays the same."""
    package = Path(__file__).parent.parent
    folders = (folder for name in _READERS for folder, _, _ in os.walk(package / name))
    return max(
        each.stat().st_mtime_ns for folder in folders for each in os.scandir(folder) if each.name.endswith(".py")
    )
