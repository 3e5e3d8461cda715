"""Writing of a captured snapshot to a folder or archive, with one list per kind."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.common.wording import listed
from kschedctl.objects.kinds import CAPTURED_KINDS, plural
from kschedctl.sources.snapshot.capture import Capture
from kschedctl.sources.snapshot.header import HEADER_FILE

ARCHIVES: Final = (".tar.gz", ".tgz")
_NOT_WRITTEN: Final = (".tar", ".zip", ".gz", ".json", ".jsonl", ".ndjson", ".yaml", ".yml")
_PLACES: Final = {type_: key for key, type_ in CAPTURED_KINDS.items()}
_FILE_MODE: Final = 0o644
#: The names of all files that a snapshot may contain.
_NAMES: Final = frozenset({HEADER_FILE, *(f"{plural(kind.lower())}.json" for _, kind in CAPTURED_KINDS)})


def write_capture(captured: Capture, target: str | Path, *, force: bool = False) -> None:
    """Write a captured snapshot.

    Parameters
    ----------
    captured : Capture
        The snapshot.
    target : str or Path
        A file name that ends in ``.tar.gz`` or ``.tgz``, else a folder, which must be empty or not exist yet.
    force : bool
        True to replace an earlier snapshot: a file once the new one is complete, a folder only if it contains nothing
        else.

    Raises
    ------
    InputError
        If the snapshot cannot be written.
    """
    path = Path(target)
    check_target(path, force=force)
    try:
        if path.name.endswith(ARCHIVES):
            _write_archive(captured, path)
        else:
            _write_folder(captured, path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=str(path)) from None


def check_target(target: str | Path, *, force: bool = False) -> None:
    """Check that a snapshot can be written to ``target``. Call before reading a cluster for it.

    Parameters
    ----------
    target, force
        As for ``write_capture``.

    Raises
    ------
    InputError
        If the snapshot cannot be written.
    """
    path = Path(target)
    if path.name.endswith(ARCHIVES):
        if not path.parent.is_dir():
            raise InputError("there is no such folder", where=str(path.parent))
        if path.is_dir() or (path.exists() and not force):
            hint = "name another file" if path.is_dir() else "name another file, or give --force"
            raise InputError("already exists", where=str(path), hint=hint)
        return
    if path.suffix in _NOT_WRITTEN:
        hint = "give FILE.tar.gz or DIR"
        raise InputError("is neither a folder nor an archive that can be written", where=str(path), hint=hint)
    if not path.exists():
        return
    hint = "name a folder that is empty or does not exist"
    if path.is_dir():
        present = {entry.name for entry in path.iterdir()}
        others = sorted(present - _NAMES)
        if not present or (force and not others):
            return
        if not others:
            hint += ", or give --force"
        elif force:
            # Other files would be read as part of the snapshot.
            hint = f"--force replaces only a snapshot, but the folder also has {listed(others)}"
    raise InputError("already exists and is not an empty folder", where=str(path), hint=hint)


def _files(captured: Capture) -> Iterator[tuple[str, bytes]]:
    """Yield the file names and contents; the header comes first, so that readers of an archive find it at once."""
    yield HEADER_FILE, _formatted(captured.header)
    for type_, objects in captured.objects.items():
        group, kind = _PLACES[type_]
        api_version = f"{group}/v1" if group else "v1"
        items = b",\n".join(map(msgspec.json.encode, objects))
        head = msgspec.json.encode({"apiVersion": api_version, "kind": f"{kind}List"})
        yield f"{plural(kind.lower())}.json", b'%s,"items":[\n%s\n]}\n' % (head[:-1], items)


def _formatted(header: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(header), indent=2) + b"\n"


def _write_folder(captured: Capture, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in _NAMES:
        (folder / name).unlink(missing_ok=True)
    for name, content in _files(captured):
        (folder / name).write_bytes(content)


def _write_archive(captured: Capture, path: Path) -> None:
    moment = captured.header.captured_at
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            for name, content in _files(captured):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                member.mode = _FILE_MODE
                member.mtime = int(moment.timestamp()) if moment is not None else 0
                archive.addfile(member, BytesIO(content))
        mask = os.umask(0)
        os.umask(mask)
        Path(unfinished).chmod(0o666 & ~mask)
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
