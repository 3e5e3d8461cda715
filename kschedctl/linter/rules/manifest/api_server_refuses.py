"""The API server's validation refuses the object, for the reason in the message.

The rule runs the API server's validation of pods and workloads, pod groups, budgets, priority classes, claims, volumes,
storage classes and autoscalers, in the version of the requested release. It ignores fields with unfilled placeholders,
and partial objects such as patches.

The API server refuses the object: kubectl apply and other tools stop there.

Repair: as the message says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.api_server import problem, validation_findings
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.objects.validation.pod_rejections import FORBIDDEN
from kschedctl.objects.validation.validate import refuses

FAILS = """apps/v1 Deployment web
strategy:
  rollingUpdate:
    maxSurge: 0
    maxUnavailable: 0  # <-
"""
PASSES = FAILS.replace("maxUnavailable: 0", "maxUnavailable: 1")

#: The API group of PodGroups, whose priority admission checks.
_GROUPS: Final = "scheduling.k8s.io"


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    for finding in validation_findings(obj, context):
        # KS907 and KS310 report what admission forbids of pods.
        if refuses(finding) and (finding.rule != FORBIDDEN or (obj.group == _GROUPS and not obj.live)):
            yield from problem(finding, obj)
