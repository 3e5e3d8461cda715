"""The pods have scheduling gates, and wait until somebody takes these off each of them.

Gates are for controllers, which add them while a pod is made and remove them when it may go. In a template they stand
for good: every pod waits for whoever removes them, one by one.

The API server takes it, and the pods wait (SchedulingGated).

Repair: remove schedulingGates; let the controller that knows when a pod may go add them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.fix import removing
from kschedctl.lint.pods import Pods
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import at, items, text

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  schedulingGates:  # <-
  - name: example.com/quota
  containers:
  - name: web
    image: nginx
"""
PASSES = """
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: web
    image: nginx
"""


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Templates with gates."""
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
