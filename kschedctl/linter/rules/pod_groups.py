"""Pod groups and their members."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import counted, listed, nearest
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.fix import setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import WorkloadPods, replicas_steps
from kschedctl.linter.related_objects import (
    GROUP_NAME,
    MIN_COUNT,
    POD_GROUP,
    PREEMPT,
    ComputedPriority,
    computed_priority,
    counted_members,
    gates_are_known,
    group_name,
    has_gangs,
    has_placements,
    is_named_elsewhere,
    is_started_in_order,
    members,
    shown,
)
from kschedctl.linter.rule import Problem, Related, Rule, RuleSubject, Stage
from kschedctl.linter.scheduler_profiles import DEFAULT_SCHEDULER
from kschedctl.linter.values import Steps, at, is_rendered, mapping, numbered, text, whole
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD, GROUP_PREEMPTION_POLICY, TOPOLOGY_AWARE


@Rule(
    "KS701",
    "min-count-out-of-reach",
    Severity.ERROR,
    Stage.WAITS,
    "scheduling.k8s.io/PodGroup",
    fails="""scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy:
  gang:
    minCount: 8  # <-
---
batch/v1 Job train
parallelism: 4
completions: 8
schedulingGroup: {podGroupName: train}
""",
    repair={"minCount: 8": "minCount: 4"},
)
def min_count_out_of_reach(group: LintObject, context: LintContext) -> Iterator[Problem]:
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


_CLASS: Final[Steps] = ("spec", "priorityClassName")
_MEMBER: Final = "another member of the group"


@Rule(
    "KS702",
    "group-members-differ",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy: {gang: {minCount: 4}}
---
batch/v1 Job train
parallelism: 4
schedulingGroup: {podGroupName: train}
priorityClassName: training  # <-
---
scheduling.k8s.io/v1 PriorityClass training
value: 1000
""",
    repair={"{gang: {minCount: 4}}": "{gang: {minCount: 4}}\npriorityClassName: training"},
)
def group_members_differ(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods of a PodGroup have different schedulers or preemption policies, or another priority than their group.

    All members must have one schedulerName. From Kubernetes 1.37 on, the members must also have the priority of their
    PodGroup and one preemption policy, which must be that of the group under the feature gate PodGroupPreemptionPolicy.
    Admission sets priority and policy from priorityClassName, for the PodGroup as for pods; a group without a class has the
    priority of the global default class, else 0. The rule reports nothing for a class that is neither in the manifest set
    nor in the snapshot.

    The API server accepts the objects, and all pods of the group stay pending with a SchedulerError ("all pods in a single
    pod group should have the same priority as the pod group's priority").

    Repair: the same schedulerName and priorityClassName for all members, and the same priorityClassName for the group.
    """
    name, rules = group_name(pods), context.release.pod_group_rules
    if not name or rules is None:
        return
    first = next(iter(members(name, pods.obj, context)), pods)
    own, others = (text(each.spec.get("schedulerName")) or DEFAULT_SCHEDULER for each in (pods, first))
    if own != others and is_rendered([own, others]):
        yield Problem(
            message=f"schedulerName is {own}, and {shown(first)} of the same group has {others}",
            steps=_field(pods, "schedulerName"),
            help="use one scheduler for all members of the group",
            related=(Related(first.obj, _field(first, "schedulerName"), _MEMBER),),
        )
    if rules.checks_members:
        yield from _priority(pods, first, name, context)


def _priority(pods: WorkloadPods, first: WorkloadPods, name: str, context: LintContext) -> Iterator[Problem]:
    """Yield the problem of members with another priority or preemption policy than their group or its first members."""
    own, other = _computed(pods.spec, pods.obj, context), _of_group(pods, name, context)
    group = context.manifests.named(pods.obj, POD_GROUP, name)
    where, fix = f"PodGroup {name}", None
    related = () if group is None else (Related(group, ("spec",), "the group"),)
    if own is None:
        return
    if other is not None and None not in (own.value, other.value) and own.value != other.value:
        message = f"priority {own.value} differs from priority {other.value} of {where}"
        if group is not None and (wanted := text(pods.spec.get("priorityClassName"))):
            fix = setting(group, f"set priorityClassName: {wanted} in the group", (_CLASS, wanted), safe=False)
    else:
        if not context.release.enabled(GROUP_PREEMPTION_POLICY):
            other, where = _computed(first.spec, first.obj, context), f"{shown(first)} of the same group"
            related = (Related(first.obj, _field(first, "priorityClassName"), _MEMBER),)
        if other is None or other.policy == own.policy:
            return
        message = f"preemptionPolicy {own.policy} differs from {other.policy} of {where}"
    yield Problem(
        message=message,
        steps=_field(pods, "priorityClassName"),
        help="write one priorityClassName in the group and all its pods",
        related=related,
        fix=fix,
    )


def _of_group(pods: WorkloadPods, name: str, context: LintContext) -> ComputedPriority | None:
    """Return the priority of the group of pods; ``None`` if the group or its class is not known."""
    group = context.manifests.named(pods.obj, POD_GROUP, name)
    if group is not None:
        spec = mapping(group.raw.get("spec"))
        class_name = spec.get("priorityClassName")
        # Pods and group of one class have the same priority, whatever its value.
        is_same = class_name and class_name == pods.spec.get("priorityClassName")
        return None if is_same else _computed(spec, group, context)
    stored = context.overlay.pod_group(name, pods.namespace) if context.overlay is not None else None
    if stored is None:
        return None
    return ComputedPriority(stored.spec.priority or 0, stored.spec.preemption_policy or PREEMPT, "")


def _computed(spec: Mapping[str, Any], obj: LintObject, context: LintContext) -> ComputedPriority | None:
    """Return the priority that admission computes, or has computed for an object that was read from a cluster."""
    if obj.live and whole(spec.get("priority")) is not None:
        return ComputedPriority(whole(spec.get("priority")), text(spec.get("preemptionPolicy")) or PREEMPT, "")
    return computed_priority(spec, obj, context)


def _field(pods: WorkloadPods, name: str) -> Steps:
    """Return the path of a field of the pod spec; that of the group's name if there is no such field."""
    return pods.of_spec(name if pods.spec.get(name) is not None else "schedulingGroup")


@Rule(
    "KS703",
    "pod-group-not-given",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    on=False,
    if_complete=True,
    fails="""batch/v1 Job train
parallelism: 4
schedulingGroup:
  podGroupName: tarin  # <-
---
scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy: {gang: {minCount: 4}}
""",
    repair={"tarin": "train"},
)
def pod_group_not_given(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods name a PodGroup that is neither in the manifest set nor in the snapshot.

    Until the group exists, the scheduler considers none of its pods. The group may be in other files, or a tool may create
    it. Therefore the rule runs only if the settings declare the manifest set complete (``complete: true``), with a
    snapshot, or if it is selected. A group of another namespace does not count.

    The API server accepts the pods, and they stay pending ("waiting for pods's pod group "train" to appear in scheduling
    queue").

    Repair: add the group, or name an existing one of the namespace.
    """
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


_POD_GROUP_WITHOUT_MEMBERS = """scheduling.k8s.io/v1beta1 PodGroup train  # <-
schedulingPolicy: {gang: {minCount: 4}}
---
batch/v1 Job train
parallelism: 4
"""


@Rule(
    "KS704",
    "pod-group-without-members",
    Severity.INFO,
    None,
    "scheduling.k8s.io/PodGroup",
    on=False,
    if_complete=True,
    fails=_POD_GROUP_WITHOUT_MEMBERS,
    passes=f"{_POD_GROUP_WITHOUT_MEMBERS}schedulingGroup: {{podGroupName: train}}\n",
)
def pod_group_without_members(group: LintObject, context: LintContext) -> Iterator[Problem]:
    """No pods of the manifest set or of the snapshot name the PodGroup.

    The group then has no effect: its pods, if there are any, are scheduled one by one. The pods may be in other files, or a
    controller may create them. Therefore the rule runs only if the settings declare the manifest set complete
    (``complete: true``), with a snapshot, or if it is selected. It reports nothing if a custom resource names the group, or
    if a controller owns it.

    The API server accepts the group, and nothing waits for it.

    Repair: ``schedulingGroup: {podGroupName: ...}`` in the spec of the pods, or remove the group.
    """
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


_TOPOLOGY: Final[Steps] = ("spec", "schedulingConstraints", "topology")


@Rule(
    "KS705",
    "no-such-topology-key",
    Severity.ERROR,
    Stage.WAITS,
    "scheduling.k8s.io/PodGroup",
    snapshot=True,
    fails="""scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy: {gang: {minCount: 4}}
schedulingConstraints:
  topology:
  - key: rak  # <-
""",
    repair={"rak": "rack"},
    options={"snapshot": snapshot(node("a", rack="r1"), node("b", rack="r2"))},
)
def no_such_topology_key(group: LintObject, context: LintContext) -> Iterator[Problem]:
    """A PodGroup requires that its pods share the value of a label that no node of the snapshot has.

    The scheduler tries the group on the nodes of one value after the other, and there is none. Nodes that an autoscaler
    would add are not in a snapshot, and may have the label.

    The API server accepts the group, and all its pods stay pending ("no feasible placements found").

    Repair: a label that the nodes have; the help has the most similar one.
    """
    from kschedctl.linter.cluster import overlay_of

    if not has_placements(context):
        return
    values = overlay_of(context).label_values
    for steps, constraint in numbered(at(group.raw, *_TOPOLOGY), _TOPOLOGY):
        key = text(at(constraint, "key"))
        if key and is_rendered(key) and not values.get(key):
            near = nearest(key, values)
            yield Problem(
                message=f"no node has the label {key}, so the group has no placement",
                steps=(*steps, "key"),
                help=f"did you mean {near}?" if near else "kubectl get nodes --show-labels lists the labels",
            )


_SCHEDULING_GROUP: Final[Steps] = ("spec", "schedulingGroup")


@Rule(
    "KS706",
    "pod-group-gate-off",
    Severity.WARNING,
    None,
    RuleSubject.OBJECT,
    fails="""scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy: {gang: {minCount: 4}}
schedulingConstraints:  # <-
  topology:
  - key: topology.kubernetes.io/zone
---
batch/v1 Job train
parallelism: 4
schedulingGroup: {podGroupName: train}
""",
    repair={"schedulingConstraints:  # <-\n  topology:\n  - key: topology.kubernetes.io/zone\n": ""},
    options={"release": LATEST.with_features({GENERIC_WORKLOAD: True})},
)
def pod_group_gate_off(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    # An object of a cluster has only fields that its API server kept.
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
        for steps, gate in (
            (("spec", "schedulingPolicy", "gang"), rules.gang_gate),
            (("spec", "schedulingConstraints"), TOPOLOGY_AWARE),
            (("spec", "disruptionMode"), rules.preemption_gate),
            (("spec", "priorityClassName"), rules.preemption_gate),
            (("spec", "preemptionPolicy"), GROUP_PREEMPTION_POLICY),
        ):
            if at(obj.raw, *steps) is not None and not context.release.enabled(gate):
                yield _off(gate, steps, context)


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
