"""Validation of PodDisruptionBudgets."""

from __future__ import annotations

from typing import Any

from kschedctl.objects import field_errors
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.go_values import in_go
from kschedctl.objects.validation.selectors import label_selector, selector_in_message
from kschedctl.objects.validation.values import at_most_all, int_or_percent, one_of


def pod_disruption_budget(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a PodDisruptionBudget; its metadata is validated only as that of any kind."""
    spec: dict[str, Any] = tree.get("spec", {})
    if "minAvailable" in spec and "maxUnavailable" in spec:
        problem = "minAvailable and maxUnavailable cannot be both set"
        shown = in_go("PodDisruptionBudgetSpec", spec) | {"Selector": selector_in_message(spec.get("selector"))}
        yield field_errors.invalid("spec", shown, problem)
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            yield from int_or_percent(spec[name], f"spec.{name}")
            yield from at_most_all(spec[name], f"spec.{name}")
    yield from label_selector(spec.get("selector"), "spec.selector")
    if "unhealthyPodEvictionPolicy" in spec:
        policy = spec["unhealthyPodEvictionPolicy"]
        yield from one_of(policy, ("AlwaysAllow", "IfHealthyBudget"), "spec.unhealthyPodEvictionPolicy")
