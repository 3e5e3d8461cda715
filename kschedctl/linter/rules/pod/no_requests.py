"""A container says nothing of cpu or memory, so the scheduler takes it to need nothing.

Pods without requests fit on every node, and are the first to be evicted where memory runs short. Many rules of others
say so, so this one is not asked unless it is selected.

Nothing hangs; nodes are filled beyond what they have.

Repair: request what the container uses.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.pods import Pods
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


def check(pods: Pods, context: Context) -> Iterator[Problem]:
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
