"""The way back from pseudonyms: a file for whoever anonymised a snapshot, and for nobody else."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kschedctl.errors import InputError


def check_mapping(path: str | Path, target: str | Path, *, force: bool) -> None:
    """Find out whether the way back can be written to a file, before a cluster is read for it.

    Parameters
    ----------
    path : str or Path
        The file.
    target : str or Path
        Where the snapshot goes: what is given away with it must not have the way back.
    force : bool
        Whether a file that is there may be replaced.

    Raises
    ------
    InputError
        Where it cannot.
    """
    file, snapshot = Path(path).resolve(), Path(target).resolve()
    if file == snapshot or snapshot in file.parents:
        hint = "name a file beside it: who has the snapshot must not have the names"
        raise InputError("would be part of the snapshot", where=str(path), hint=hint)
    if not file.parent.is_dir():
        raise InputError("there is no such folder", where=str(Path(path).parent))
    if file.is_dir() or (file.exists() and not force):
        what = "is a folder" if file.is_dir() else "is there already"
        raise InputError(
            what, where=str(path), hint="name another file" + ("" if file.is_dir() else ", or give --force")
        )


def write_mapping(originals: Mapping[str, str], path: str | Path) -> None:
    """Write the way back, a pseudonym per line, for the user alone (mode 0600).

    Parameters
    ----------
    originals : mapping of str to str
        What each pseudonym stands for.
    path : str or Path
        The file; one that is there is replaced once the new one is complete.

    Raises
    ------
    InputError
        Where it cannot be written.
    """
    file = Path(path)
    text = json.dumps(dict(sorted(originals.items())), indent=0, ensure_ascii=False) + "\n"
    try:
        # Made for the user alone from the start.
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
