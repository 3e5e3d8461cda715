"""The API server refuses the pods, whatever classes the cluster has, and accepts the workload that creates them.

Admission sets overhead, priority and preemption policy from the classes that a pod names, and refuses pods that set
other values: for example an ``overhead`` without a runtime class. KS310 reports problems of a priority.

The API server accepts the workload and refuses its pods (FailedCreate): kubectl apply succeeds, and no pod is created.

Repair: leave the field out, and name the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kschedctl.linter.api_server import problem, validation_findings
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.objects.validation.pod_rejections import FAILED_CREATE, FORBIDDEN

FAILS = """apps/v1 Deployment web
overhead:  # <-
  cpu: 100m
"""
PASSES = FAILS.replace("overhead:  # <-\n  cpu: 100m\n", "runtimeClassName: gvisor\n")

#: The fields that KS310 checks.
_PRIORITY: Final = ("priority", "preemptionPolicy")


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    if obj.live or obj in context.owned:
        return
    for finding in validation_findings(obj, context):
        if finding.rule not in (FAILED_CREATE, FORBIDDEN) or finding.field.rpartition(".")[2] in _PRIORITY:
            continue
        for found in problem(finding, obj):
            fix = removing(obj, f"remove {found.steps[-1]}", found.steps) if found.steps else None
            yield replace(found, fix=fix)
