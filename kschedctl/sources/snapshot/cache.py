"""The cache of a snapshot: the second time, its files are hashed instead of read."""

import dataclasses
import hashlib
import os
import platform
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import StoredPods
from kschedctl.cluster.stored_objects import TYPES
from kschedctl.cluster.unread_objects import Unread
from kschedctl.common.errors import InputError
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.sources.snapshot.archives import Unpacking
from kschedctl.sources.snapshot.files import STDIN, State, check_unchanged, read_sources
from kschedctl.sources.snapshot.load import Snapshot, load_snapshot
from kschedctl.sources.snapshot.names import CACHE_PREFIX
from kschedctl.sources.snapshot.summary import ReadSummary

# The content of a cache file: a loaded snapshot as data, in MessagePack.
#
# Specs and labels that pods share are stored once and are shared again after decoding. Decoding runs no code that the
# file names, unlike that of pickles.


class CacheEntry(msgspec.Struct, frozen=True, array_like=True):
    """A loaded snapshot as data."""

    nodes: tuple[Node, ...]
    pods: StoredPods
    #: The list of the other objects of each kind, encoded.
    objects: dict[str, msgspec.Raw]
    server_version: str
    taken_at: datetime | None
    warnings: tuple[str, ...]
    unread: tuple[Unread, ...]
    listed: dict[str, str]
    not_listed: frozenset[str]
    scheduler_config: dict[str, Any] | None
    left_out: dict[str, int]
    nodes_told: bool
    summary: ReadSummary


def encode_entry(snapshot: Snapshot) -> bytes | None:
    """Encode a snapshot as it was loaded; ``None`` if decoding would not give an equal one."""
    cluster, summary = snapshot.cluster, snapshot.summary
    # Identities of files are compared with one another only, and the result of that is stored.
    doubtful = set(map(id, summary.doubtful()))
    passed = [each._replace(identity=None, doubtful=id(each) in doubtful) for each in summary.passed]
    entry = CacheEntry(
        nodes=cluster.nodes.objects,
        pods=StoredPods.of(cluster.pods.records, cluster.pods.classes),
        objects={
            kind.__name__: msgspec.Raw(msgspec.msgpack.encode(list(cluster.list(kind)))) for kind in cluster.kinds
        },
        server_version=cluster.server_version,
        taken_at=cluster.taken_at,
        warnings=cluster.warnings,
        unread=cluster.unread,
        listed=cluster.listed,
        not_listed=cluster.not_listed,
        scheduler_config=snapshot.scheduler_config,
        left_out=snapshot.left_out,
        nodes_told=snapshot.nodes_told,
        summary=dataclasses.replace(summary, identities=set(), passed=passed),
    )
    try:
        encoded = msgspec.msgpack.encode(entry)
        decoded = decode_entry(encoded)
        same = decoded == entry and all(
            list(_by_name(objects, TYPES[name]).values()) == list(snapshot.cluster.list(TYPES[name]))
            for name, objects in decoded.objects.items()
        )
    except (msgspec.MsgspecError, OverflowError, TypeError):
        return None
    return encoded if same else None


def decode_entry(encoded: bytes | memoryview) -> CacheEntry:
    """Decode an entry.

    Raises msgspec.MsgspecError if the data is no entry.
    """
    return msgspec.msgpack.Decoder(CacheEntry, dec_hook=_of_type).decode(encoded)


def _of_type(type_: type[Any], value: Any) -> Any:
    """Return the value of a type that msgspec does not know: a counter, or the identity of a file, which is empty."""
    return Counter(value) if isinstance(value, dict) else value


def snapshot_of(entry: CacheEntry, paths: tuple[str, ...]) -> Snapshot:
    """Return the snapshot of an entry."""
    nodes, stored = Nodes(entry.nodes), entry.pods
    records = stored.records(range(len(stored.classes)), stored.classes, stored.specs)
    cluster = Cluster(
        nodes,
        Pods(records, stored.classes, nodes),
        {TYPES[name]: _by_name(objects, TYPES[name]) for name, objects in entry.objects.items()},
        server_version=entry.server_version,
        taken_at=entry.taken_at,
        warnings=entry.warnings,
        unread=entry.unread,
        listed=entry.listed,
        not_listed=entry.not_listed,
    )
    return Snapshot(
        cluster=cluster,
        paths=paths,
        scheduler_config=entry.scheduler_config,
        left_out=entry.left_out,
        nodes_told=entry.nodes_told,
        summary=entry.summary,
    )


def _by_name(encoded: msgspec.Raw, type_: type[ApiObject]) -> dict[tuple[str, str], ApiObject]:
    decode: Callable[[msgspec.Raw], list[ApiObject]] = msgspec.msgpack.Decoder(list[type_]).decode  # type: ignore[valid-type]
    return {(obj.namespace, obj.name): obj for obj in decode(encoded)}


# Cache files: their place beside the snapshot or in the user's cache folder, and safe reading and writing.
#
# A cache file begins with its format, the fingerprint of the snapshot, and the digest and length of the content. A file
# that is cut, longer, foreign or outdated is ignored and written again. Another user could plant a file with other
# content in a shared folder, so a file counts only if it belongs to the user and nobody else can write it.

#: The number changes with the format of the content.
_FORMAT: Final = b"kschedctl cache 3\n"
_DIGEST: Final = hashlib.sha256
_DIGEST_SIZE: Final = 32
_LENGTH_SIZE: Final = 8
_OTHERS_WRITE: Final = 0o022
_VARIABLE: Final = "XDG_CACHE_HOME"


class CacheFile:
    """The cache file of a snapshot.

    Args:
        paths: The files and folders of the snapshot.
        cluster: The cluster in them that is read; empty if there is only one.
    """

    def __init__(self, paths: Sequence[str | Path], cluster: str = "") -> None:
        beside = Path(os.path.abspath(paths[0])).parent
        # A path that is written in two ways has two cache files, since messages contain it as it is written.
        known_by = "\0".join([str(_user()), str(beside), *map(str, paths), *([f"\0{cluster}"] if cluster else [])])
        name = CACHE_PREFIX + _DIGEST(known_by.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._beside = beside / name
        local = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
        home = Path(os.path.expanduser("~"), "Library/Caches" if sys.platform == "darwin" else ".cache")
        self._of_user = Path(os.environ.get(_VARIABLE) or local or home) / "kschedctl" / name

    def read(self, key: bytes) -> bytes | None:
        """Return the content that is stored for a key of 32 bytes, or ``None``."""
        contents = (_content(path, key) for path in (self._beside, self._of_user))
        return next((content for content in contents if content is not None), None)

    def write(self, key: bytes, content: bytes) -> str:
        """Store the content for a key, in place of what the file contains.

        Returns: A note for the user if it is not stored beside the snapshot; else empty.
        """
        length = len(content).to_bytes(_LENGTH_SIZE, "big")
        whole = b"".join((_FORMAT, key, _DIGEST(content).digest(), length, content))
        try:
            _replace(self._beside, whole)
        except OSError as error:
            why = f"no cache can be written beside the snapshot ({error.strerror})"
        else:
            return ""
        try:
            self._of_user.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(self._of_user, whole)
        except OSError as error:
            return f"{why}, nor in {self._of_user.parent} ({error.strerror})"
        return f"{why}: it is in {self._of_user.parent}"


def _content(path: Path, key: bytes) -> bytes | None:
    try:
        with open(path, "rb", opener=_no_link) as stream:
            of = os.fstat(stream.fileno())
            if of.st_uid != _user() or (os.name == "posix" and of.st_mode & _OTHERS_WRITE):
                return None
            begin = _FORMAT + key
            if stream.read(len(begin)) != begin:
                return None
            digest, length = stream.read(_DIGEST_SIZE), int.from_bytes(stream.read(_LENGTH_SIZE), "big")
            if of.st_size != stream.tell() + length:
                return None
            content = stream.read(length)
    except OSError:
        return None
    return content if _DIGEST(content).digest() == digest else None


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _replace(path: Path, content: bytes) -> None:
    """Write a file that only the user can read, in one step: readers see the old content or the new one."""
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _user() -> int:
    """Return the id of the user; 0 where there is none, as ``os.stat`` does."""
    return os.geteuid() if sys.platform != "win32" else 0


# The fingerprint of the files of a snapshot: equal fingerprints mean that reading them gives equal results.

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
    """The files of a snapshot, before they are read."""

    #: The files, in the order of reading.
    files: tuple[FileToRead, ...]
    #: The files and folders that are skipped for their name or type: name, reason, whether that is doubtful, and
    #: the number of the file that has the same identity, or true for a folder.
    passed: tuple[tuple[str, str, bool, int | None, bool], ...]
    #: As for ``SnapshotReader``.
    max_unpacked: int | None
    cluster: str

    def fingerprint(self) -> bytes:
        """Return the digest of names and contents, and of the versions of all that reads them.

        Raises InputError, OSError if a file cannot be read, or changes meanwhile.
        """
        numbers: dict[Hashable, int] = {}
        # Two names of one file count once, so it matters which names are those of one file.
        files = [
            (each.name, each.named, numbers.setdefault(each.state[:2], len(numbers)), _fingerprint_content(each))
            for each in self.files
        ]
        program = (
            version("kschedctl"),
            _newest_code(),
            platform.python_version(),
            version("msgspec"),
            version("numpy"),
        )
        return hashlib.new(
            _ALGORITHM, msgspec.msgpack.encode((program, self.max_unpacked, self.cluster, files, self.passed))
        ).digest()


def find_files(paths: Sequence[str | Path], max_unpacked: int | None, cluster: str = "") -> SnapshotFiles | None:
    """Return the files of a snapshot.

    Args:
        paths: Files, folders and archives.

    Returns: ``None`` if a path is neither a folder nor a regular file, or a folder cannot be read.
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


def _fingerprint_content(file: FileToRead) -> bytes:
    with open(file.path, "rb", buffering=0) as stream:
        digest = hashlib.file_digest(stream, _ALGORITHM).digest()
        check_unchanged(stream.fileno(), file.path, file.state)
    return digest


def _newest_code() -> int:
    """Return the time of the newest module that reads: the version of an editable installation stays the same."""
    package = Path(__file__).parent.parent
    folders = (folder for name in _READERS for folder, _, _ in os.walk(package / name))
    return max(
        each.stat().st_mtime_ns for folder in folders for each in os.scandir(folder) if each.name.endswith(".py")
    )


def load_cached(
    paths: Sequence[str | Path],
    *,
    max_unpacked: int | None = None,
    cluster: str = "",
    note: Callable[[str], None] = lambda _: None,
) -> Snapshot:
    """Load a cluster from files, or from the cache of an earlier loading of the same files.

    Args:
        paths: Files, folders and archives.
        note: Receives a sentence if the cache cannot be written beside the snapshot.

    Raises SnapshotError as for ``load_snapshot``.
    """
    files = find_files(paths, max_unpacked, cluster)
    try:
        key = b"" if files is None else files.fingerprint()
    except (InputError, OSError):
        key = b""
    if files is None or not key:
        # Reading reports what is wrong.
        return load_snapshot(paths, max_unpacked=max_unpacked, cluster=cluster)
    cache = CacheFile(paths, cluster)
    content = cache.read(key)
    if content is not None:
        with suppress(msgspec.MsgspecError, LookupError):
            return snapshot_of(decode_entry(content), tuple(map(str, paths)))
    snapshot = load_snapshot(paths, max_unpacked=max_unpacked, cluster=cluster)
    encoded = encode_entry(snapshot)
    # Files that changed between hashing and reading would be stored under the wrong key.
    if (
        encoded is not None
        and find_files(paths, max_unpacked, cluster) == files
        and (told := cache.write(key, encoded))
    ):
        note(told)
    return snapshot
