"""Reading of files that are held in memory as a whole, such as settings, configurations, plans and baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kschedctl.errors import InputError
from kschedctl.snapshot.unpacking import size_text

#: The maximum number of bytes of a file that is no snapshot and no manifest.
MAX_TEXT: Final = 64 * 1024**2


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
