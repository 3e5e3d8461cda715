"""Shared types of the validation rules: their input and their context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kschedctl.common.findings import Finding
from kschedctl.objects.releases.release import Release
from kschedctl.objects.releases.validation_rules import ValidationRules

#: An object or a part of one, decoded by ``kschedctl.objects.schema.decode``: fields of the right type, no nulls.
Tree: TypeAlias = dict[str, Any]
Found: TypeAlias = Iterator[Finding]


@dataclass(frozen=True, slots=True)
class ValidationContext:
    """The inputs of validation besides the object.

    Attributes
    ----------
    release : Release
        The release of the API server.
    is_pod : bool
        True if a Pod itself is validated, not a pod template.
    pod_name : str
        The pod's name if a Pod itself is validated; else empty.
    merged_labels : mapping of str to str
        The pod's labels if the label keys of its selectors have yet to be merged into the selectors; else empty.
    partial : bool
        True if the tree contains only the fields that scheduling reads, so that other fields must not be required.
    host_users : bool
        True if the pod uses the host's user namespace.
    """

    release: Release
    is_pod: bool = False
    pod_name: str = ""
    merged_labels: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    host_users: bool = True

    def on(self, gate: str) -> bool:
        """Report whether a feature gate of the API server is on."""
        return self.release.api_server_has(gate)

    @property
    def rules(self) -> ValidationRules:
        """The rules in which the release's validation differs from that of other releases."""
        return self.release.validation

    def of_pod(self, metadata: Tree) -> ValidationContext:
        """Return the context for a Pod itself.

        A partial pod has been admitted, so its label keys are already merged into its selectors.
        """
        labels = {} if self.partial else metadata.get("labels", {})
        return replace(self, is_pod=True, pod_name=metadata.get("name", ""), merged_labels=labels)

    def of_users(self, host_users: bool) -> ValidationContext:
        """Return the context for a pod that uses the host's user namespace, or does not."""
        return replace(self, host_users=host_users)
