"""A priority class is the default of all pods that name none, in every namespace.

From then on new pods have its priority, and old ones keep theirs until they are replaced: pods of one Deployment may
have two priorities, and those with more preempt the others. Where two classes say so, the lower one counts.

Nothing hangs by itself; what was meant for a few is for all.

Repair: name the class where it is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.manifest_set import ManifestObject
from kschedctl.linter.rule import Problem

FAILS = """scheduling.k8s.io/v1 PriorityClass shop
value: 1000
globalDefault: true  # <-
"""
PASSES = FAILS.replace("globalDefault: true", "globalDefault: false")


def check(obj: ManifestObject, context: Context) -> Iterator[Problem]:
    if obj.raw.get("globalDefault") is True:
        yield Problem(
            message=f"every new pod without a class gets priority {obj.raw.get('value')}, in all namespaces",
            steps=("globalDefault",),
            help="name the class where it is meant",
        )
