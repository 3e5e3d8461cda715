"""The pods state what admission computes itself: an overhead without a runtime class.

``overhead`` is set from the RuntimeClass that the pods name. Without one, or with another value, every pod is refused.
A priority that is stated is KS310.

The API server takes the workload and refuses its pods ("Pod's Overhead doesn't match RuntimeClass's defined Overhead").

Repair: leave overhead out, and name the runtime class.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.fix import removing
from kschedctl.lint.pods import Pods
from kschedctl.lint.rule import Problem

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  overhead:  # <-
    cpu: 100m
  containers:
  - name: web
    image: nginx
"""
PASSES = FAILS.replace("  overhead:  # <-\n    cpu: 100m\n", "  runtimeClassName: gvisor\n")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Templates with an overhead and no class."""
    if pods.spec.get("overhead") and not pods.spec.get("runtimeClassName") and not pods.obj.live:
        steps = pods.of_spec("overhead")
        yield Problem(
            message="overhead is stated without a runtimeClassName, which is what sets it",
            steps=steps,
            help="leave overhead out, and name the runtime class",
            fix=removing(pods.obj, "remove overhead", steps),
        )
