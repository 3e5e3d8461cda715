"""The priority and preemption policy that admission computes for pods and PodGroups of manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.values import is_rendered, text, whole

_CLASS: Final = "scheduling.k8s.io/PriorityClass"
PREEMPT: Final = "PreemptLowerPriority"
_BUILT_IN: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class ComputedPriority(NamedTuple):
    """The priority and preemption policy that admission computes."""

    #: The priority; ``None`` if the class has a malformed value.
    value: int | None
    policy: Any
    #: The beginning of a sentence about the value, such as ``PriorityClass shop sets``.
    source: str


def computed_priority(spec: Mapping[str, Any], obj: LintObject, context: LintContext) -> ComputedPriority | None:
    """Return the priority that admission computes from the class of a spec; ``None`` if the class is not known.

    Parameters
    ----------
    spec : mapping
        The spec of the pods or the group in `obj`.
    """
    name = spec.get("priorityClassName")
    if name:
        if not isinstance(name, str) or not is_rendered(name):
            return None
        if name in _BUILT_IN:
            return ComputedPriority(_BUILT_IN[name], PREEMPT, f"PriorityClass {name} sets")
        given = context.manifests.named(obj, _CLASS, name)
        return _of_cluster(name, context) if given is None else _of_class(given, f"PriorityClass {name} sets")
    for other in context.manifests.seen_from(obj, _CLASS):
        if other.raw.get("globalDefault") is True:
            return _of_class(other, f"PriorityClass {other.name}, the global default, sets")
    return _of_cluster("", context) or ComputedPriority(0, PREEMPT, "the value without a class is")


def _of_class(given: LintObject, source: str) -> ComputedPriority:
    return ComputedPriority(whole(given.raw.get("value")), text(given.raw.get("preemptionPolicy")) or PREEMPT, source)


def _of_cluster(name: str, context: LintContext) -> ComputedPriority | None:
    """Return the values of a class of the snapshot, or of its default class for an empty name."""
    found = context.overlay.priority_class(name) if context.overlay is not None else None
    if found is None:
        return None
    default = "" if name else ", the global default,"
    return ComputedPriority(
        found.value, found.preemption_policy or PREEMPT, f"PriorityClass {found.name}{default} sets"
    )
