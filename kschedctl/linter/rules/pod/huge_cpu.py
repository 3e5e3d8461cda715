"""A container requests 64 CPUs or more and little memory: probably 100m was intended and 100 was written.

A CPU quantity without a unit is in whole CPUs. Pods that do need that many CPUs need memory as well; so a container
with less than 256Mi of memory per CPU, or without memory in its requests and limits, is reported.

The API server accepts the object, and the pods stay pending until there is a node of that size.

Repair: write the unit, such as 100m.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import mapping, nano_units
from kschedctl.objects.quantity import NANO

FAILS = """v1 Pod web
resources:
  requests:
    cpu: 100  # <-
    memory: 256Mi
"""
PASSES = FAILS.replace("cpu: 100", "cpu: 100m")

_MANY: Final = 64 * NANO
_PER_CPU: Final = 256 * 2**20


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for container in pods.containers:
        cpu, memory = nano_units(container.amount("cpu")), nano_units(container.amount("memory"))
        if cpu is None or cpu < _MANY:
            continue
        if container.amount("memory") is not None and (memory is None or memory >= cpu * _PER_CPU):
            continue
        requests = mapping(mapping(container.raw.get("resources")).get("requests"))
        steps = (*container.steps, "resources", "requests" if requests.get("cpu") is not None else "limits", "cpu")
        written = str(container.amount("cpu"))
        beside = "no memory" if memory is None else f"{container.amount('memory')} of memory"
        fix = setting(pods.obj, f"write {written}m", (steps, f"{written}m"), safe=False) if written.isdigit() else None
        yield Problem(
            message=f"requests {written} cpus and {beside}: probably {written}m is intended"
            if fix
            else f"requests {written} of cpu and {beside}",
            steps=steps,
            help=f"write {written}m for {written} thousandths of a cpu" if fix else "request what the container needs",
            fix=fix,
        )
