"""Manifests, read once: objects as data and as types, and what an API server says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kschedctl.api.meta import ApiObject
from kschedctl.errors import ManifestError
from kschedctl.findings.finding import Finding, Severity, Subject
from kschedctl.findings.location import Location
from kschedctl.releases.release import Release
from kschedctl.snapshot.written import WrittenObjects
from kschedctl.validation.validate import validate_decoded


@dataclass(frozen=True, slots=True)
class ManifestObject:
    """An object of a manifest.

    Attributes
    ----------
    location : Location
        Its file, document and item.
    where : Subject
        Its location and name.
    tree : dict or None
        The object as data, as an API server reads it; ``None`` for kinds whose fields are not known.
    struct : ApiObject or None
        The object as its type; ``None`` for kinds that scheduling does not read.
    """

    api_version: str
    kind: str
    location: Location
    where: Subject
    tree: dict[str, Any] | None
    struct: ApiObject | None

    def findings(self, release: Release) -> Iterator[Finding]:
        """Yield what a release's API server refuses or warns of, except what the cluster's own classes decide."""
        if self.tree is None:
            return
        # Validation fills in defaults as it goes: it gets a copy.
        tree = _as_new(self.kind, msgspec.to_builtins(self.tree))
        for finding in validate_decoded(self.api_version, self.kind, tree, release, admission=False):
            yield finding.at(self.where)


@dataclass(frozen=True, slots=True)
class ManifestSet:
    """The content of one or several manifests.

    Attributes
    ----------
    read : tuple of ManifestObject
        The objects whose kind scheduling reads, or whose fields are known.
    left_out : Counter
        The number of objects of kinds that scheduling does not read, by kind and group as kubectl writes them.
    unread : tuple of str
        Files that look like manifests and were not read; one line for each reason.
    warnings : tuple of Finding
        Fields that an API server does not know, or that are given twice, where they are not refused.
    """

    read: tuple[ManifestObject, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)
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
        """The objects that scheduling reads, each with its place."""
        return [(each.struct, each.location) for each in self.read if each.struct is not None]

    @property
    def written(self) -> WrittenObjects:
        """The nodes and pods as they were written."""
        written = WrittenObjects()
        for each in self.read:
            if each.struct is not None and each.tree is not None:
                written.keep(each.struct, each.tree)
        return written


def refuse(objects: Iterable[ManifestObject], release: Release) -> list[Finding]:
    """Insist that an API server would take objects.

    Returns
    -------
    list of Finding
        What it warns of.

    Raises
    ------
    ManifestError
        With all that it refuses.
    """
    found = [finding for each in objects for finding in each.findings(release)]
    ManifestError.raise_any([finding for finding in found if finding.severity is Severity.ERROR])
    return found


def _as_new(kind: str, tree: dict[str, Any]) -> dict[str, Any]:
    """An object without what an API server takes of itself alone, where it was read from one."""
    metadata, spec = tree.get("metadata"), tree.get("spec")
    if not (isinstance(metadata, dict) and metadata.get("uid") and isinstance(spec, dict)):
        return tree
    match kind:
        case "Pod":
            return {**tree, "spec": {key: item for key, item in spec.items() if key != "ephemeralContainers"}}
        case "Job":
            # Its selector and labels have its own uid in them.
            return {**tree, "spec": {**spec, "manualSelector": True}}
        case _:
            return tree
