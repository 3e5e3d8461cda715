"""The pods tolerate the taint of cordoned nodes, so pods that a drain evicts may return to the drained node.

``kubectl cordon`` taints a node with ``node.kubernetes.io/unschedulable:NoSchedule``. A toleration without a key, or of
that key, allows new pods on the node nevertheless. Evicted pods of a Deployment, StatefulSet, ReplicaSet or
ReplicationController are recreated at once and may be bound to the node that is being drained: the drain does not end,
or the node is removed with pods on it. The rule ignores DaemonSets, which tolerate the taint on purpose.

The API server accepts the object, and the next drain hangs. Add-ons of a control plane tolerate the taint on purpose:
ignore the finding, with a reason.

Repair: tolerate the intended taints, by their keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.replicas import SCALED
from kschedctl.linter.rule import Problem
from kschedctl.objects.pod import NO_SCHEDULE, UNSCHEDULABLE_TAINT

FAILS = """apps/v1 Deployment web
tolerations:
- operator: Exists  # <-
"""
PASSES = FAILS.replace("- operator: Exists", "- key: dedicated\n  operator: Exists")

_UNSCHEDULABLE: Final = UNSCHEDULABLE_TAINT.key


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if pods.type not in SCALED or pods.type == "argoproj.io/Rollout":
        return
    for part in pods.tolerations:
        one = part.value
        if one is None or one.effect not in ("", NO_SCHEDULE):
            continue
        by_key = one.key == _UNSCHEDULABLE and (one.operator == "Exists" or not one.value)
        if by_key or (not one.key and one.operator == "Exists"):
            what = f"{_UNSCHEDULABLE}" if by_key else "every taint"
            yield Problem(
                message=f"tolerates {what}: pods evicted by a drain can return to the cordoned node",
                steps=part.steps,
                help="name the intended taints, or ignore this finding with a reason",
                fix=removing(pods.obj, "remove the toleration", part.steps, safe=False),
            )
