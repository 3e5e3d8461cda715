"""The snapshot as rules query it; ``kschedctl.linter.cluster`` implements it, and costs the engine's imports."""

from __future__ import annotations

from typing import Any, Protocol

from kschedctl.api.pod import PodAffinityTerm
from kschedctl.linter.pods import Part, Pods


class Overlay(Protocol):
    """A snapshot with the manifests applied to it."""

    @property
    def is_openshift(self) -> bool:
        """Whether its nodes show that it is OpenShift."""

    def has_taint(self, key: str) -> bool:
        """Whether any node has a taint of a key."""

    def has_pods_of(self, part: Part[PodAffinityTerm], owner: Pods) -> bool:
        """Whether a term of pod affinity holds for any of its pods."""

    def budget_has_pods(self, selector: Any, namespace: str) -> bool:
        """Whether a selector holds for any of its pods in a namespace."""
