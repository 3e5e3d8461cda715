"""A container has no request for CPU or memory, so the scheduler treats it as if it needed none.

Pods without requests fit on every node, and are evicted first when a node runs short of memory. Other linters report
the same, so the rule runs only if it is selected.

Nothing is blocked; nodes are filled beyond their capacity.

Repair: request what the container uses.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import mapping

FAILS = """v1 Pod web
containers:
- name: web  # <-
  image: nginx
"""
PASSES = """v1 Pod web
resources:
  requests: {cpu: 100m, memory: 128Mi}
"""


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    of_pod = mapping(mapping(pods.spec.get("resources")).get("requests"))
    for container in pods.containers:
        missing = [name for name in ("cpu", "memory") if container.amount(name) is None and name not in of_pod]
        if missing and not container.init:
            steps = (*container.steps, "resources") if container.raw.get("resources") else container.steps
            yield Problem(
                message=f"container {container.name} requests no {' and no '.join(missing)}",
                steps=steps,
                help="request what it uses",
            )
