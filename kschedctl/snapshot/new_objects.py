"""Objects of manifests as data: what an API server is asked to take, before anything is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kschedctl.errors import ManifestError
from kschedctl.findings.finding import Finding, Severity, Subject
from kschedctl.releases.release import Release
from kschedctl.validation.validate import validate


@dataclass(frozen=True, slots=True)
class NewObject:
    """An object as data.

    Attributes
    ----------
    where : Subject
        Where it was read, and its name.
    """

    api_version: str
    kind: str
    value: Mapping[str, Any]
    where: Subject

    def findings(self, release: Release) -> Iterator[Finding]:
        """What the API server of a release refuses of it or warns of, but for what the cluster's own classes decide."""
        value = _as_new(self.kind, self.value)
        for finding in validate(self.api_version, self.kind, value, release, admission=False):
            yield finding.at(self.where)


def refuse(objects: Iterable[NewObject], release: Release) -> list[Finding]:
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


def _as_new(kind: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object without what an API server takes of itself alone, where it was read from one."""
    metadata, spec = value.get("metadata"), value.get("spec")
    if not (isinstance(metadata, dict) and metadata.get("uid") and isinstance(spec, dict)):
        return value
    match kind:
        case "Pod":
            return {**value, "spec": {key: item for key, item in spec.items() if key != "ephemeralContainers"}}
        case "Job":
            # Its selector and labels have its own uid in them.
            return {**value, "spec": {**spec, "manualSelector": True}}
        case _:
            return value
