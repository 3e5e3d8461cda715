"""The pod template has scheduling gates, so every pod stays pending until its gates are removed.

Scheduling gates are for controllers, which add them when a pod is created and remove them when the pod may be
scheduled. Gates in a template apply to every pod, and must be removed from each pod separately.

The API server accepts the object, and the pods stay pending (SchedulingGated).

Repair: remove schedulingGates; let the controller that decides when a pod may be scheduled add them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at, items, text

FAILS = """v1 Pod web
schedulingGates:  # <-
- name: example.com/quota
"""
PASSES = "v1 Pod web\n"


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    gates = items(pods.spec.get("schedulingGates"))
    if not gates or pods.obj.live:
        return
    names = ", ".join(text(at(gate, "name")) for gate in gates)
    steps = pods.of_spec("schedulingGates")
    yield Problem(
        message=f"every pod stays pending until {names} {'is' if len(gates) == 1 else 'are'} removed from it",
        steps=steps,
        help="remove schedulingGates",
        fix=removing(pods.obj, "remove schedulingGates", steps),
    )
