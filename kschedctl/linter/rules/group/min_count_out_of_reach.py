"""A PodGroup requires more pods at a time than the workloads of its members create.

The scheduler considers no pod of a gang before ``minCount`` pods of the group exist. A workload creates at most as many
pods at a time as it has replicas, and a Job the lesser of parallelism and the completions. A StatefulSet with
podManagementPolicy OrderedReady, the default, creates its second pod only once the first one is ready, so that a gang
of two never starts. With a snapshot, the rule also counts the members that other workloads of the cluster have. The
rule reports nothing if a member's number of pods is not known, or a custom resource names the group.

The API server accepts the objects, and all pods of the group stay pending ("waiting for minCount pods from a gang to
appear in scheduling queue").

Repair: a lower minCount, more replicas or parallelism, or podManagementPolicy Parallel.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import counted, listed
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pod_groups import MIN_COUNT, counted_members, has_gangs, is_started_in_order, shown
from kschedctl.linter.replicas import replicas_steps
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.values import at, whole

FAILS = """scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy:
  gang:
    minCount: 8  # <-
---
batch/v1 Job train
parallelism: 4
completions: 8
schedulingGroup: {podGroupName: train}
"""
PASSES = FAILS.replace("minCount: 8", "minCount: 4")


def check(group: LintObject, context: LintContext) -> Iterator[Problem]:
    wanted = whole(at(group.raw, *MIN_COUNT))
    found = counted_members(group, context) if wanted is not None and has_gangs(context) else None
    if wanted is None or found is None:
        return
    own, others = sum(number for _, number in found), _others(group, [pods.obj for pods, _ in found], context)
    # Without replicas the workloads are switched off.
    if own == 0 or own + others >= wanted or context.may_be_elsewhere("KS701", group):
        return
    ordered = next((pods for pods, _ in found if is_started_in_order(pods)), None)
    names = listed([shown(pods) for pods, _ in found])
    more = f", and the cluster has {others} more" if others else ""
    order = " (podManagementPolicy OrderedReady)" if ordered else ""
    yield Problem(
        message=f"minCount is {wanted}, and {names} {'creates' if len(found) == 1 else 'create'} "
        f"{counted(own, 'pod')} at a time{more}{order}",
        steps=MIN_COUNT,
        help="set podManagementPolicy: Parallel" if ordered else "lower minCount, or create more pods at a time",
        related=tuple(
            Related(pods.obj, replicas_steps(pods), f"{counted(number, 'pod')} at a time") for pods, number in found
        ),
        fix=None if ordered else setting(group, f"set minCount: {own + others}", (MIN_COUNT, own + others), safe=False),
    )


def _others(group: LintObject, workloads: list[LintObject], context: LintContext) -> int:
    """Return the number of members in the cluster that belong to none of the workloads."""
    if context.overlay is None:
        return 0
    own = {(key.kind, key.name) for obj in workloads for key in (obj.key, *context.manifests.owners(obj))}
    by_workload = context.overlay.members_by_workload(group.name, group.namespace)
    return sum(number for workload, number in by_workload.items() if workload not in own)
