"""The pods name a PodGroup that is neither in the manifest set nor in the snapshot.

Until the group exists, the scheduler considers none of its pods. The group may be in other files, or a tool may create
it. Therefore the rule runs only if the settings declare the manifest set complete (``complete: true``), with a
snapshot, or if it is selected. A group of another namespace does not count.

The API server accepts the pods, and they stay pending ("waiting for pods's pod group "train" to appear in scheduling
queue").

Repair: add the group, or name an existing one of the namespace.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import nearest
from kschedctl.linter.context import LintContext
from kschedctl.linter.pod_groups import GROUP_NAME, POD_GROUP, group_name
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """batch/v1 Job train
parallelism: 4
schedulingGroup:
  podGroupName: tarin  # <-
---
scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy: {gang: {minCount: 4}}
"""
PASSES = FAILS.replace("tarin", "train")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    name = group_name(pods)
    groups = context.manifests.by_type.get(POD_GROUP, ())
    named = [group for group in groups if group.name == name]
    # A group that several files have is there, whichever of them is applied.
    if not name or context.release.pod_group_rules is None:
        return
    if any(group.namespace in ("", pods.namespace) or not pods.namespace for group in named):
        return
    if context.overlay is not None:
        found = context.overlay.has_object(POD_GROUP, name, pods.namespace)
        if found is None:
            context.cannot_decide("KS703", pods.obj, "the snapshot has no PodGroup")
        if found is not False:
            return
    if context.may_be_elsewhere("KS703", pods.obj):
        return
    near = nearest(name, {group.name for group in groups if group.namespace == pods.namespace})
    hint = f"did you mean {near}?" if near else "add the group, or name an existing one"
    yield Problem(
        message=f"PodGroup {name} does not exist" + (f" in namespace {pods.namespace}" if pods.namespace else ""),
        steps=pods.of_spec(*GROUP_NAME),
        help=f"PodGroup {name} is in namespace {named[0].namespace}" if named else hint,
    )
