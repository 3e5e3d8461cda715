"""A DaemonSet with maxSurge starts new pods beside the old ones, and both use the same port of the node.

With maxSurge the new pod of a node starts while the old one runs, on the same node. The old pod already uses the host
port; with hostNetwork that is any port of a container.

The API server accepts the object, the pods run, and the next rollout hangs at its first node.

Repair: maxSurge 0 and maxUnavailable 1, or no host port.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.controllers.disruption import share
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import host_ports
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.values import at

FAILS = """apps/v1 DaemonSet agent
updateStrategy:
  rollingUpdate:
    maxSurge: 1  # <-
    maxUnavailable: 0
ports:
- containerPort: 9100
  hostPort: 9100
"""
PASSES = FAILS.replace("maxSurge: 1", "maxSurge: 0").replace("maxUnavailable: 0", "maxUnavailable: 1")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if pods.type != "apps/DaemonSet":
        return
    strategy = ("spec", "updateStrategy")
    if at(pods.obj.raw, *strategy, "type") not in (None, "", "RollingUpdate"):
        return
    steps = (*strategy, "rollingUpdate", "maxSurge")
    ports = host_ports(pods)
    if not ports or not share(at(pods.obj.raw, *steps), 100, up=True):
        return
    yield Problem(
        message=f"a new pod starts beside the old one of its node, which uses {', '.join(map(str, ports))}",
        steps=steps,
        help="set maxSurge 0 and maxUnavailable 1, or use no host port",
        related=(Related(pods.obj, ports[0].steps, "the host port"),),
        fix=setting(
            pods.obj,
            "set maxSurge 0 and maxUnavailable 1",
            (steps, 0),
            ((*strategy, "rollingUpdate", "maxUnavailable"), 1),
            safe=False,
        ),
    )
