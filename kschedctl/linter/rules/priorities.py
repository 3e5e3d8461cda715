"""Priorities and priority classes."""

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.related_objects import computed_priority
from kschedctl.linter.rule import Problem, Rule, RuleSubject, Stage
from kschedctl.linter.values import at, is_rendered, items, text, whole

_SYSTEM: Final = ("system-cluster-critical", "system-node-critical")
#: The beginning of labels of GKE's nodes.
_GKE: Final = "cloud.google.com/gke-"
_KUBE_SYSTEM: Final = "kube-system"


_SYSTEM_CLASS_ELSEWHERE = """v1 Pod web
namespace: shop
priorityClassName: system-cluster-critical  # <-
"""


@Rule(
    "KS309",
    "system-class-elsewhere",
    Severity.INFO,
    Stage.PODS_REFUSED,
    RuleSubject.PODS,
    fails=_SYSTEM_CLASS_ELSEWHERE,
    passes=f"""{_SYSTEM_CLASS_ELSEWHERE}---
v1 ResourceQuota critical
namespace: shop
hard:
  pods: "10"
scopeSelector:
  matchExpressions:
  - scopeName: PriorityClass
    operator: In
    values: [system-cluster-critical]
""",
)
def system_class_elsewhere(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods use a system priority class outside kube-system, which some clusters allow only with a quota.

    If the API server is configured so, as on GKE, pods with ``system-cluster-critical`` or ``system-node-critical`` need a
    ResourceQuota in their namespace whose PriorityClass scope names the class; without one they are refused, while the
    Deployment is accepted. The rule reports nothing if the manifest set has such a quota, if the object names no namespace,
    or if there is a snapshot whose nodes are not those of GKE.

    The API server accepts the workload, and in such clusters refuses its pods ("insufficient quota to match these
    scopes").

    Repair: a ResourceQuota with scope PriorityClass in that namespace, or a class of your own.
    """
    name = text(pods.spec.get("priorityClassName"))
    if name not in _SYSTEM or pods.namespace in ("", _KUBE_SYSTEM):
        return
    if context.nodes and not context.has_nodes_of(_GKE):
        return
    for quota in context.manifests.beside(pods.obj, "ResourceQuota"):
        for scope in items(at(quota.raw, "spec", "scopeSelector", "matchExpressions")):
            if at(scope, "scopeName") == "PriorityClass" and (
                name in items(at(scope, "values")) or at(scope, "operator") == "Exists"
            ):
                return
    yield Problem(
        message=f"{name} in namespace {pods.namespace}: some clusters, GKE among them, refuse such pods without a "
        "quota that names the class",
        steps=pods.of_spec("priorityClassName"),
        help="add a ResourceQuota with scope PriorityClass, or use a class of your own",
    )


@Rule(
    "KS310",
    "priority-by-hand",
    Severity.ERROR,
    Stage.PODS_REFUSED,
    RuleSubject.PODS,
    fails="""v1 Pod web
priority: 1000  # <-
""",
    passes="""v1 Pod web
priorityClassName: shop  # <-
---
scheduling.k8s.io/v1 PriorityClass shop
value: 1000
""",
)
def priority_by_hand(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods set a priority or a preemption policy that differs from that of their priority class.

    Admission sets both from the class named by priorityClassName, else from the global default class, else to 0 and
    PreemptLowerPriority, and refuses pods that set other values. The rule reports nothing for a class that is not in the
    manifest set, as its values are not known.

    The API server accepts the workload and refuses its pods ("the integer value of priority must not be provided").

    Repair: leave priority and preemptionPolicy out, and name the intended class.
    """
    if pods.obj.live:
        return
    computed = computed_priority(pods.spec, pods.obj, context)
    if computed is None:
        return
    value, policy, source = computed
    for field, gives in (("priority", value), ("preemptionPolicy", policy)):
        stated = pods.spec.get(field)
        if stated is None or stated == "" or gives is None or stated == gives or not is_rendered(stated):
            continue
        steps = pods.of_spec(field)
        yield Problem(
            message=f"{field} {stated} is refused: {source} {gives}",
            steps=steps,
            help=f"leave {field} out" + ("" if text(pods.spec.get("priorityClassName")) else ", and name a class"),
            fix=removing(pods.obj, f"remove {field}", steps),
        )


_BUILT_IN: Final = ("system-cluster-critical", "system-node-critical")


_CLASS_NOT_GIVEN = """v1 Pod web
priorityClassName: shop  # <-
"""


@Rule(
    "KS311",
    "class-not-given",
    Severity.WARNING,
    Stage.PODS_REFUSED,
    RuleSubject.PODS,
    on=False,
    fails=_CLASS_NOT_GIVEN,
    passes=f"""{_CLASS_NOT_GIVEN}---
scheduling.k8s.io/v1 PriorityClass shop
value: 1000
""",
)
def class_not_given(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods name a priority class that is neither built in nor in the manifest set.

    If the cluster has the class, nothing is wrong, so the rule runs only if it is selected. With a snapshot, KS507 checks
    the classes of the cluster.

    The API server accepts the workload, and refuses its pods if the class does not exist.

    Repair: add the class, or name an existing one.
    """
    name = text(pods.spec.get("priorityClassName"))
    if not name or name in _BUILT_IN or not is_rendered(name):
        return
    if context.manifests.has("scheduling.k8s.io/PriorityClass", name) or context.may_be_elsewhere("KS311", pods.obj):
        return
    yield Problem(
        message=f"PriorityClass {name} is not in the manifest set",
        steps=pods.of_spec("priorityClassName"),
        help="add the class, or name an existing one",
    )


@Rule(
    "KS312",
    "global-default",
    Severity.INFO,
    None,
    "scheduling.k8s.io/PriorityClass",
    fails="""scheduling.k8s.io/v1 PriorityClass shop
value: 1000
globalDefault: true  # <-
""",
    repair={"globalDefault: true": "globalDefault: false"},
)
def global_default(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A priority class is the default for all pods that name no class, in every namespace.

    New pods have the class's priority, and existing pods keep theirs until they are replaced: pods of one Deployment can
    have two priorities, and those with the higher one preempt others. If two classes are global defaults, the one with the
    lower value applies.

    Nothing is blocked by the class itself; a priority that was intended for a few pods applies to all.

    Repair: name the class in the pods that need it.
    """
    if obj.raw.get("globalDefault") is True:
        yield Problem(
            message=f"every new pod without a class gets priority {obj.raw.get('value')}, in all namespaces",
            steps=("globalDefault",),
            help="name the class in the pods that need it",
        )


_CUTOFF: Final = -10


@Rule(
    "KS313",
    "below-autoscaler-cutoff",
    Severity.INFO,
    Stage.WAITS,
    "scheduling.k8s.io/PriorityClass",
    fails="""scheduling.k8s.io/v1 PriorityClass spare
value: -100  # <-
""",
    repair={"-100": "-10"},
)
def below_autoscaler_cutoff(obj: LintObject, context: LintContext) -> Iterator[Problem]:
    """A priority class has such a low value that the cluster autoscaler ignores its pods.

    Pods with a priority below -10 (``expendable-pods-priority-cutoff``) are expendable: the autoscaler adds no node for
    them, and removes nodes in spite of them. The value -1, which is common for placeholder pods, is above the cutoff.

    The API server accepts the object, and pods stay pending, as no node is added for them.

    Repair: a value of -10 or more, unless this is intended.
    """
    value = whole(obj.raw.get("value"))
    if value is not None and value < _CUTOFF:
        yield Problem(
            message=f"the cluster autoscaler adds no node for pods of priority {value}: below {_CUTOFF} they are "
            "expendable",
            steps=("value",),
            help=f"use {_CUTOFF} or more, unless this is intended",
        )
