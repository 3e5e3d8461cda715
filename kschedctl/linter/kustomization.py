"""Kustomizations near manifests: the files that they list, and the values of these files as Kustomize reads them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from kschedctl.common.errors import InputError
from kschedctl.common.text.tree import YamlNode
from kschedctl.linter.lint_files import LintDocument, LintFile, read_text
from kschedctl.linter.values import at, items, mapping, text
from kschedctl.sources.snapshot.files import file_bytes

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
PATCH_FIELDS: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
RESOURCE_FIELDS: Final = ("resources", "components", "bases", "crds")
_BOOLEANS: Final = frozenset(("true", "false"))
#: A value that is a boolean in YAML 1.1 and text in YAML 1.2.
_WORD: Final = re.compile(rb"[:,\[{-][ \t]*(?:y|n|yes|no|on|off)[ \t]*(?:[,\]}#\r\n]|\Z)", re.IGNORECASE)
#: The types of values that the build quotes in annotations.
_QUOTED: Final = (bool, int, float)


class Kustomizations(NamedTuple):
    """The relation of files to kustomizations, by the names of files."""

    #: The files that a kustomization lists as patches, and none as a resource.
    patches: frozenset[str] = frozenset()
    #: The files with a kustomization in their folder or above it.
    below: frozenset[str] = frozenset()
    #: The files that a kustomization reads: patches and resources.
    read: frozenset[str] = frozenset()
    #: The kustomizations, by their folders.
    by_folder: Mapping[str, LintFile] = {}


def kustomizations(files: Sequence[LintFile]) -> Kustomizations:
    """Return the relation of files to kustomizations: those among `files`, and those in their folders and above."""
    known = {normal_path(file.name): file.name for file in files}
    paths = ((normal_path(file.name), file) for file in files)
    found = {path: file for path, file in paths if os.path.basename(path) in NAMES}
    above = {folder: _up_to_repository(normal_path(folder)) for folder in dict.fromkeys(file.folder for file in files)}
    for folder in dict.fromkeys(folder for folders in above.values() for folder in folders):
        found |= {path: file for path, file in _on_disk(folder) if path not in found}
    patches = {path for file in found.values() for path in listed_paths(file, PATCH_FIELDS)}
    resources = {path for file in found.values() for path in listed_paths(file, RESOURCE_FIELDS)}
    # The name of a kustomization that was rendered stands for the output.
    by_folder = {os.path.dirname(path): file for path, file in found.items() if not file.built}
    folders = {os.path.dirname(path) for path in found}
    return Kustomizations(
        frozenset(known[path] for path in (patches - resources) & known.keys()),
        frozenset(file.name for file in files if not folders.isdisjoint(above[file.folder])),
        frozenset(known[path] for path in (patches | resources) & known.keys()),
        by_folder,
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
    value = _value_as_written(document.value, document.tree, document.characters)
    metadata = document.tree.children.get("metadata")
    found = metadata[1].children.get("annotations") if metadata is not None else None
    annotations = at(value, "metadata", "annotations")
    if found is not None and isinstance(annotations, dict):
        nodes = {key: node for key, (_, node) in found[1].children.items() if isinstance(annotations.get(key), _QUOTED)}
        annotations.update({key: _node_text(node, document.characters) for key, node in nodes.items()})
    return value


def _value_as_written(value: Any, node: YamlNode, characters: str) -> Any:
    if isinstance(value, dict):
        children = node.children
        return {
            key: _value_as_written(each, children[key][1], characters) if key in children else each
            for key, each in value.items()
        }
    if isinstance(value, list) and len(value) == len(node.elements):
        return [_value_as_written(each, inner, characters) for each, inner in zip(value, node.elements, strict=True)]
    if isinstance(value, bool) and (text := _node_text(node, characters)).lower() not in _BOOLEANS:
        return text
    return value


def _node_text(node: YamlNode, characters: str) -> str:
    return characters[node.start : node.end] if node.start is not None else ""


def _up_to_repository(path: str) -> list[str]:
    """Return a folder and those above it, up to the root of the repository."""
    found: list[str] = []
    for folder in (Path(path), *Path(path).parents):
        found.append(str(folder))
        if (folder / ".git").exists():
            break
    return found


def _on_disk(folder: str) -> Iterator[tuple[str, LintFile]]:
    for path in (os.path.join(folder, name) for name in NAMES):
        file = read_from_disk(path)
        if file is not None:
            yield path, file


def read_from_disk(path: str) -> LintFile | None:
    """Return a file beside those of the run; ``None`` if there is none, or it cannot be read."""
    try:
        return read_text(file_bytes(Path(path)), path) if Path(path).is_file() else None
    except (OSError, InputError):
        return None


def listed_paths(file: LintFile, fields: Sequence[str]) -> Iterator[str]:
    """Yield the paths of the files and folders that a kustomization lists in some of its fields."""
    folder = os.path.dirname(file.name)
    for document in file.documents:
        for key in fields:
            for entry in items(at(document.value, key)):
                name = entry if isinstance(entry, str) else text(at(entry, "path"))
                if name and "\n" not in name:
                    yield normal_path(os.path.join(folder, name))


def normal_path(name: str) -> str:
    """Return the absolute path of a file, without links resolved."""
    return os.path.normpath(os.path.abspath(name))
