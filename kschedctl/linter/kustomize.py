"""Kustomizations near manifests: the files that they list as patches, and the files whose objects they may complete."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from kschedctl.common.errors import InputError
from kschedctl.common.text.tree import YamlNode
from kschedctl.linter.lint_files import LintDocument, LintFile, read_text
from kschedctl.linter.values import at, items, mapping, text
from kschedctl.sources.snapshot.files import file_bytes

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_RESOURCES: Final = ("resources", "components", "bases", "crds")
_BOOLEANS: Final = frozenset(("true", "false"))
#: A value that is a boolean in YAML 1.1 and text in YAML 1.2.
_WORD: Final = re.compile(rb"[:,\[{-][ \t]*(?:y|n|yes|no|on|off)[ \t]*(?:[,\]}#\r\n]|\Z)", re.IGNORECASE)
#: The types of values that the build quotes in annotations.
_QUOTED: Final = (bool, int, float)


class Kustomizations(NamedTuple):
    """The relation of files to kustomizations, by the names of files."""

    #: The files that a kustomization lists as patches.
    patches: frozenset[str] = frozenset()
    #: The files with a kustomization in their folder or above it.
    below: frozenset[str] = frozenset()
    #: The files that a kustomization reads: patches and resources.
    read: frozenset[str] = frozenset()


def kustomizations(files: Sequence[LintFile]) -> Kustomizations:
    """Return the relation of files to kustomizations: those among `files`, and those in their folders and above."""
    known = {_normal(file.name): file.name for file in files}
    found = {path: file for path, file in ((_normal(file.name), file) for file in files) if _is_one(path)}
    above = {folder: _up_to_repository(_normal(folder)) for folder in dict.fromkeys(file.folder for file in files)}
    for folder in dict.fromkeys(folder for folders in above.values() for folder in folders):
        found |= {path: file for path, file in _on_disk(folder) if path not in found}
    patches = {path for file in found.values() for path in _listed(file, _PATCHES)}
    resources = {path for file in found.values() for path in _listed(file, _RESOURCES)}
    folders = {os.path.dirname(path) for path in found}
    return Kustomizations(
        frozenset(known[path] for path in patches & known.keys()),
        frozenset(file.name for file in files if not folders.isdisjoint(above[file.folder])),
        frozenset(known[path] for path in (patches | resources) & known.keys()),
    )


def value_in_build(document: LintDocument) -> Any:
    """Return a document as Kustomize reads it: ``yes`` and ``on`` are text, and so are all values of annotations.

    Kustomize reads YAML 1.2, and quotes these values where it writes them for the API server, which reads YAML 1.1.
    """
    annotations = mapping(at(document.value, "metadata", "annotations"))
    differs = any(isinstance(each, _QUOTED) for each in annotations.values()) or _WORD.search(document.text)
    # The tree of a document takes long to make.
    if document.json or not differs or document.tree is None:
        return document.value
    value = _read(document.value, document.tree, document.characters)
    metadata = document.tree.children.get("metadata")
    found = metadata[1].children.get("annotations") if metadata is not None else None
    annotations = at(value, "metadata", "annotations")
    if found is not None and isinstance(annotations, dict):
        nodes = {key: node for key, (_, node) in found[1].children.items() if isinstance(annotations.get(key), _QUOTED)}
        annotations.update({key: _text(node, document.characters) for key, node in nodes.items()})
    return value


def _read(value: Any, node: YamlNode, characters: str) -> Any:
    if isinstance(value, dict):
        children = node.children
        return {
            key: _read(each, children[key][1], characters) if key in children else each for key, each in value.items()
        }
    if isinstance(value, list) and len(value) == len(node.elements):
        return [_read(each, inner, characters) for each, inner in zip(value, node.elements, strict=True)]
    if isinstance(value, bool) and (text := _text(node, characters)).lower() not in _BOOLEANS:
        return text
    return value


def _text(node: YamlNode, characters: str) -> str:
    return characters[node.start : node.end] if node.start is not None else ""


def _is_one(path: str) -> bool:
    return os.path.basename(path) in NAMES


def _up_to_repository(path: str) -> list[str]:
    """Return a folder and those above it, up to the root of the repository."""
    found: list[str] = []
    for folder in (Path(path), *Path(path).parents):
        found.append(str(folder))
        if (folder / ".git").exists():
            break
    return found


def _on_disk(folder: str) -> Iterator[tuple[str, LintFile]]:
    for name in NAMES:
        path = Path(folder, name)
        try:
            if path.is_file():
                yield str(path), read_text(file_bytes(path), str(path))
        except (OSError, InputError):
            continue


def _listed(file: LintFile, fields: Sequence[str]) -> Iterator[str]:
    folder = os.path.dirname(file.name)
    for document in file.documents:
        for field in fields:
            for entry in items(at(document.value, field)):
                name = _path_of(entry)
                if name and "\n" not in name:
                    yield _normal(os.path.join(folder, name))


def _path_of(entry: Any) -> str:
    return entry if isinstance(entry, str) else text(at(entry, "path"))


def _normal(name: str) -> str:
    return os.path.normpath(os.path.abspath(name))
