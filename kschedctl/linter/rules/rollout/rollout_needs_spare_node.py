"""A rollout needs one more node than there are pods, as the pods use a port of their node and new pods start first.

A host port, or with hostNetwork any port of a container, exists once per node. A rolling update whose maxUnavailable is
rounded to 0 starts a new pod before an old one ends, so n pods need n + 1 nodes on which the port is free. The finding
is info for a single replica, which usually finds another node.

The API server accepts the object, the pods run, and the next rollout hangs if there is no additional node.

Repair: maxSurge 0 and maxUnavailable 1, or no host port.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed
from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import host_ports
from kschedctl.linter.rollout_fixes import one_down_first, scaler_of
from kschedctl.linter.rule import Problem

FAILS = """apps/v1 Deployment web
replicas: 2
hostNetwork: true
ports:
- containerPort: 80  # <-
"""
PASSES = FAILS.replace("replicas: 2\n", "replicas: 2\nstrategy:\n  rollingUpdate: {maxSurge: 0, maxUnavailable: 1}\n")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    ports = host_ports(pods)
    count = context.new_pods_first(pods) if ports else None
    if count is None:
        return
    names = listed(list(map(str, ports)))
    yield Problem(
        message=f"each rollout needs {count.low + 1} nodes with {names} free for {count.shown} "
        f"{'replica' if count.low == count.high == 1 else 'replicas'}: a new pod starts before an old one ends "
        f"(maxUnavailable is 0 of {count.low})",
        steps=ports[0].steps,
        help="set maxSurge 0 and maxUnavailable 1, or use no host port",
        severity=Severity.INFO if count.low == 1 else None,
        related=scaler_of(count),
        fix=one_down_first(pods),
    )
