"""Autoscalers of nodes: NodePools of Karpenter, the pods that they launch nodes for, and Cluster Autoscaler's cutoff."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kschedctl.autoscaler.requirements import GTE, LTE, Requirement, intersection, intersects, requirement
from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed
from kschedctl.linter.context import LintContext
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.related_objects import NODE_POOL, computed_priority, has_node_pools, typed_pool
from kschedctl.linter.rule import Problem, Related, Rule, RuleSubject, Stage
from kschedctl.linter.values import Steps, at, is_rendered, items, numbered, text
from kschedctl.objects.coordination import ConfigMap, Lease
from kschedctl.objects.duration import Duration
from kschedctl.objects.event import Event
from kschedctl.objects.karpenter import DO_NOT_DISRUPT, MinValuesRequirement, NodePool
from kschedctl.objects.selectors import GT, IN, LT
from kschedctl.objects.workload import Deployment

if TYPE_CHECKING:
    from kschedctl.linter.node_pools import PoolRefusal

_TEMPLATE: Final[Steps] = ("spec", "template")
#: Reasons, and pools of one reason, that a message has; the others are counted.
_MOST_POOLS: Final = 4

_POOL: Final = """karpenter.sh/v1 NodePool general
template:
  spec:
    nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
    requirements:
    - {key: kubernetes.io/arch, operator: In, values: [amd64]}
"""


@Rule(
    "KS801",
    "no-node-pool-fits",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    fails=f"""v1 Pod web
spec:  # <-
nodeSelector:
  kubernetes.io/arch: arm64
---
{_POOL}""",
    repair={"values: [amd64]": "values: [amd64, arm64]"},
)
def no_node_pool_fits(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """No NodePool could ever hold the pods: the taints, requirements or sizes of each exclude them.

    Karpenter tries the NodePools one after another (``pkg/controllers/provisioning/scheduling``). A pool is out if it has a
    taint that the pods do not tolerate, if its requirements and labels have no value in common with the node selector and
    the required node affinity of the pods, if its limits are below the requests, or if its instance types are too small: by
    its requirements on their CPU and memory (``karpenter.k8s.aws/instance-cpu``), or as the snapshot shows them. Preferences
    do not count, as Karpenter gives them up.

    The rule runs if the manifest set or the snapshot has NodePools. It reports nothing for pods that fit on an empty node
    that belongs to no NodePool, for pods of a DaemonSet, and for pods that select the nodes of others, such as those of a
    node group (``eks.amazonaws.com/nodegroup``) or ``karpenter.sh/nodepool DoesNotExist``. Without a snapshot other nodes
    are not known: the finding is then a warning, and pools that only a taint excludes do not count unless the pods select a
    label of the pool. If larger instance types than those of the snapshot may exist, the finding is information.

    The API server accepts the object, and the pods stay pending: no node is added for them.

    Repair: select what a NodePool allows and tolerate its taints, or add the value to the requirements of a NodePool.
    """
    if pods.type == "apps/DaemonSet" or pods.spec.get("nodeName") or not has_node_pools(context):
        return
    # The engine is imported where there are NodePools.
    from kschedctl.linter.node_pools import alternatives, could_hold, is_for_others, names_pool, pool_refusals, readable

    known = readable(pods, context)
    if known is None:
        return
    if isinstance(known, str):
        # Most pods that select no node fit some pool.
        if pods.node_selector or pods.node_terms:
            context.cannot_decide("KS801", pods.obj, known)
        return
    pools, pod = known
    wanted = alternatives(pod.spec)
    if any(map(is_for_others, wanted)):
        return
    refusals = pool_refusals(pools, pod, context)
    if not refusals or any(could_hold(each, pod) for each in context.nodes):
        return
    counting = (each for each in refusals if not each.is_taint or any(names_pool(each.pool, one) for one in wanted))
    if not context.nodes and next(counting, None) is None:
        return
    severity = Severity.ERROR if context.nodes else Severity.WARNING
    if any(each.is_of_seen_types for each in refusals):
        severity = Severity.INFO
    yield Problem(
        message=f"no NodePool could hold the pods: {_reasons(refusals)}",
        steps=pods.of_spec(),
        severity=severity,
        help="select what a NodePool allows, or change the NodePool",
        related=tuple(
            Related(pools.manifests[each.pool.name], _TEMPLATE, each.reason)
            for each in refusals
            if each.pool.name in pools.manifests
        ),
    )


def _reasons(refusals: list["PoolRefusal"]) -> str:
    """Return the pools by reason, in words."""
    pools: dict[str, list[str]] = {}
    for each in refusals:
        pools.setdefault(each.reason, []).append(each.pool.name)
    texts = [
        f"{names[0]} {reason}" if len(names) == 1 else f"each of {listed(names, most=_MOST_POOLS)} {reason}"
        for reason, names in pools.items()
    ]
    more = [f"and {len(texts) - _MOST_POOLS} other reasons"] if len(texts) > _MOST_POOLS else []
    return "; ".join([*texts[:_MOST_POOLS], *more])


@Rule(
    "KS802",
    "do-not-disrupt-without-end",
    Severity.WARNING,
    Stage.HANGS,
    RuleSubject.PODS,
    fails="""apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
      annotations:
        karpenter.sh/do-not-disrupt: "true"  # <-
    spec:
      containers:
      - name: web
        image: nginx
""",
    repair={'"true"': '"4h"'},
)
def do_not_disrupt_without_end(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """Pods that never end forbid Karpenter to disrupt their node, and nothing limits for how long.

    Karpenter treats ``karpenter.sh/do-not-disrupt: "true"`` as a budget for this one pod that always blocks: it neither
    consolidates the node nor replaces it after drift, and it does not finish the termination of an expired node before the
    pod is gone (karpenter.sh, Concepts, Disruption, "Pod-Level Controls"). The annotation is meant for pods that run from start
    to finish, such as batch jobs and games. Pods of a Deployment, StatefulSet or DaemonSet run until somebody deletes them,
    so their nodes keep their old image and their price.

    The rule reports nothing for a duration (``"4h"``, counted from the start of the pod; since Karpenter 1.12,
    kubernetes-sigs/karpenter#752), for Jobs and CronJobs, for pods with activeDeadlineSeconds or a restartPolicy other than
    Always, and if all NodePools that are known set terminationGracePeriod, after which Karpenter deletes the pods
    nevertheless.

    The API server accepts the object, and the next drain by Karpenter hangs until the pod is deleted.

    Repair: a duration, a PodDisruptionBudget that lets one pod go at a time, or ``terminationGracePeriod`` in the NodePools.
    """
    steps = (*pods.template, "metadata", "annotations", DO_NOT_DISRUPT)
    if at(pods.obj.raw, *steps) != "true" or pods.type in ("batch/Job", "batch/CronJob") or pods.custom:
        return
    if pods.spec.get("activeDeadlineSeconds") or pods.spec.get("restartPolicy") in ("Never", "OnFailure"):
        return
    periods = list(_termination_grace_periods(pods.obj, context))
    if periods and all(periods):
        return
    yield Problem(
        message=f"Karpenter never replaces or consolidates a node on which a pod of this {pods.obj.kind} runs, and its pods "
        "have no end",
        steps=steps,
        help='write a duration such as "4h", or use a PodDisruptionBudget',
    )


def _termination_grace_periods(obj: LintObject, context: LintContext) -> Iterator[str]:
    """Yield the terminationGracePeriod of each NodePool that is known; empty for none."""
    given = context.manifests.seen_from(obj, NODE_POOL)
    for each in given:
        yield text(at(each.raw, *_TEMPLATE, "spec", "terminationGracePeriod"))
    if context.overlay is not None:
        names = {each.name for each in given}
        for pool in context.overlay.cluster.cluster.list(NodePool):
            if pool.name not in names:
                yield pool.spec.template.spec.termination_grace_period


@Rule(
    "KS806",
    "do-not-disrupt-ignored",
    Severity.WARNING,
    None,
    RuleSubject.PODS,
    fails="""v1 Pod train
restartPolicy: Never
annotations:
  karpenter.sh/do-not-disrupt: "1d"  # <-
""",
    repair={'"1d"': '"24h"'},
)
def do_not_disrupt_ignored(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The value of karpenter.sh/do-not-disrupt is neither "true" nor a duration, so that it protects nothing.

    Karpenter compares the value with ``true``, exactly so, and otherwise parses it as a duration of Go such as ``90m`` or
    ``24h``, which has no unit for days (kubernetes-sigs/karpenter#2874, since Karpenter 1.12). It ignores any other value, as
    well as a duration that is not positive. ``"false"`` is ignored, too, but is not reported, as it says so.

    The API server accepts the object, and Karpenter disrupts the node of the pods at any time.

    Repair: ``"true"``, or a duration in hours, minutes and seconds.
    """
    steps = (*pods.template, "metadata", "annotations", DO_NOT_DISRUPT)
    value = at(pods.obj.raw, *steps)
    if not isinstance(value, str) or value in ("true", "false", "") or not is_rendered(value):
        return
    try:
        is_ignored = Duration.parse(value).nanoseconds <= 0
    except ValueError:
        is_ignored = True
    if is_ignored:
        yield Problem(
            message=f'Karpenter ignores the value "{value}": it is neither "true" nor a duration',
            steps=steps,
            help='write "true", or a duration such as "24h"',
        )


_CLUSTER_AUTOSCALER: Final = "cluster-autoscaler"
_STATUS: Final = "cluster-autoscaler-status"
_CUTOFF: Final = re.compile(r"--?expendable-pods-priority-cutoff[= ](-?[0-9]+)")
#: The default of ``--expendable-pods-priority-cutoff``.
_DEFAULT_CUTOFF: Final = -10


@Rule(
    "KS803",
    "priority-below-cutoff",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""v1 Pod web
priorityClassName: batch  # <-
---
scheduling.k8s.io/v1 PriorityClass batch
value: -100
---
v1 ConfigMap cluster-autoscaler-status
namespace: kube-system
""",
    repair={"value: -100": "value: -10"},
)
def priority_below_cutoff(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The priority of the pods is below Cluster Autoscaler's cutoff, so that no node is added for them.

    Cluster Autoscaler leaves out pending pods whose priority is below ``--expendable-pods-priority-cutoff`` (-10 by default),
    and does not count them where it removes a node (Cluster Autoscaler, ``core/utils/expendable.go``; FAQ, "How does Cluster
    Autoscaler work with Pod Priority and Preemption?"). Karpenter has no such limit. The rule runs if the manifest set or
    the snapshot shows Cluster Autoscaler: its Deployment, its Lease, its Events, the ConfigMap
    ``cluster-autoscaler-status``, or in manifests the ClusterAutoscaler of OpenShift, whose ``podPriorityThreshold`` is the
    cutoff.

    The API server accepts the object, and the pods stay pending until there is free capacity on existing nodes.

    Repair: a priority class with a value of at least the cutoff. Ignore the finding if the pods are to use spare capacity
    only.
    """
    if pods.type == "apps/DaemonSet":
        return
    priority = computed_priority(pods.spec, pods.obj, context)
    if priority is None or priority.value is None or priority.value >= 0:
        return
    cutoff = _cutoff(context)
    if cutoff is None or priority.value >= cutoff:
        return
    name = text(pods.spec.get("priorityClassName"))
    yield Problem(
        message=f"{priority.source} priority {priority.value}, below Cluster Autoscaler's cutoff of {cutoff}: no node is "
        "added for the pods",
        steps=pods.of_spec("priorityClassName") if name else pods.of_spec(),
        help=f"use a class with a value of {cutoff} or more",
    )


def _cutoff(context: LintContext) -> int | None:
    """Return the cutoff of the Cluster Autoscaler that manifests or snapshot show; ``None`` if they show none."""
    by_type = context.manifests.by_type
    for own in by_type.get("autoscaling.openshift.io/ClusterAutoscaler", ()):
        threshold = at(own.raw, "spec", "podPriorityThreshold")
        return threshold if isinstance(threshold, int) else _DEFAULT_CUTOFF
    for pods in context.pods:
        if pods.type == "apps/Deployment" and (found := _cutoff_of(pods)) is not None:
            return found
    if any(each.name == _STATUS for each in by_type.get("ConfigMap", ())):
        return _DEFAULT_CUTOFF
    if context.overlay is None:
        return None
    cluster = context.overlay.cluster.cluster
    is_there = (
        any(each.name == _STATUS for each in cluster.list(ConfigMap))
        or any(each.name == _CLUSTER_AUTOSCALER for each in cluster.list(Lease))
        or any(_CLUSTER_AUTOSCALER in each.name for each in cluster.list(Deployment))
        or any(each.source.component == _CLUSTER_AUTOSCALER for each in cluster.list(Event))
    )
    return _DEFAULT_CUTOFF if is_there else None


def _cutoff_of(pods: WorkloadPods) -> int | None:
    """Return the cutoff of a Deployment that runs Cluster Autoscaler; ``None`` if it runs something else."""
    for container in pods.containers:
        image = text(container.raw.get("image")).rpartition("/")[2]
        if image.partition("@")[0].partition(":")[0].startswith(_CLUSTER_AUTOSCALER):
            words = [*items(container.raw.get("command")), *items(container.raw.get("args"))]
            found = _CUTOFF.search(" ".join(map(str, words)))
            return int(found[1]) if found is not None else _DEFAULT_CUTOFF
    return None


_WHOLE: Final = re.compile(r"[0-9]+", re.ASCII)


@Rule(
    "KS804",
    "node-pool-allows-nothing",
    Severity.ERROR,
    Stage.WAITS,
    NODE_POOL,
    fails=f"{_POOL}    - {{key: kubernetes.io/arch, operator: NotIn, values: [amd64]}}  # <-\n",
    repair={"    - {key: kubernetes.io/arch, operator: NotIn, values: [amd64]}  # <-\n": ""},
)
def node_pool_allows_nothing(pool: LintObject, context: LintContext) -> Iterator[Problem]:
    """The requirements of a NodePool contradict one another, or exclude all instance types.

    Karpenter intersects the requirements and labels of the template by key (``pkg/scheduling/requirements.go``). If no value
    of a label is left, if ``karpenter.sh/capacity-type`` lists none of ``on-demand``, ``spot`` and ``reserved``, or if other
    requirements exclude all instance types that are listed, the pool launches no node, and Karpenter reports the event
    "NodePool requirements filtered out all compatible available instance types", or the condition ValidationSucceeded
    False. The same is true if ``minValues`` is larger than the number of values that are left. Of instance types the rule
    knows those of which the snapshot has nodes or NodeClaims, and that event.

    The API server accepts the object, and the pods that need this pool stay pending. It refuses the object where
    ``minValues`` is larger than the number of listed values, where In has no value, and where Gt or Lt has anything but one
    whole number.

    Repair: one requirement per label, with values that instance types have.
    """
    typed = typed_pool(pool)
    if typed is None:
        return
    problems = [
        Problem(message=refusal, steps=steps, stop=Stage.REFUSED, help="write a requirement that Karpenter accepts")
        for steps, each in _written(pool, typed)
        if (refusal := _refusal(each))
    ]
    problems += _contradictions(pool, typed)
    yield from problems
    if problems or context.overlay is None:
        return
    # The engine is imported where there is a snapshot.
    from kschedctl.linter.node_pools import without_types

    excluded = without_types(typed, context)
    if excluded:
        yield Problem(
            message=excluded,
            steps=(*_TEMPLATE, "spec", "requirements"),
            help="allow instance types that meet all requirements",
        )


def _contradictions(pool: LintObject, typed: NodePool) -> Iterator[Problem]:
    # The engine is imported where there are NodePools.
    from kschedctl.autoscaler.instance_types import CAPACITY_TYPE, CAPACITY_TYPES

    left: dict[str, tuple[Requirement, list[Requirement]]] = {}
    for steps, own in _requirements(pool, typed):
        if own.key == CAPACITY_TYPE and own.operator == IN and own.values.isdisjoint(CAPACITY_TYPES):
            yield Problem(
                message=f"{own.key} lists {listed(sorted(own.values))}, which is no capacity type",
                steps=(*steps, "values") if at(pool.raw, *steps, "values") else steps,
                help=f"list {listed(CAPACITY_TYPES, 'or')}",
            )
        known, earlier = left.get(own.key, (own, []))
        both = intersection(own, known)
        if not intersects(known, own) and not (known.excludes and own.excludes):
            yield Problem(
                message=f"no value of {own.key} is left: {listed([str(each) for each in (*earlier, own)])}",
                steps=steps,
                help="keep one of the requirements",
            )
            both = own
        elif earlier and both.operator == IN and both.min_values is not None and both.min_values > len(both.values):
            yield Problem(
                message=f"minValues {both.min_values} of {own.key} is more than the {len(both.values)} values that are left",
                steps=steps,
                help="lower minValues, or allow more values",
            )
        left[own.key] = both, [*earlier, own]


def _requirements(pool: LintObject, typed: NodePool) -> Iterator[tuple[Steps, Requirement]]:
    """Yield the labels and the valid requirements of a pool's template, each with its path."""
    for key, value in typed.spec.template.metadata.labels.items():
        yield (*_TEMPLATE, "metadata", "labels", key), requirement(key, IN, (value,))
    for steps, each in _written(pool, typed):
        if not _refusal(each):
            yield steps, requirement(each.key, each.operator, each.values, each.min_values)


def _written(pool: LintObject, typed: NodePool) -> Iterator[tuple[Steps, MinValuesRequirement]]:
    """Yield the requirements of a pool's template as they are written, each with its path."""
    steps = (*_TEMPLATE, "spec", "requirements")
    places = numbered(at(pool.raw, *steps), steps)
    for (place, _), each in zip(places, typed.spec.template.spec.requirements, strict=True):
        yield place, each


def _refusal(each: MinValuesRequirement) -> str:
    """Return the reason why the API server refuses a requirement; empty if it accepts it."""
    if each.operator == IN:
        if not each.values:
            return f"In lists no value of {each.key}"
        if each.min_values is not None and each.min_values > len(each.values):
            return f"minValues {each.min_values} of {each.key} is more than the {len(each.values)} listed values"
    if each.operator in (GT, LT, GTE, LTE) and not (len(each.values) == 1 and _WHOLE.fullmatch(each.values[0])):
        return f"{each.operator} compares {each.key} with {listed(each.values) or 'nothing'}, not with one whole number"
    return ""


@Rule(
    "KS805",
    "node-pool-over-limit",
    Severity.WARNING,
    Stage.WAITS,
    NODE_POOL,
    fails="""apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  limits:
    cpu: "16"  # <-
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
status:
  resources: {cpu: "20"}
""",
    repair={'cpu: "16"': 'cpu: "32"'},
)
def node_pool_over_limit(pool: LintObject, context: LintContext) -> Iterator[Problem]:
    """The limits of a NodePool are below what its nodes have already.

    Karpenter launches a node only if the capacity of the pool's nodes with the new one stays within ``spec.limits``
    (karpenter.sh, Concepts, NodePools, "spec.limits"); it removes no node for a limit that was lowered. The amounts in use
    are those of the snapshot's nodes and NodeClaims with the label ``karpenter.sh/nodepool``; without a snapshot those in
    the ``status.resources`` of a NodePool that was read from a cluster.

    The API server accepts the object, and pods that need a new node of this pool stay pending. A node that is drained,
    expires or is interrupted cannot be replaced.

    Repair: limits above what is in use, with room for one more node at least.
    """
    typed = typed_pool(pool)
    if typed is None or not typed.spec.limits or (context.overlay is None and not typed.status.resources):
        return
    # The engine is imported where usage is known.
    from kschedctl.linter.node_pools import excess

    for name, limit, used in excess(typed, context):
        yield Problem(
            message=f"the limit of {limit} {name} is below the {used} {name} that nodes of the pool have: no node is added",
            steps=("spec", "limits", name),
            help="raise the limit, or reduce the pool first",
        )
