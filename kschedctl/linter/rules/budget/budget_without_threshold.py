"""A disruption budget has neither minAvailable nor maxUnavailable, so it allows no eviction.

The disruption controller then expects no pods and sets disruptionsAllowed to 0, which the eviction API enforces.

The API server accepts the object, and the next drain hangs.

Repair: maxUnavailable: 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import mapping

FAILS = """policy/v1 PodDisruptionBudget web
spec:  # <-
"""
PASSES = FAILS.replace("spec:  # <-", "maxUnavailable: 1")


def check(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    spec = mapping(budget.raw.get("spec"))
    if spec.get("minAvailable") is None and spec.get("maxUnavailable") is None:
        yield Problem(
            message="neither minAvailable nor maxUnavailable: the budget allows no eviction",
            steps=("spec",),
            help="set maxUnavailable: 1",
            fix=setting(budget, "set maxUnavailable: 1", (("spec", "maxUnavailable"), 1)),
        )
