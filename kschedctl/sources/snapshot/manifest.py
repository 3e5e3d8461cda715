"""The content of manifests: objects as data and as types, and the findings of an API server's validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kschedctl.common.errors import ManifestError
from kschedctl.common.findings import Finding, Location, Severity, Subject
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.release import Release
from kschedctl.sources.snapshot.original_objects import OriginalObjects


class ManifestObject(msgspec.Struct, frozen=True):
    """An object of a manifest.

    Attributes
    ----------
    location : Location
        The file, document and item number.
    where : Subject
        The location and name.
    tree : dict or None
        The object as data, as an API server decodes it; ``None`` for kinds with unknown fields.
    struct : ApiObject or None
        The object as its type; ``None`` for kinds that scheduling does not depend on.
    """

    api_version: str
    kind: str
    location: Location
    where: Subject
    tree: dict[str, Any] | None
    struct: ApiObject | None

    def findings(self, release: Release) -> Iterator[Finding]:
        """Yield a release's API server errors and warnings, except those that depend on the cluster's own classes."""
        if self.tree is None:
            return
        # Snapshots are read without validation.
        from kschedctl.objects.validation.validate import validate_decoded

        # Validation fills in defaults in place, so it gets a copy.
        tree = _as_new(self.kind, msgspec.to_builtins(self.tree))
        for finding in validate_decoded(self.api_version, self.kind, tree, release, admission=False):
            yield finding.at(self.where)


class ManifestSet(msgspec.Struct, frozen=True):
    """The content of one or more manifests.

    Attributes
    ----------
    read : tuple of ManifestObject
        The objects of kinds that scheduling depends on, or whose fields are known.
    left_out : Counter
        The number of objects of kinds that scheduling does not depend on, by kind and group as kubectl writes them.
    unread : tuple of str
        Descriptions of files that look like manifests and were not read; one line per reason.
    warnings : tuple of Finding
        Unknown and duplicate fields, if they are not errors.
    """

    read: tuple[ManifestObject, ...] = ()
    left_out: Counter[str] = msgspec.field(default_factory=Counter)
    unread: tuple[str, ...] = ()
    warnings: tuple[Finding, ...] = ()

    def __add__(self, other: ManifestSet) -> ManifestSet:
        return ManifestSet(
            self.read + other.read,
            self.left_out + other.left_out,
            self.unread + other.unread,
            self.warnings + other.warnings,
        )

    @property
    def objects(self) -> list[tuple[ApiObject, Location]]:
        """The objects that scheduling depends on, each with its location."""
        return [(each.struct, each.location) for each in self.read if each.struct is not None]

    @property
    def written(self) -> OriginalObjects:
        """The originals of nodes and pods."""
        written = OriginalObjects()
        for each in self.read:
            if each.struct is not None and each.tree is not None:
                written.keep(each.struct, each.tree)
        return written


def refuse(objects: Iterable[ManifestObject], release: Release) -> list[Finding]:
    """Raise an error if an API server would reject one of the objects.

    Returns
    -------
    list of Finding
        The warnings of the API server.

    Raises
    ------
    ManifestError
        If there are errors; it contains all of them.
    """
    found = [finding for each in objects for finding in each.findings(release)]
    ManifestError.raise_any([finding for finding in found if finding.severity is Severity.ERROR])
    return found


def _as_new(kind: str, tree: dict[str, Any]) -> dict[str, Any]:
    """Return an object read from an API server without the fields that only the API server itself may set."""
    metadata, spec = tree.get("metadata"), tree.get("spec")
    if not (isinstance(metadata, dict) and metadata.get("uid") and isinstance(spec, dict)):
        return tree
    match kind:
        case "Pod":
            return {**tree, "spec": {key: item for key, item in spec.items() if key != "ephemeralContainers"}}
        case "Job":
            # Its selector and labels contain its own uid.
            return {**tree, "spec": {**spec, "manualSelector": True}}
        case _:
            return tree
