"""A disruption budget depends on the expected number of pods, and selects pods for which that number is not known.

maxUnavailable and percentages are relative to the scale of the pods' controllers. A DaemonSet and a Job have no scale:
the disruption controller then fails (SyncFailed) and allows no eviction. It does not count Pods without a controller:
if there are only such pods, it expects no pod and allows no eviction.

The API server accepts the object, and the next drain hangs.

Repair: minAvailable with a number.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.controllers.disruption import WITHOUT_SCALE, needs_scale
from kschedctl.linter.budgets import selected, threshold
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.values import at, items

FAILS = """policy/v1 PodDisruptionBudget agent
maxUnavailable: 1  # <-
---
apps/v1 DaemonSet agent
"""
PASSES = FAILS.replace("maxUnavailable: 1", "minAvailable: 2")


def check(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    limit = threshold(budget)
    if limit is None or not needs_scale(*limit):
        return
    found = selected(budget, context)
    only_bare = all(pods.type == "Pod" and not _is_owned(pods) for pods in found)
    for pods in found:
        why = WITHOUT_SCALE.get(pods.type)
        if why is not None and (pods.type != "Pod" or only_bare):
            yield Problem(
                message=f"{limit[0]} {limit[1]} cannot be computed for {pods.obj.kind} {pods.obj.name}: {why}, so the "
                "budget allows no eviction",
                steps=("spec", limit[0]),
                help="set minAvailable to a number",
                related=(Related(pods.obj, (), "the pods"),),
            )


def _is_owned(pods: WorkloadPods) -> bool:
    return pods.type == "Pod" and bool(items(at(pods.obj.raw, "metadata", "ownerReferences")))
