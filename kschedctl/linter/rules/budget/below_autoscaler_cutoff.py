"""A priority class is so low that the cluster autoscaler does not count its pods.

Below -10 (``expendable-pods-priority-cutoff``) pods are expendable: no node is added for them, and they keep no node
from being taken away. -1, which placeholders for spare room mostly have, is above it.

The API server takes it, and pods wait for a node that nobody adds.

Repair: a value of -10 or more, unless that is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import Context
from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import whole

FAILS = """scheduling.k8s.io/v1 PriorityClass spare
value: -100  # <-
"""
PASSES = FAILS.replace("-100", "-10")

_CUTOFF: Final = -10


def check(obj: ManifestObject, context: Context) -> Iterator[Problem]:
    value = whole(obj.raw.get("value"))
    if value is not None and value < _CUTOFF:
        yield Problem(
            message=f"the cluster autoscaler adds no node for pods of priority {value}: below {_CUTOFF} they are "
            "expendable",
            steps=("value",),
            help=f"use {_CUTOFF} or more, unless that is meant",
        )
