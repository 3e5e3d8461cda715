"""Detection of objects for OpenShift, whose nodes still have the labels and taints that kubeadm dropped."""

from __future__ import annotations

from functools import cache
from pathlib import PurePath
from typing import Final

from kschedctl.linter.manifest_set import LintManifests, LintObject
from kschedctl.linter.values import mapping

_ANNOTATION: Final = "include.release.openshift.io/"
_GROUP: Final = ".openshift.io"
_NAMESPACE: Final = "openshift-"
OPENSHIFT: Final = "openshift"


def tells_openshift(obj: LintObject) -> bool:
    """Report whether an object shows that it and the manifests around it are for OpenShift."""
    group = obj.api_version.rpartition("/")[0]
    if f".{group}".endswith(_GROUP) or obj.namespace.startswith(_NAMESPACE):
        return True
    if obj.kind == "Namespace" and obj.name.startswith(_NAMESPACE):
        return True
    return any(key.startswith(_ANNOTATION) for key in mapping(obj.annotations))


class Platform:
    """The platform of each object of a run: OpenShift or not.

    An object that shows that it is for OpenShift counts for all objects in the parent folder of its own folder and
    below, and not for the whole run, because a run may read the manifests of many clusters.

    Parameters
    ----------
    given : LintManifests
        The objects.
    named : str
        The platform that the settings name; empty if they name none. A platform of the settings holds for all objects.
    cluster : bool
        True if the nodes of the snapshot are those of OpenShift.
    """

    def __init__(self, given: LintManifests, named: str = "", *, cluster: bool = False) -> None:
        self._named = named.lower()
        self._cluster = cluster
        shown = {obj.file.folder for obj in given.objects if tells_openshift(obj)} if not self._named else set()
        self._around = frozenset(str(PurePath(folder).parent) for folder in shown) | shown
        self._is_within = cache(self._within)

    def is_openshift(self, obj: LintObject) -> bool:
        """Report whether an object is for OpenShift."""
        if self._named:
            return self._named == OPENSHIFT
        return self._cluster or self._is_within(obj.file.folder)

    def _within(self, folder: str) -> bool:
        path = PurePath(folder)
        return any(str(each) in self._around for each in (path, *path.parents))
