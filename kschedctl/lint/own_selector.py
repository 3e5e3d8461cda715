"""The selector that means the pods of a workload."""

from __future__ import annotations

from typing import Any

from kschedctl.lint.labels import PodLabels, holds
from kschedctl.lint.pods import Pods
from kschedctl.lint.values import at, mapping


def own_selector(pods: Pods) -> dict[str, Any] | None:
    """A selector for the pods: the workload's own, else all their labels; ``None`` where there are none."""
    own = at(pods.obj.raw, "spec", "selector", "matchLabels")
    chosen = mapping(own) or mapping(pods.metadata.get("labels"))
    if not chosen or not holds({"matchLabels": dict(chosen)}, PodLabels.of(mapping(pods.metadata.get("labels")))):
        return None
    return {"matchLabels": dict(chosen)}
