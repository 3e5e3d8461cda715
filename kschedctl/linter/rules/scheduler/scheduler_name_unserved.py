"""The pods name a scheduler that no profile of the manifest set's scheduler configuration serves.

The rule runs only if the manifest set has a scheduler configuration: other schedulers, such as yunikorn or volcano,
have none.

The API server accepts the object, and the pods stay pending: no scheduler schedules them.

Repair: the schedulerName of a profile.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import listed
from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.scheduler_profiles import CONFIG, DEFAULT_SCHEDULER, profiles, scheduler_name
from kschedctl.linter.values import is_rendered, text

FAILS = """kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- schedulerName: batch
---
v1 Pod web
schedulerName: bathc  # <-
"""
PASSES = FAILS.replace("bathc", "batch")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    name = text(pods.spec.get("schedulerName"))
    if not name or name == DEFAULT_SCHEDULER or not is_rendered(name):
        return
    configs = context.manifests.seen_from(pods.obj, CONFIG)
    served = [scheduler_name(profile) for config in configs for _, profile in profiles(config)]
    if configs and name not in served:
        yield Problem(
            message=f"no profile has schedulerName {name}; profiles: {listed(served) or 'none'}",
            steps=pods.of_spec("schedulerName"),
            help="use the schedulerName of a profile",
            related=(Related(configs[0], ("profiles",), "the configuration"),),
        )
