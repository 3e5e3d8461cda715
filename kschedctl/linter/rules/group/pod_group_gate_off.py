"""A field about pod groups has no effect in the release, or without a feature gate.

Pod groups are off by default. Without the gate GenericWorkload the API server drops ``schedulingGroup`` of new pods,
and the pods are scheduled one by one. With it, other gates decide about single fields of a PodGroup: topology
constraints need TopologyAwareWorkloadScheduling; in Kubernetes 1.36 gangs need GangScheduling, and the group's priority
and disruption mode need WorkloadAwarePreemption.

The gates are those of ``--feature-gates``, else those that the objects of the snapshot show to be on. The finding is
info if the gate may be on, because ``--feature-gates`` does not have GenericWorkload.

The API server accepts the object without the field, and the scheduler ignores the group.

Repair: turn on the gate in kube-apiserver and kube-scheduler, and name it in ``--feature-gates``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pod_groups import POD_GROUP, gates_are_known
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import Steps, at
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD, GROUP_PREEMPTION_POLICY, TOPOLOGY_AWARE, PodGroupRules

FAILS = """scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy: {gang: {minCount: 4}}
schedulingConstraints:  # <-
  topology:
  - key: topology.kubernetes.io/zone
---
batch/v1 Job train
parallelism: 4
schedulingGroup: {podGroupName: train}
"""
PASSES = FAILS.replace("schedulingConstraints:  # <-\n  topology:\n  - key: topology.kubernetes.io/zone\n", "")
OPTIONS = {"release": LATEST.with_features({GENERIC_WORKLOAD: True})}

_SCHEDULING_GROUP: Final[Steps] = ("spec", "schedulingGroup")


def check(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    # An object of a cluster has only fields that its API server kept.
    if obj.partial or obj.live or obj in context.owned:
        return
    rules, version = context.release.pod_group_rules, context.release.version
    template, _ = context.templates.get(obj.type, (None, False))
    steps = None if template is None else (*template, *_SCHEDULING_GROUP)
    if steps is not None and at(obj.raw, *steps) is not None:
        if rules is None:
            yield Problem(
                message=f"Kubernetes {version} has no PodGroups of this form, so the pods are scheduled one by one",
                steps=steps,
                help="use Kubernetes 1.36 or newer; --kubernetes-version names the release",
            )
        elif not context.release.enabled(GENERIC_WORKLOAD):
            yield _off(GENERIC_WORKLOAD, steps, context)
    elif obj.type == POD_GROUP and rules is not None and context.release.enabled(GENERIC_WORKLOAD):
        for steps, gate in _gated_fields(rules):
            if at(obj.raw, *steps) is not None and not context.release.enabled(gate):
                yield _off(gate, steps, context)


def _gated_fields(rules: PodGroupRules) -> tuple[tuple[Steps, str], ...]:
    """Return the fields of a PodGroup that need a feature gate, each with the gate."""
    return (
        (("spec", "schedulingPolicy", "gang"), rules.gang_gate),
        (("spec", "schedulingConstraints"), TOPOLOGY_AWARE),
        (("spec", "disruptionMode"), rules.preemption_gate),
        (("spec", "priorityClassName"), rules.preemption_gate),
        (("spec", "preemptionPolicy"), GROUP_PREEMPTION_POLICY),
    )


def _off(gate: str, steps: Steps, context: LintContext) -> Problem:
    known = gates_are_known(context)
    why = f"has no effect: the feature gate {gate} is off"
    if not known:
        version = context.release.version
        why = f"has no effect without the feature gate {gate}, which is off by default in Kubernetes {version}"
    return Problem(
        message=f"{steps[-1]} {why}",
        steps=steps,
        help=f"turn the gate on in kube-apiserver and kube-scheduler, and lint with --feature-gates {gate}=true",
        severity=None if known else Severity.INFO,
    )
