"""Validation of PriorityClasses."""

from __future__ import annotations

from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.classes import SYSTEM_CLASSES
from kschedctl.objects.names import subdomain_problems
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.metadata import object_metadata
from kschedctl.objects.validation.pod import PREEMPTION_POLICIES
from kschedctl.objects.validation.values import given_one_of

_SYSTEM: Final = "system-"
_HIGHEST: Final = 1_000_000_000


def priority_class(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a PriorityClass."""
    metadata, value = tree.get("metadata", {}), tree.get("value", 0)
    name = metadata.get("name", "")
    yield from object_metadata(metadata, subdomain_problems, namespaced=False)
    if name.startswith(_SYSTEM):
        if problem := _of_the_system(name, value, tree.get("globalDefault", False)):
            reserved = (
                f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: {problem}"
            )
            yield field_errors.forbidden("metadata.name", reserved)
    elif value > _HIGHEST:
        yield field_errors.forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}")
    if "preemptionPolicy" in tree:
        yield from given_one_of(tree["preemptionPolicy"], PREEMPTION_POLICIES, "preemptionPolicy")


def _of_the_system(name: str, value: int, is_default: bool) -> str:
    known = next((system for system in SYSTEM_CLASSES if system.name == name), None)
    if known is None:
        return f"{name} is not a known system priority class"
    if known.value != value:
        return f"value of {name} PriorityClass must be {known.value}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""
