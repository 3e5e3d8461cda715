"""A rollout starts a new pod while the old one uses a claim that one pod at a time can use, so the rollout never ends.

The claim is ReadWriteOncePod, so the scheduler admits no second pod that uses it, on any node. A rolling update whose
maxUnavailable is rounded to 0 removes no pod before the new one runs.

The API server accepts the object, the pod runs, and the next rollout hangs for ever.

Repair: strategy Recreate, or a StatefulSet.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.relations import RWOP
from kschedctl.linter.rule import Problem
from kschedctl.linter.rules.rollout import rollout_attaches_twice as attaches_twice

FAILS = attaches_twice.FAILS.replace("ReadWriteOnce", "ReadWriteOncePod")
PASSES = attaches_twice.PASSES.replace("ReadWriteOnce", "ReadWriteOncePod")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    for _, found in attaches_twice.new_pods_before_old(pods, context, RWOP, "the new pod stays pending"):
        yield found
