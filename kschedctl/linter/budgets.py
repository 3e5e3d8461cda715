"""PodDisruptionBudgets of the manifest set: the pods that they select, and the evictions that they allow."""

from __future__ import annotations

from typing import Any, Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import FieldEdit, Fix, FixAction
from kschedctl.linter.labels import holds
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import SCALED, Replicas
from kschedctl.linter.rule import Related
from kschedctl.linter.values import Steps, at, mapping

PDB: Final = "policy/PodDisruptionBudget"
SELECTOR: Final[Steps] = ("spec", "selector")


def threshold(budget: LintObject) -> tuple[str, Any] | None:
    """Return the field that limits evictions, with its value; ``None`` if neither field or both are set."""
    spec = mapping(budget.raw.get("spec"))
    given = [(name, spec[name]) for name in ("minAvailable", "maxUnavailable") if spec.get(name) is not None]
    return given[0] if len(given) == 1 else None


def selected(budget: LintObject, context: LintContext) -> list[WorkloadPods]:
    """Return the workloads and pods of the manifest set whose pods a budget selects."""
    selector = at(budget.raw, *SELECTOR)
    return context.without_owned(pods for pods in context.pods_seen_from(budget) if holds(selector, pods.labels))


def counts(budget: LintObject, context: LintContext) -> tuple[list[tuple[WorkloadPods, Replicas]], bool]:
    """Return the workloads whose pods a budget selects, with their replicas, and True if all could be counted."""
    found: list[tuple[WorkloadPods, Replicas]] = []
    for pods in selected(budget, context):
        count = context.replicas(pods) if pods.type in SCALED or pods.type == "Pod" or pods.custom else None
        if count is None:
            return found, False
        found.append((pods, count))
    return found, True


def one_may_go(budget: LintObject, field: str) -> Fix:
    """Return a fix that allows the eviction of one pod at a time."""
    spec: Steps = ("spec",)
    changes = [] if field == "maxUnavailable" else [FieldEdit(FixAction.RENAME, (*spec, field), "maxUnavailable")]
    changes.append(FieldEdit(FixAction.SET, (*spec, "maxUnavailable"), 1))
    return Fix(budget, "set maxUnavailable: 1", tuple(changes), safe=False)


def related_pods(found: list[tuple[WorkloadPods, Replicas]]) -> tuple[Related, ...]:
    """Return the workloads that a budget selects and their autoscalers, as related objects."""
    related = []
    for pods, count in found:
        number = f"{count.shown} {'replica' if count.low == count.high == 1 else 'replicas'}"
        related.append(Related(pods.obj, ("spec", "replicas"), number))
        if count.scaler is not None:
            related.append(Related(count.scaler, ("spec",), f"scales {pods.obj.kind} {pods.obj.name}"))
    return tuple(related)
