"""The pods name a priority class that is neither built in nor given.

Where the cluster has it all is well, so this is not asked unless it is selected; with a snapshot KS507 knows.

The API server takes the workload, and refuses its pods where there is no such class.

Repair: give the class, or name one that there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.lint.context import Context
from kschedctl.lint.pods import Pods
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import is_rendered, text

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  priorityClassName: shop  # <-
  containers:
  - name: web
    image: nginx
"""
PASSES = (
    FAILS
    + """---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: shop
value: 1000
"""
)

_BUILT_IN: Final = ("system-cluster-critical", "system-node-critical")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Templates of a class that is not given."""
    name = text(pods.spec.get("priorityClassName"))
    if not name or name in _BUILT_IN or not is_rendered(name):
        return
    if context.given.has("scheduling.k8s.io/PriorityClass", name) or context.may_be_elsewhere("KS311", pods.obj):
        return
    yield Problem(
        message=f"PriorityClass {name} is not given",
        steps=pods.of_spec("priorityClassName"),
        help="give the class, or name one that there is",
    )
