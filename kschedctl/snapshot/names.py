"""Which files of folders and archives are read, by their names, and why the others are not."""

from __future__ import annotations

from typing import Final

SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonl", ".ndjson")
READABLE: Final = (*SUFFIXES, *(f"{suffix}.gz" for suffix in SUFFIXES))
_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".zip")

OTHER_NAME: Final = "not named .yaml, .yml, .json, .jsonl, .ndjson or one of these with .gz"
HIDDEN: Final = "hidden"
FOLDER_LINK: Final = "link to a folder"
NESTED_ARCHIVE: Final = "archive inside a folder or archive"
NOT_A_FILE: Final = "no regular file"
#: Behind another reason: whether it looks like part of the cluster is not known.
NOT_REACHED: Final = "cannot be opened"
#: Reasons that are enough to take a file for part of the cluster.
IS_ONE: Final = frozenset({NESTED_ARCHIVE})
#: Folders of copies that nobody takes for the thing itself.
VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn"})


def why_not_read(name: str) -> str | None:
    """Why a file of this name, found in a folder or archive, is passed over; ``None`` where it is read."""
    lower = name.lower()
    if lower.endswith(READABLE):
        return None
    return NESTED_ARCHIVE if lower.endswith(_ARCHIVES) else OTHER_NAME
