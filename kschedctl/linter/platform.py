"""Whether objects are meant for OpenShift, whose nodes still carry what kubeadm's lost."""

from __future__ import annotations

from functools import cache
from pathlib import PurePath
from typing import Final

from kschedctl.linter.manifest_set import ManifestObject, ManifestSet
from kschedctl.linter.values import mapping

_ANNOTATION: Final = "include.release.openshift.io/"
_GROUP: Final = ".openshift.io"
_NAMESPACE: Final = "openshift-"
OPENSHIFT: Final = "openshift"


def tells_openshift(obj: ManifestObject) -> bool:
    """Whether an object shows that it, and what is given with it, is meant for OpenShift."""
    group = obj.api_version.rpartition("/")[0]
    if f".{group}".endswith(_GROUP) or obj.namespace.startswith(_NAMESPACE):
        return True
    if obj.kind == "Namespace" and obj.name.startswith(_NAMESPACE):
        return True
    return any(key.startswith(_ANNOTATION) for key in mapping(obj.annotations))


class Platform:
    """Which of the objects are meant for OpenShift.

    An object that shows it speaks for all that lies in the folder around its own, for a run may take in the
    manifests of many clusters.

    ``given``: the objects.
    ``named``: what the settings say; empty for nothing.
    ``cluster``: whether the nodes of the snapshot show it.
    """

    def __init__(self, given: ManifestSet, named: str = "", *, cluster: bool = False) -> None:
        self._named = named.lower()
        self._cluster = cluster
        shown = {obj.file.folder for obj in given.objects if tells_openshift(obj)} if not self._named else set()
        self._around = frozenset(str(PurePath(folder).parent) for folder in shown) | shown
        self._is_within = cache(self._within)

    def is_openshift(self, obj: ManifestObject) -> bool:
        """Whether an object is meant for OpenShift."""
        if self._named:
            return self._named == OPENSHIFT
        return self._cluster or self._is_within(obj.file.folder)

    def _within(self, folder: str) -> bool:
        path = PurePath(folder)
        return any(str(each) in self._around for each in (path, *path.parents))
