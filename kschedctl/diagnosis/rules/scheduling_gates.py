"""Scheduling gates, and the controller that removes them.

A pod with gates is not tried, whatever capacity is free. The gate is removed by the controller that it is named after:
Kueue, for example, does so when a queue has quota for the workload. Operators look at that controller, and at its
object for the pod. They remove a gate by hand only if its controller is gone for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.situation import Situation
from kschedctl.scheduler.framework.remedy import Risk

_KUEUE: Final = "kueue.x-k8s.io/"


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the controller of the pod's first gate."""
    gates = situation.pod.spec.scheduling_gates
    if not gates:
        return
    name, namespace = gates[0].name, situation.pod.namespace
    domain = name.partition("/")[0]
    if name.startswith(_KUEUE):
        cause = "Kueue removes the gate when a queue has quota for the workload"
        summary = "get the workload admitted by Kueue: its ClusterQueue needs free quota, or the LocalQueue is missing"
        command = f"kubectl describe workloads.kueue.x-k8s.io -n {namespace}"
    else:
        cause = f"the gate {name} waits for its controller"
        summary = f"get the controller of {domain} to remove its gate"
        command = f"# find the controller of {domain}, and look at its log"
    checks = (command,) if name.startswith(_KUEUE) else ()
    yield Diagnosis(
        rule="scheduling-gates",
        cause=cause,
        advice=(
            Advice(
                summary=summary,
                risk=Risk.MISTAKE,
                untried="the controller removes the gate, not the scheduler",
                command=command,
            ),
        ),
        checks=checks,
    )
