"""Two profiles of a configuration have the same scheduler name, or different QueueSort plugins.

A scheduler name may occur in one profile only. All profiles share one queue, so their QueueSort plugin must be the
same.

kube-scheduler exits when it starts, and every pod of its profiles stays pending.

Repair: give each profile its schedulerName, and all of them one QueueSort plugin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.scheduler_profiles import (
    ALL,
    DEFAULT_SCHEDULER,
    MULTI_POINT,
    QUEUE_SORTS,
    plugins,
    profiles,
    scheduler_name,
)
from kschedctl.linter.values import Steps

FAILS = """kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- schedulerName: batch
- schedulerName: batch  # <-
"""
PASSES = FAILS.replace("batch  # <-", "web")


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    seen: dict[str, Steps] = {}
    first: tuple[str, Steps] | None = None
    for steps, profile in profiles(obj):
        name = scheduler_name(profile)
        if name in seen:
            yield Problem(
                message=f"two profiles have schedulerName {name}: kube-scheduler exits",
                steps=(*steps, "schedulerName"),
                help=f"set another name than {name}" + (", the default" if name == DEFAULT_SCHEDULER else ""),
                related=(Related(obj, seen[name], "the other profile"),),
            )
        seen.setdefault(name, steps)
        sort = _queue_sort(profile, steps)
        if first is None:
            first = sort, steps
        elif sort != first[0]:
            yield Problem(
                message=f"sorts the queue by {sort}, the first profile by {first[0]}: kube-scheduler exits",
                steps=(*steps, "plugins"),
                help="use one QueueSort plugin in all profiles",
                related=(Related(obj, first[1], "the first profile"),),
            )


def _queue_sort(profile: Any, steps: Steps) -> str:
    named = plugins(profile, steps)
    own = [each.name for each in named if each.point == "queueSort" and each.enabled]
    if own:
        return own[0]
    broad = [each.name for each in named if each.point == MULTI_POINT and each.enabled and each.name in QUEUE_SORTS]
    off = {each.name for each in named if not each.enabled and each.point in (MULTI_POINT, "queueSort")}
    if broad and off & {ALL, "PrioritySort"}:
        return broad[0]
    return "PrioritySort"
