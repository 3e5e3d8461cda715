"""No pods of the manifest set or of the snapshot name the PodGroup.

The group then has no effect: its pods, if there are any, are scheduled one by one. The pods may be in other files, or a
controller may create them. Therefore the rule runs only if the settings declare the manifest set complete
(``complete: true``), with a snapshot, or if it is selected. It reports nothing if a custom resource names the group, or
if a controller owns it.

The API server accepts the group, and nothing waits for it.

Repair: ``schedulingGroup: {podGroupName: ...}`` in the spec of the pods, or remove the group.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pod_groups import is_named_elsewhere, members
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at

FAILS = """scheduling.k8s.io/v1beta1 PodGroup train  # <-
schedulingPolicy: {gang: {minCount: 4}}
---
batch/v1 Job train
parallelism: 4
"""
PASSES = f"{FAILS}schedulingGroup: {{podGroupName: train}}\n"


def check(group: LintObject, context: LintContext) -> Iterator[Problem]:
    if members(group.name, group, context) or is_named_elsewhere(group, context):
        return
    if at(group.raw, "metadata", "ownerReferences") or context.manifests.is_variant(group):
        return
    if context.overlay is not None and context.overlay.members_by_workload(group.name, group.namespace):
        return
    if not context.may_be_elsewhere("KS704", group):
        yield Problem(
            message=f"no pods name PodGroup {group.name}",
            help=f"write schedulingGroup: {{podGroupName: {group.name}}} in the spec of its pods, or remove the group",
        )
