"""The replicas fit into the quota of their namespace, and the additional pod that a rollout needs does not.

A rolling update whose maxUnavailable is rounded to 0 creates a new pod before an old one ends. If a ResourceQuota of
the manifest set allows all replicas of the namespace and not one more pod, the API server refuses the new pod
(FailedCreate) and the rollout makes no progress. The rule ignores quotas with scopes, and the usage of workloads that
are not in the manifest set.

The API server accepts the Deployment, the pods run, and the next rollout hangs.

Repair: a quota for one more pod, or maxSurge 0 and maxUnavailable 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rollout_fixes import one_down_first
from kschedctl.linter.rule import Problem, Related
from kschedctl.linter.values import at, mapping, nano_units
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import format_nanos

FAILS = """v1 ResourceQuota quota
namespace: shop
hard:
  requests.cpu: "2"
---
apps/v1 Deployment web
namespace: shop
replicas: 2  # <-
resources:
  requests:
    cpu: "1"
"""
PASSES = FAILS.replace('requests.cpu: "2"', 'requests.cpu: "3"')


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    count = context.new_pods_first(pods)
    if count is None or not pods.namespace:
        return
    for quota in context.manifests.beside(pods.obj, "ResourceQuota"):
        spec = mapping(quota.raw.get("spec"))
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue
        for name, written in mapping(spec.get("hard")).items():
            hard = nano_units(written)
            own = _used(pods, name)
            total = _total(pods, context, name)
            if hard is None or not own or total is None or not total <= hard < total + own:
                continue
            of_all, of_one = format_nanos(name, total), format_nanos(name, own)
            yield Problem(
                message=f"quota {quota.name} allows {written} of {name}; all replicas use {of_all}, and a "
                f"rollout needs {of_one} more for its first new pod",
                steps=("spec", "replicas"),
                help="raise the quota by one pod, or set maxSurge 0 and maxUnavailable 1",
                related=(Related(quota, ("spec", "hard", name), "the quota"),),
                fix=one_down_first(pods),
            )


def _total(pods: WorkloadPods, context: LintContext, name: str) -> int | None:
    """Return the usage of a resource by all workloads of the namespace; ``None`` if it is not known."""
    total = 0
    for other in context.without_owned(context.pods_seen_from(pods.obj)):
        count, used = context.replicas(other), _used(other, name)
        if used and count is None:
            return None
        if used is None:
            return None
        total += used * count.low if count is not None else 0
    return total


def _used(pods: WorkloadPods, name: str) -> int | None:
    """Return the usage by one pod of a resource of a quota; ``None`` if it is not known."""
    if name == "pods":
        return NANO
    field, _, resource = name.rpartition(".")
    if field not in ("", "requests", "limits") or resource not in ("cpu", "memory", "ephemeral-storage"):
        return 0
    mine, first = 0, 0
    for container in pods.containers:
        of = mapping(container.raw.get("resources"))
        written = at(of, "limits", resource) if field == "limits" else container.amount(resource)
        amount = 0 if written is None else nano_units(written)
        if amount is None:
            return None
        if container.init:
            first = max(first, amount)
        else:
            mine += amount
    return max(mine, first)
