"""Names of files: which are read, and why others are not. Lint reads them without the cluster."""

from typing import Final

SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonl", ".ndjson")


READABLE: Final = (*SUFFIXES, *(f"{suffix}.gz" for suffix in SUFFIXES))


_PACKED: Final = (".xz", ".bz2", ".zst", ".lz4")


_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".zip", ".txz", ".tbz2", ".7z", ".rar", *(f".tar{p}" for p in _PACKED))


_PACKED_TEXT: Final = tuple(f"{suffix}{packed}" for suffix in SUFFIXES for packed in _PACKED)


OTHER_NAME: Final = "not named .yaml, .yml, .json, .jsonl, .ndjson or one of these with .gz"


HIDDEN: Final = "hidden"


FOLDER_LINK: Final = "link to a folder"


NESTED_ARCHIVE: Final = "archive inside a folder or archive"


OTHER_PACKING: Final = "compressed, and not with gzip"


MARKDOWN: Final = "objects inside Markdown"


NOT_A_FILE: Final = "not a regular file"


#: Appended to another reason: the content could not be checked for objects of the cluster.
NOT_REACHED: Final = "cannot be opened"


#: Reasons for which a file is reported as a possible part of the cluster without checking its content.
IS_ONE: Final = frozenset({NESTED_ARCHIVE, OTHER_PACKING})


#: Folders of version control systems, whose content is never reported as part of the cluster.
VERSION_CONTROL: Final = frozenset({".git", ".hg", ".svn"})


#: The beginning of the names of our own cache files, which are in no snapshot.
CACHE_PREFIX: Final = ".kschedctl-cache-"


def why_not_read(name: str) -> str | None:
    """Return the reason why a file in a folder or archive is skipped by its name; ``None`` if it is read."""
    lower = name.lower()
    if lower.endswith(READABLE):
        return None
    if lower.endswith(_PACKED_TEXT):
        return OTHER_PACKING
    return NESTED_ARCHIVE if lower.endswith(_ARCHIVES) else OTHER_NAME
