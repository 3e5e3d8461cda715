"""The pods set a priority or a preemption policy that differs from that of their priority class.

Admission sets both from the class named by priorityClassName, else from the global default class, else to 0 and
PreemptLowerPriority, and refuses pods that set other values. The rule reports nothing for a class that is not in the
manifest set, as its values are not known.

The API server accepts the workload and refuses its pods ("the integer value of priority must not be provided").

Repair: leave priority and preemptionPolicy out, and name the intended class.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.priorities import computed_priority
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import is_rendered, text

FAILS = """v1 Pod web
priority: 1000  # <-
"""
PASSES = """v1 Pod web
priorityClassName: shop  # <-
---
scheduling.k8s.io/v1 PriorityClass shop
value: 1000
"""


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    if pods.obj.live:
        return
    computed = computed_priority(pods.spec, pods.obj, context)
    if computed is None:
        return
    value, policy, source = computed
    for field, gives in (("priority", value), ("preemptionPolicy", policy)):
        stated = pods.spec.get(field)
        if stated is None or stated == "" or gives is None or stated == gives or not is_rendered(stated):
            continue
        steps = pods.of_spec(field)
        yield Problem(
            message=f"{field} {stated} is refused: {source} {gives}",
            steps=steps,
            help=f"leave {field} out" + ("" if text(pods.spec.get("priorityClassName")) else ", and name a class"),
            fix=removing(pods.obj, f"remove {field}", steps),
        )
