"""A container says nothing of cpu or memory, so the scheduler takes it to need nothing.

Pods without requests fit on every node, and are the first to be evicted where memory runs short. Many rules of others
say so, so this one is not asked unless it is selected.

Nothing hangs; nodes are filled beyond what they have.

Repair: request what the container uses.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.lint.context import Context
from kschedctl.lint.pods import Pods
from kschedctl.lint.rule import Problem
from kschedctl.lint.values import mapping

FAILS = """
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: web  # <-
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
    resources:
      requests: {cpu: 100m, memory: 128Mi}
"""


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    """Containers without a request."""
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
