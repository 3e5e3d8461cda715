"""The pods name a priority class that is neither built in nor in the manifest set.

If the cluster has the class, nothing is wrong, so the rule runs only if it is selected. With a snapshot, KS507 checks
the classes of the cluster.

The API server accepts the workload, and refuses its pods if the class does not exist.

Repair: add the class, or name an existing one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import is_rendered, text

FAILS = """v1 Pod web
priorityClassName: shop  # <-
"""
PASSES = f"""{FAILS}---
scheduling.k8s.io/v1 PriorityClass shop
value: 1000
"""

_BUILT_IN: Final = ("system-cluster-critical", "system-node-critical")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    name = text(pods.spec.get("priorityClassName"))
    if not name or name in _BUILT_IN or not is_rendered(name):
        return
    if context.manifests.has("scheduling.k8s.io/PriorityClass", name) or context.may_be_elsewhere("KS311", pods.obj):
        return
    yield Problem(
        message=f"PriorityClass {name} is not in the manifest set",
        steps=pods.of_spec("priorityClassName"),
        help="add the class, or name an existing one",
    )
