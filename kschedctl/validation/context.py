"""What all rules share: the form of what they check, and what it depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kschedctl.findings.finding import Finding
from kschedctl.releases.release import Release
from kschedctl.releases.validation_rules import ValidationRules

#: An object or a part of one, as ``kschedctl.api.schema.decode`` reads it: fields of the right form, no nulls.
Tree: TypeAlias = dict[str, Any]
Found: TypeAlias = Iterator[Finding]


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule depends on besides the object.

    Attributes
    ----------
    release : Release
        Whose API server it is.
    is_pod : bool
        Whether a Pod itself is checked and not the template of one.
    pod_name : str
        The pod's name, where a Pod itself is checked.
    merged_labels : mapping of str to str
        Its labels, where the keys of labels that its selectors name are still to become part of these.
    partial : bool
        Whether the tree has only the fields that scheduling reads, so that no other field can be missed.
    host_users : bool
        Whether the pod's users are those of the host.
    """

    release: Release
    is_pod: bool = False
    pod_name: str = ""
    merged_labels: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    host_users: bool = True

    def on(self, gate: str) -> bool:
        """Whether a feature gate of the API server is on."""
        return self.release.api_server_has(gate)

    @property
    def rules(self) -> ValidationRules:
        """What the release refuses otherwise than others."""
        return self.release.validation

    def of_pod(self, metadata: Tree) -> Context:
        """The same for a Pod itself; one of which only some fields are known went through admission."""
        labels = {} if self.partial else metadata.get("labels", {})
        return replace(self, is_pod=True, pod_name=metadata.get("name", ""), merged_labels=labels)

    def of_users(self, host_users: bool) -> Context:
        """The same for a pod whose users are those of the host, or are not."""
        return replace(self, host_users=host_users)
