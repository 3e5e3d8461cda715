"""Default topology constraints are set with System defaulting, or have a label selector.

``defaultConstraints`` require ``defaultingType: List``; System, which is the default, means the scheduler's own
constraints. A default constraint cannot have a label selector: the selector is derived from the pod's Services and
controller.

kube-scheduler exits when it starts, and every pod of its profiles stays pending.

Repair: defaultingType: List, and no labelSelector.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing, setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.rule import Problem
from kschedctl.linter.scheduler_profiles import profiles
from kschedctl.linter.values import at, numbered

FAILS = """kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: PodTopologySpread
    args:
      defaultConstraints:  # <-
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
"""
PASSES = FAILS.replace("args:", "args:\n      defaultingType: List")


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    for steps, profile in profiles(obj):
        for way, config in numbered(at(profile, "pluginConfig"), (*steps, "pluginConfig")):
            if at(config, "name") != "PodTopologySpread":
                continue
            args = (*way, "args")
            constraints = at(config, "args", "defaultConstraints")
            if constraints and at(config, "args", "defaultingType") in (None, "", "System"):
                stated = at(config, "args", "defaultingType") or "not set, which means System"
                yield Problem(
                    message=f"defaultingType is {stated}, and defaultConstraints are set: kube-scheduler exits",
                    steps=(*args, "defaultConstraints"),
                    help="set defaultingType: List",
                    fix=setting(obj, "set defaultingType: List", ((*args, "defaultingType"), "List")),
                )
            for where, constraint in numbered(constraints, (*args, "defaultConstraints")):
                if at(constraint, "labelSelector") is not None:
                    selector = (*where, "labelSelector")
                    yield Problem(
                        message="a default constraint cannot have a labelSelector: kube-scheduler exits",
                        steps=selector,
                        help="leave it out",
                        fix=removing(obj, "remove labelSelector", selector),
                    )
