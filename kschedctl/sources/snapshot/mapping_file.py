"""The mapping file: the originals of an anonymised snapshot's pseudonyms, for the person who anonymised it only."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kschedctl.common.errors import InputError


def check_mapping(path: str | Path, target: str | Path, *, force: bool) -> None:
    """Check that the mapping can be written to a file. Call before reading a cluster for it.

    Parameters
    ----------
    path : str or Path
        The file.
    target : str or Path
        The target of the snapshot, which must not contain the mapping.
    force : bool
        True if an existing file may be replaced.

    Raises
    ------
    InputError
        If the mapping cannot be written there.
    """
    file, snapshot = Path(path).resolve(), Path(target).resolve()
    if file == snapshot or snapshot in file.parents:
        hint = "name a file outside it: readers of the snapshot must not have the names"
        raise InputError("would be part of the snapshot", where=str(path), hint=hint)
    if not file.parent.is_dir():
        raise InputError("there is no such folder", where=str(Path(path).parent))
    if file.is_dir() or (file.exists() and not force):
        what = "is a folder" if file.is_dir() else "already exists"
        raise InputError(
            what, where=str(path), hint="name another file" + ("" if file.is_dir() else ", or give --force")
        )


def write_mapping(originals: Mapping[str, str], path: str | Path) -> None:
    """Write the mapping, one pseudonym per line, to a file that only its owner can read (mode 0600).

    Parameters
    ----------
    originals : mapping of str to str
        The original text of each pseudonym.
    path : str or Path
        The file; an existing one is replaced once the new one is complete.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    file = Path(path)
    text = json.dumps(dict(sorted(originals.items())), indent=0, ensure_ascii=False) + "\n"
    try:
        # mkstemp creates the file with mode 0600.
        handle, unfinished = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(unfinished).replace(file)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=str(path)) from None
