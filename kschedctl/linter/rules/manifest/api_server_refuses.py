"""The API server refuses the object, in the words that the message has.

Its validation of pods and workloads, of budgets, priority classes, claims, volumes, storage classes and autoscalers, by
the rules of the release that is asked for. Fields that are not filled in yet are passed over, and patches as a whole.

The API server refuses the object: whatever applies it stops there.

Repair: as the message says.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.api_server import problem, said_of
from kschedctl.linter.context import Context
from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.rule import Problem
from kschedctl.validation.pods_refused import FORBIDDEN
from kschedctl.validation.validate import refuses

FAILS = """apps/v1 Deployment web
strategy:
  rollingUpdate:
    maxSurge: 0
    maxUnavailable: 0  # <-
"""
PASSES = FAILS.replace("maxUnavailable: 0", "maxUnavailable: 1")


def check(obj: ManifestObject, context: Context) -> Iterator[Problem]:
    for finding in said_of(obj, context):
        if refuses(finding) and finding.rule != FORBIDDEN:
            yield from problem(finding, obj)
