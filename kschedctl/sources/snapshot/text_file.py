"""Files that are held in memory as a whole, such as settings, configurations and baselines: read and replaced."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.sources.snapshot.unpacking import size_text

#: The maximum number of bytes of a file that is no snapshot and no manifest.
MAX_TEXT: Final = 64 * 1024**2
#: The beginning of the names of files that are still being written; readers of folders leave out hidden files.
_UNFINISHED: Final = ".kschedctl-unfinished-"


def file_bytes(path: str | Path, error: type[InputError] = InputError, *, hint: str = "") -> bytes:
    """Return the content of a file of at most 64 MiB.

    Parameters
    ----------
    path : str or Path
        The file, which may also be a pipe or a device.
    error : type of InputError
        The error type to raise.
    hint : str
        The remedy for a file that cannot be read.

    Raises
    ------
    InputError
        If the file cannot be read, or is larger: an error of the given type.
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

    Raises
    ------
    OSError
        If the file cannot be written. It then has its old content.
    """
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
