"""Cache files: their place beside the snapshot or in the user's cache folder, and safe reading and writing.

A cache file begins with its format, the fingerprint of the snapshot, and the digest and length of the content. A file
that is cut, longer, foreign or outdated is ignored and written again. Another user could plant a file with other
content in a shared folder, so a file counts only if it belongs to the user and nobody else can write it.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kschedctl.sources.snapshot.names import CACHE_PREFIX

#: The number changes with the format of the content.
_FORMAT: Final = b"kschedctl cache 2\n"
_DIGEST: Final = hashlib.sha256
_DIGEST_SIZE: Final = 32
_LENGTH_SIZE: Final = 8
_OTHERS_WRITE: Final = 0o022
_VARIABLE: Final = "XDG_CACHE_HOME"


class CacheFile:
    """The cache file of a snapshot.

    Parameters
    ----------
    paths : sequence of str or Path
        The files and folders of the snapshot.
    cluster : str
        The cluster in them that is read; empty if there is only one.
    """

    def __init__(self, paths: Sequence[str | Path], cluster: str = "") -> None:
        beside = Path(os.path.abspath(paths[0])).parent
        # A path that is written in two ways has two cache files, since messages contain it as it is written.
        known_by = "\0".join([str(_user()), str(beside), *map(str, paths), *([f"\0{cluster}"] if cluster else [])])
        name = CACHE_PREFIX + _DIGEST(known_by.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._beside = beside / name
        self._of_user = _user_folder() / name

    def read(self, key: bytes) -> bytes | None:
        """Return the content that is stored for a key of 32 bytes, or ``None``."""
        contents = (_content(path, key) for path in (self._beside, self._of_user))
        return next((content for content in contents if content is not None), None)

    def write(self, key: bytes, content: bytes) -> str:
        """Store the content for a key, in place of what the file contains.

        Returns
        -------
        str
            A note for the user if it is not stored beside the snapshot; else empty.
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


def _user_folder() -> Path:
    """Return the folder for cache files of the user, by the conventions of the system."""
    return next(_user_folders()) / "kschedctl"


def _user_folders() -> Iterator[Path]:
    if os.environ.get(_VARIABLE):
        yield Path(os.environ[_VARIABLE])
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        yield Path(os.environ["LOCALAPPDATA"])
    home = Path(os.path.expanduser("~"))
    yield home / ("Library/Caches" if sys.platform == "darwin" else ".cache")
