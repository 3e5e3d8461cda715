"""Kustomizations near manifests: the files that they list as patches, and the files whose objects they may complete."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from kschedctl.errors import InputError
from kschedctl.linter.lint_files import LintFile, read_text
from kschedctl.linter.values import at, items, text

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_FIELDS: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")


class Kustomizations(NamedTuple):
    """The relation of files to kustomizations, by the names of files."""

    #: The files that a kustomization lists as patches.
    patches: frozenset[str] = frozenset()
    #: The files with a kustomization in their folder or above it.
    below: frozenset[str] = frozenset()


def kustomizations(files: Sequence[LintFile]) -> Kustomizations:
    """Return the relation of files to kustomizations: those among `files`, and those in their folders and above."""
    known = {_normal(file.name): file.name for file in files}
    found = {path: file for path, file in ((_normal(file.name), file) for file in files) if _is_one(path)}
    above = {file.name: _folders(_normal(file.name)) for file in files}
    for folder in dict.fromkeys(folder for folders in above.values() for folder in folders):
        found |= {path: file for path, file in _on_disk(folder) if path not in found}
    listed = {path for file in found.values() for path in _listed(file)}
    folders = {os.path.dirname(path) for path in found}
    return Kustomizations(
        frozenset(known[path] for path in listed & known.keys()),
        frozenset(name for name, own in above.items() if not folders.isdisjoint(own)),
    )


def _is_one(path: str) -> bool:
    return os.path.basename(path) in NAMES


def _folders(path: str) -> list[str]:
    """Return the folder of a file and those above it, up to the root of the repository."""
    found: list[str] = []
    for folder in Path(path).parents:
        found.append(str(folder))
        if (folder / ".git").exists():
            break
    return found


def _on_disk(folder: str) -> Iterator[tuple[str, LintFile]]:
    for name in NAMES:
        path = Path(folder, name)
        try:
            if path.is_file():
                yield str(path), read_text(path.read_bytes(), str(path))
        except (OSError, InputError):
            continue


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
