"""The clusters in a folder or archive: a snapshot is about one of them, by its path inside."""

import os
import posixpath
from collections.abc import Callable, Iterable, Mapping
from enum import Flag, auto
from functools import reduce
from operator import or_
from typing import Final

from kschedctl.common.text.patterns import pattern
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.sources.snapshot.names import READABLE

#: The reason for which files are skipped.
OTHER_CLUSTER: Final = "of another cluster"
#: A folder that must-gather names after an image; each image collects a part of the same cluster.
_IMAGE: Final = pattern(r".*sha256-[0-9a-f]{64}")
#: Clusters are looked for in at most this many folders inside each other.
_MOST_FOLDERS: Final = 32


class Part(Flag):
    """The parts of a cluster that a file contains."""

    NODES = auto()
    PODS = auto()
    #: The header of a captured snapshot: its folder is a cluster.
    HEADER = auto()


PART_OF_KIND: Final[Mapping[type[ApiObject], Part]] = {Node: Part.NODES, Pod: Part.PODS}


def clusters_in(parts: Mapping[str, Part], depth: int = 0) -> list[str]:
    """Return the paths of the clusters in a folder or archive; an empty path if it is one cluster as a whole.

    Folders beside each other that have both nodes and pods are clusters of their own, and so are files. Tools put the
    nodes of a cluster beside its pods or above them: kubectl cluster-info dump, must-gather, support bundles, and
    kschedctl itself.

    Args:
        parts: The content of the files that have any part, by their paths inside, with slashes.

    >>> clusters_in({"eu/nodes.json": Part.NODES, "eu/pods.json": Part.PODS, "us.yaml": Part.NODES | Part.PODS})
    ['eu', 'us.yaml']
    >>> clusters_in({"dump/nodes.json": Part.NODES, "dump/shop/pods.json": Part.PODS, "dump/db/pods.json": Part.PODS})
    ['']
    """
    if depth == _MOST_FOLDERS:
        return [""]
    below: dict[str, dict[str, Part]] = {}
    for inside, part in parts.items():
        first, _, rest = inside.partition("/")
        below.setdefault(first, {})[rest] = part
    whole = {first: rest for first, rest in below.items() if _is_whole(rest)}
    found = [
        f"{first}/{inner}" if inner else first
        for first, rest in whole.items()
        for inner in ([""] if "" in rest else clusters_in(rest, depth + 1))
    ]
    return sorted(found) if len(found) > 1 and not all(map(_IMAGE.fullmatch, whole)) else [""]


def _is_whole(parts: Mapping[str, Part]) -> bool:
    """Report whether a folder, given by its files, or a file, given by an empty path, has all of a cluster."""
    every = reduce(or_, parts.values())
    return Part.NODES | Part.PODS in every or (Part.HEADER in every and "" not in parts)


def chosen(name: str, clusters: Iterable[str], parts: Mapping[str, Part]) -> list[str]:
    """Return the clusters with a name.

    It is the last part of the path, for a file with or without its suffix, or the name of a folder that has all of the
    cluster.

    >>> parts = dict.fromkeys(("eu/prod/nodes.json", "eu/prod/shop/pods.json", "us.yaml"), Part.NODES)
    >>> [chosen(name, ["eu", "us.yaml"], parts) for name in ("eu", "prod", "shop", "us", "us.yaml")]
    [['eu'], ['eu'], [], ['us.yaml'], ['us.yaml']]
    """
    return [cluster for cluster in clusters if name in _names_of_parts(cluster, parts)]


def _names_of_parts(cluster: str, parts: Mapping[str, Part]) -> set[str]:
    last = cluster.rpartition("/")[2]
    if cluster in parts:
        return {last, *(last.removesuffix(suffix) for suffix in READABLE)}
    folders = [posixpath.dirname(inside) for inside in parts if inside.startswith(f"{cluster}/")]
    return {last, *posixpath.commonpath(folders).removeprefix(cluster).split("/")} - {""}


def outside(root: str, cluster: str) -> Callable[[str, bool], str]:
    """Return the `Exclusion` of all files and folders of a folder or archive that are not in a cluster.

    Args:
        root: The folder or archive, as the names of its files begin.
    """

    def excluded(path: str, is_folder: bool) -> str:
        inside = path_inside(path, root)
        is_above = is_folder and cluster.startswith(f"{inside}/")
        return "" if is_above or f"{inside}/".startswith(f"{cluster}/") else OTHER_CLUSTER

    return excluded


def path_inside(name: str, root: str) -> str:
    """Return the path of a file inside a folder or archive, with slashes; empty for the file itself.

    >>> path_inside("dump.tar.gz:eu/nodes.json", "dump.tar.gz"), path_inside("dump/eu", "dump/"), path_inside("a", "a")
    ('eu/nodes.json', 'eu', '')
    """
    return name.removeprefix(root).replace(os.sep, "/").lstrip("/:")
