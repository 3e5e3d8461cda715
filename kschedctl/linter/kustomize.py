"""Files that kustomizations list as patches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kschedctl.errors import InputError
from kschedctl.linter.lint_files import LintFile, read_text
from kschedctl.linter.values import at, items, text
from kschedctl.snapshot.text_file import file_bytes

_NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_FIELDS: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")


def patches(files: Sequence[LintFile]) -> frozenset[str]:
    """Return the names of the files that a kustomization lists as patches.

    Kustomizations among `files` count, and those in the folders of `files` and in the parents of these folders.
    """
    known = {_normal(file.name): file.name for file in files}
    found: set[str] = set()
    seen: set[str] = set()
    for file in files:
        if Path(file.name).name in _NAMES:
            seen.add(_normal(file.name))
            found |= set(_listed(file))
    own = dict.fromkeys(file.folder for file in files if file.on_disk)
    for folder in dict.fromkeys(Path(above) for each in own for above in (each, os.path.dirname(each) or "..")):
        for name in _NAMES:
            path = folder / name
            if _normal(str(path)) not in seen and path.is_file():
                seen.add(_normal(str(path)))
                found |= set(_of_path(path))
    return frozenset(known[path] for path in found & known.keys())


def _of_path(path: Path) -> Iterator[str]:
    try:
        file = read_text(file_bytes(path), str(path))
    except InputError:
        return
    yield from _listed(file)


def _listed(file: LintFile) -> Iterator[str]:
    folder = os.path.dirname(file.name)
    for document in file.documents:
        for field in _FIELDS:
            for entry in items(at(document.value, field)):
                name = _path_of(entry)
                if name and "\n" not in name:
                    yield _normal(os.path.join(folder, name))


def _path_of(entry: Any) -> str:
    return entry if isinstance(entry, str) else text(at(entry, "path"))


def _normal(name: str) -> str:
    return os.path.normpath(os.path.abspath(name))
