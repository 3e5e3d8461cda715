"""Disruption budgets of the manifest set: whose pods they are about, and how many evictions they allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kschedctl.linter.context import Context
from kschedctl.linter.fix import Action, Change, Fix
from kschedctl.linter.labels import holds
from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.pods import Pods
from kschedctl.linter.replicas import SCALED, Replicas, share
from kschedctl.linter.rule import Related
from kschedctl.linter.values import Steps, at, mapping

PDB: Final = "policy/PodDisruptionBudget"
SELECTOR: Final[Steps] = ("spec", "selector")


def threshold(budget: ManifestObject) -> tuple[str, Any] | None:
    """The field that limits evictions and its value; ``None`` where there is none, or both are."""
    spec = mapping(budget.raw.get("spec"))
    given = [(name, spec[name]) for name in ("minAvailable", "maxUnavailable") if spec.get(name) is not None]
    return given[0] if len(given) == 1 else None


def selected(budget: ManifestObject, context: Context) -> Iterator[Pods]:
    """What makes the pods that a budget is about, so far as it is given."""
    selector = at(budget.raw, *SELECTOR)
    for pods in context.pods_seen_from(budget):
        if holds(selector, pods.labels):
            yield pods


def counts(budget: ManifestObject, context: Context) -> tuple[list[tuple[Pods, Replicas]], bool]:
    """What makes the pods that a budget is about, with how many there are, and whether all could be counted."""
    found: list[tuple[Pods, Replicas]] = []
    for pods in selected(budget, context):
        count = context.replicas(pods) if pods.type in SCALED or pods.type == "Pod" or pods.custom else None
        if count is None:
            return found, False
        found.append((pods, count))
    return found, True


def forbids(field: str, value: Any, n: int) -> bool:
    """Whether a budget allows no eviction while all of so many pods are healthy. Percentages round up, both of them.

    Examples
    --------
    >>> forbids("minAvailable", "67%", 3), forbids("minAvailable", "66%", 3), forbids("maxUnavailable", "10%", 3)
    (True, False, False)
    """
    number = share(value, n, up=True)
    if number is None:
        return False
    return number >= n if field == "minAvailable" else number == 0


def always_forbids(field: str, value: Any) -> bool:
    """Whether a budget allows no eviction, however many pods there are."""
    return value in ((0, "0%") if field == "maxUnavailable" else ("100%",)) and value is not False


def one_may_go(budget: ManifestObject, field: str) -> Fix:
    """Let one pod be evicted at a time."""
    spec: Steps = ("spec",)
    changes = [] if field == "maxUnavailable" else [Change(Action.RENAME, (*spec, field), "maxUnavailable")]
    changes.append(Change(Action.SET, (*spec, "maxUnavailable"), 1))
    return Fix(budget, "set maxUnavailable: 1", tuple(changes), safe=False)


def related_pods(found: list[tuple[Pods, Replicas]]) -> tuple[Related, ...]:
    """What a budget is about, and who scales it."""
    related = []
    for pods, count in found:
        number = f"{count.shown} {'replica' if count.low == count.high == 1 else 'replicas'}"
        related.append(Related(pods.obj, ("spec", "replicas"), number))
        if count.scaler is not None:
            related.append(Related(count.scaler, ("spec",), f"scales {pods.obj.kind} {pods.obj.name}"))
    return tuple(related)
