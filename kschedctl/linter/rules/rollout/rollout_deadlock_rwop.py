"""A rollout starts a new pod while the old one holds a claim that one pod at a time can have: it never ends.

The claim is ReadWriteOncePod, so the scheduler lets no second pod use it, on whatever node. A rolling update whose
maxUnavailable comes to zero takes no pod away before the new one runs.

The API server takes it, the pod runs, and the next rollout hangs for ever.

Repair: strategy Recreate, or a StatefulSet.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import Context
from kschedctl.linter.pods import Pods
from kschedctl.linter.relations import RWOP
from kschedctl.linter.rule import Problem
from kschedctl.linter.rules.rollout import rollout_attaches_twice as attaches_twice

FAILS = attaches_twice.FAILS.replace("ReadWriteOnce", "ReadWriteOncePod")
PASSES = attaches_twice.PASSES.replace("ReadWriteOnce", "ReadWriteOncePod")


def check(pods: Pods, context: Context) -> Iterator[Problem]:
    for _, found in attaches_twice.new_pods_before_old(pods, context, RWOP, "the scheduler never lets the new one in"):
        yield found
