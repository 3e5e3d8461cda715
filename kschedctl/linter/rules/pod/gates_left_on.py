"""The pods have scheduling gates, and wait until somebody takes these off each of them.

Gates are for controllers, which add them while a pod is made and remove them when it may go. In a template they stand
for good: every pod waits for whoever removes them, one by one.

The API server takes it, and the pods wait (SchedulingGated).

Repair: remove schedulingGates; let the controller that knows when a pod may go add them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.fix import removing
from kschedctl.linter.pods import Pods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at, items, text

FAILS = """v1 Pod web
schedulingGates:  # <-
- name: example.com/quota
"""
PASSES = "v1 Pod web\n"


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    gates = items(pods.spec.get("schedulingGates"))
    if not gates or pods.obj.live:
        return
    names = ", ".join(text(at(gate, "name")) for gate in gates)
    steps = pods.of_spec("schedulingGates")
    yield Problem(
        message=f"every pod waits until somebody removes {names} from it",
        steps=steps,
        help="remove schedulingGates",
        fix=removing(pods.obj, "remove schedulingGates", steps),
    )
