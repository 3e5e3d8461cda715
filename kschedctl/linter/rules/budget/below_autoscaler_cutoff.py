"""A priority class has such a low value that the cluster autoscaler ignores its pods.

Pods with a priority below -10 (``expendable-pods-priority-cutoff``) are expendable: the autoscaler adds no node for
them, and removes nodes in spite of them. The value -1, which is common for placeholder pods, is above the cutoff.

The API server accepts the object, and pods stay pending, as no node is added for them.

Repair: a value of -10 or more, unless this is intended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import whole

FAILS = """scheduling.k8s.io/v1 PriorityClass spare
value: -100  # <-
"""
PASSES = FAILS.replace("-100", "-10")

_CUTOFF: Final = -10


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    value = whole(obj.raw.get("value"))
    if value is not None and value < _CUTOFF:
        yield Problem(
            message=f"the cluster autoscaler adds no node for pods of priority {value}: below {_CUTOFF} they are "
            "expendable",
            steps=("value",),
            help=f"use {_CUTOFF} or more, unless this is intended",
        )
