"""Loading of a snapshot through a cache file: the second time, its files are hashed instead of read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.sources.snapshot.cache_entry import decode_entry, encode_entry, snapshot_of
from kschedctl.sources.snapshot.cache_file import CacheFile
from kschedctl.sources.snapshot.fingerprint import find_files
from kschedctl.sources.snapshot.load import Snapshot, load_snapshot


def load_cached(
    paths: Sequence[str | Path],
    *,
    max_unpacked: int | None = None,
    cluster: str = "",
    note: Callable[[str], None] = lambda _: None,
) -> Snapshot:
    """Load a cluster from files, or from the cache of an earlier loading of the same files.

    Parameters
    ----------
    paths : sequence of str or Path
        Files, folders and archives.
    max_unpacked, cluster : int and str, optional
        As for ``load_snapshot``.
    note : callable
        Receives a sentence if the cache cannot be written beside the snapshot.

    Raises
    ------
    SnapshotError
        As for ``load_snapshot``.
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
