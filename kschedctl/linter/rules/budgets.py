"""Disruption budgets, and the workloads that need one."""

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.controllers.disruption import WITHOUT_SCALE, always_forbids, forbids, needs_scale
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.labels import holds, near_miss, selects_everything
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import SCALED, WorkloadPods, replicas_steps
from kschedctl.linter.related_objects import JOBS, PDB, SELECTOR, counts, one_may_go, related_pods, selected, threshold
from kschedctl.linter.relations import scaler_of
from kschedctl.linter.rule import Problem, Related, Rule, RuleSubject, Stage
from kschedctl.linter.values import at, items, mapping
from kschedctl.objects.releases.differences import became_true
from kschedctl.objects.releases.release import RELEASES


@Rule(
    "KS301",
    "budget-forbids-eviction",
    Severity.WARNING,
    Stage.HANGS,
    "policy/PodDisruptionBudget",
    fails="""policy/v1 PodDisruptionBudget db
minAvailable: 67%  # <-
---
apps/v1 StatefulSet db
replicas: 3
""",
    repair={"67%": "66%"},
)
def budget_forbids_eviction(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """A disruption budget allows no eviction while all pods are healthy, so no node with one of them can be drained.

    The budget has maxUnavailable 0 or 0 %, minAvailable 100 %, or a minAvailable that equals the number of all pods. The
    number is the sum over all workloads of the manifest set that the selector matches, with the maximum of their
    autoscalers. Percentages are rounded up: 67 % of 3 is 3, and maxUnavailable 10 % of 3 is 1. A Job and a CronJob count
    with the pods of one run, as minAvailable with a number counts them; drains wait until the run ends.

    The API server accepts the object, and the next drain of a node hangs: in cluster upgrades, and when nodes are removed.

    Repair: maxUnavailable: 1. For pods of Jobs, for which it cannot be computed (KS307), and for pods without a controller,
    a lower minAvailable, or no budget. If the pods must never be evicted, ignore the finding, with a reason.
    """
    limit = threshold(budget)
    if limit is None:
        return
    field, value = limit
    found, all_counted = counts(budget, context, "KS301")
    n = sum(count.high for _, count in found)
    if always_forbids(field, value):
        message = f"{field} {value} allows no eviction"
    elif all_counted and n and forbids(field, value, n):
        percent = f"{value} of {n} rounds up to {n}" if isinstance(value, str) else f"{field} {value}"
        message = f"{percent}: 0 of {n} {'pod' if n == 1 else 'pods'} can be evicted"
    else:
        return
    types = {pods.type for pods in selected(budget, context)}
    has_scale = types.isdisjoint(WITHOUT_SCALE)
    until = " until the Job ends" if types and types <= JOBS else ""
    lower = "set minAvailable to a number" if needs_scale(field, value) else "set a lower minAvailable"
    yield Problem(
        message=f"{message}, so no node with one of the pods can be drained{until}",
        steps=("spec", field),
        help="set maxUnavailable: 1" if has_scale else f"{lower}, or remove the budget",
        related=related_pods(found),
        fix=one_may_go(budget, field) if has_scale else None,
    )


@Rule(
    "KS302",
    "budget-forbids-at-minimum",
    Severity.WARNING,
    Stage.HANGS,
    "policy/PodDisruptionBudget",
    fails="""policy/v1 PodDisruptionBudget web
minAvailable: 80%  # <-
---
apps/v1 Deployment web
---
autoscaling/v2 HorizontalPodAutoscaler web
minReplicas: 1
maxReplicas: 10
""",
    repair={"minAvailable: 80%": "maxUnavailable: 20%"},
)
def budget_forbids_at_minimum(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """A disruption budget allows no eviction while the autoscaler runs its minimum number of pods.

    The condition is that of KS301, computed for the autoscaler's minimum: 80 % of 1 is 1. At times of low load, which is
    when nodes are removed, no node with one of the pods can be drained.

    The API server accepts the object, and drains hang at times of low load.

    Repair: maxUnavailable: 1, or at least one more replica.
    """
    limit = threshold(budget)
    if limit is None or always_forbids(*limit):
        return
    field, value = limit
    found, all_counted = counts(budget, context, "KS302")
    low, high = sum(count.low for _, count in found), sum(count.high for _, count in found)
    if not all_counted or not low or not forbids(field, value, low) or forbids(field, value, high):
        return
    scalers = ", ".join(f"{count.scaler.kind} {count.scaler.name}" for _, count in found if count.scaler is not None)
    comes_to = f"{value} of {low} rounds up to {low}" if isinstance(value, str) else f"{field} {value}"
    yield Problem(
        message=f"{comes_to}: while {scalers} runs {low} of {high} pods, no eviction is allowed, so no node with one "
        "of the pods can be drained",
        steps=("spec", field),
        help="set maxUnavailable: 1, or run more replicas",
        related=related_pods(found),
        fix=one_may_go(budget, field) if all(pods.type not in WITHOUT_SCALE for pods, _ in found) else None,
    )


@Rule(
    "KS303",
    "budgets-overlap",
    Severity.ERROR,
    Stage.HANGS,
    "policy/PodDisruptionBudget",
    fails="""policy/v1 PodDisruptionBudget shop
maxUnavailable: 1
selector:
  matchLabels: {part-of: shop}
---
policy/v1 PodDisruptionBudget web
maxUnavailable: 1
selector:  # <-
  matchLabels: {app: web}
---
apps/v1 Deployment web
labels: {app: web, part-of: shop}
""",
    repair={"{part-of: shop}": "{app: shop}"},
)
def budgets_overlap(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """Two disruption budgets of a namespace select the same pods, so none of these pods can be evicted.

    The eviction API answers with status 500, "This pod has more than one PodDisruptionBudget", whatever the budgets allow.

    The API server accepts both, and the next drain hangs.

    Repair: one budget per pod.
    """
    own = {pods.obj: pods for pods in selected(budget, context)}
    for other in context.manifests.beside(budget, PDB):
        if other is budget or other.key == budget.key or _sort_key(other) > _sort_key(budget):
            continue
        both = [pods for pods in selected(other, context) if pods.obj in own]
        if both:
            names = ", ".join(f"{pods.obj.kind} {pods.obj.name}" for pods in both)
            yield Problem(
                message=f"PodDisruptionBudget {other.name} also selects the pods of {names}: pods with two budgets "
                "cannot be evicted",
                steps=SELECTOR,
                help="keep one budget per pod",
                related=(Related(other, SELECTOR, "the other budget"), Related(both[0].obj, (), "the pods")),
            )


def _sort_key(budget: LintObject) -> tuple[str, int, str]:
    return budget.file.name, budget.document.number, budget.name


@Rule(
    "KS304",
    "budget-selects-nobody",
    Severity.WARNING,
    None,
    "policy/PodDisruptionBudget",
    on=False,
    if_complete=True,
    fails="""policy/v1 PodDisruptionBudget web
maxUnavailable: 1
selector:  # <-
  matchLabels: {app: wbe}
---
apps/v1 Deployment web
""",
    repair={"wbe": "web"},
)
def budget_selects_nobody(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """A disruption budget selects no pod of the manifest set.

    The budget then protects no pods. Pods that operators create, or whose manifests are in other folders, are not in the
    manifest set. Therefore the rule runs only if the settings declare the manifest set complete (``complete: true``), with
    a snapshot, or if it is selected.

    The API server accepts the object, and pods are evicted as if there were no budget.

    Repair: select labels of the template.
    """
    selector = at(budget.raw, *SELECTOR)
    if selector is None:
        return
    same = (pods for pods in context.pods if pods.namespace == budget.namespace)
    if any(holds(selector, pods.labels) is not False for pods in same):
        return
    if context.overlay is not None and context.overlay.matches_pods(selector, budget.namespace):
        return
    if context.may_be_elsewhere("KS304", budget):
        return
    yield Problem(
        message="the selector matches no pod of the manifest set", steps=SELECTOR, help="select labels of the template"
    )


_BUDGET_MISSES = """policy/v1 PodDisruptionBudget web
maxUnavailable: 1
selector:  # <-
  matchLabels:
    app: web
    version: v2
---
apps/v1 Deployment web
"""


@Rule(
    "KS316",
    "budget-misses-one-label",
    Severity.WARNING,
    None,
    "policy/PodDisruptionBudget",
    fails=_BUDGET_MISSES,
    repair={"    version: v2\n": ""},
)
def budget_misses_one_label(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """A disruption budget selects no pod, but would select those of a workload beside it without one of its labels.

    The pods have all labels of the selector but one, which their template lacks or has with a value that is spelt in
    another way. The rule looks at workloads in the folder of the budget, and only if the budget selects no other pod. It
    reports nothing if the budget is probably for pods whose manifest is elsewhere: the value is a different one
    (``component: webhook`` and ``component: controller``), the missing label tells the parts of an application from one
    another (``component``, ``tier``), or no label of the pods has its domain (``strimzi.io/cluster``). Neither does it for
    templates whose labels are not all known. KS304 reports all budgets that select nobody, if the manifest set is complete.

    The API server accepts the object, and pods are evicted as if there were no budget.

    Repair: the labels of the template.
    """
    selector = at(budget.raw, *SELECTOR)
    same = [pods for pods in context.pods if pods.namespace == budget.namespace]
    if any(holds(selector, pods.labels) is not False for pods in same):
        return
    if context.overlay is not None and context.overlay.matches_pods(selector, budget.namespace):
        return
    beside = [pods for pods in context.pods_seen_from(budget) if pods.obj.file.folder == budget.file.folder]
    for pods in context.without_owned(beside):
        missed = near_miss(selector, pods.labels)
        if missed is None or context.may_be_elsewhere("KS316", budget):
            continue
        value = pods.labels.known.get(missed.key)
        has = f"whose {missed.key} is {value}" if value is not None else f"which have no label {missed.key}"
        yield Problem(
            message=f"the selector matches no pod: {missed} does not hold for those of {pods.obj.kind} "
            f"{pods.obj.name}, {has}",
            steps=SELECTOR,
            help="select labels of the template",
            related=(Related(pods.obj, (*pods.template, "metadata", "labels"), "the labels of the pods"),),
        )
        return


@Rule(
    "KS305",
    "budget-selects-everything",
    Severity.WARNING,
    None,
    "policy/PodDisruptionBudget",
    fails="""policy/v1 PodDisruptionBudget web
maxUnavailable: 1
selector: {}  # <-
""",
    repair={"selector: {}": "selector:\n  matchLabels: {app: web}"},
)
def budget_selects_everything(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """A disruption budget has an empty selector, which selects every pod of its namespace, or none, which selects no pod.

    In policy/v1 ``{}`` selects all pods of the namespace, including those of Jobs and those without a controller. Together
    with any other budget it makes pods impossible to evict (KS303). Without a selector the budget selects nothing.
    Evictions respect ``{}`` in every release, preemption only since Kubernetes 1.38 (KS315).

    The API server accepts both, and nothing is blocked by the budget itself.

    Repair: select labels of the template.
    """
    selector = at(budget.raw, *SELECTOR)
    if selector is None:
        yield Problem(
            message="the budget has no selector: it selects no pod",
            steps=SELECTOR,
            help="select labels of the template",
        )
    elif selects_everything(selector):
        yield Problem(
            message="an empty selector selects every pod of the namespace",
            steps=SELECTOR,
            help="select labels of the template",
        )


@Rule(
    "KS306",
    "budget-without-threshold",
    Severity.ERROR,
    Stage.HANGS,
    "policy/PodDisruptionBudget",
    fails="""policy/v1 PodDisruptionBudget web
spec:  # <-
""",
    repair={"spec:  # <-": "maxUnavailable: 1"},
)
def budget_without_threshold(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """A disruption budget has neither minAvailable nor maxUnavailable, so it allows no eviction.

    The disruption controller then expects no pods and sets disruptionsAllowed to 0, which the eviction API enforces.

    The API server accepts the object, and the next drain hangs.

    Repair: maxUnavailable: 1.
    """
    spec = mapping(budget.raw.get("spec"))
    if spec.get("minAvailable") is None and spec.get("maxUnavailable") is None:
        yield Problem(
            message="neither minAvailable nor maxUnavailable: the budget allows no eviction",
            steps=("spec",),
            help="set maxUnavailable: 1",
            fix=setting(budget, "set maxUnavailable: 1", (("spec", "maxUnavailable"), 1)),
        )


@Rule(
    "KS307",
    "budget-cannot-count",
    Severity.WARNING,
    Stage.HANGS,
    "policy/PodDisruptionBudget",
    fails="""policy/v1 PodDisruptionBudget agent
maxUnavailable: 1  # <-
---
apps/v1 DaemonSet agent
""",
    repair={"maxUnavailable: 1": "minAvailable: 2"},
)
def budget_cannot_count(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """A disruption budget depends on the expected number of pods, and selects pods for which that number is not known.

    maxUnavailable and percentages are relative to the scale of the pods' controllers. A DaemonSet and a Job have no scale:
    the disruption controller then fails (SyncFailed) and allows no eviction. It does not count Pods without a controller:
    if there are only such pods, it expects no pod and allows no eviction.

    The API server accepts the object, and the next drain hangs.

    Repair: minAvailable with a number.
    """
    limit = threshold(budget)
    if limit is None or not needs_scale(*limit):
        return
    found = selected(budget, context)
    only_bare = all(pods.type == "Pod" and not items(at(pods.obj.raw, "metadata", "ownerReferences")) for pods in found)
    for pods in found:
        why = WITHOUT_SCALE.get(pods.type)
        if why is not None and (pods.type != "Pod" or only_bare):
            yield Problem(
                message=f"{limit[0]} {limit[1]} cannot be computed for {pods.obj.kind} {pods.obj.name}: {why}, so the "
                "budget allows no eviction",
                steps=("spec", limit[0]),
                help="set minAvailable to a number",
                related=(Related(pods.obj, (), "the pods"),),
            )


@Rule(
    "KS308",
    "unhealthy-eviction-policy",
    Severity.INFO,
    Stage.HANGS,
    "policy/PodDisruptionBudget",
    on=False,
    fails="""policy/v1 PodDisruptionBudget web
spec:  # <-
maxUnavailable: 1
""",
    repair={"maxUnavailable: 1": "maxUnavailable: 1\nunhealthyPodEvictionPolicy: AlwaysAllow"},
)
def unhealthy_eviction_policy(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """A disruption budget does not set the eviction policy for pods that run and are not ready.

    By default (IfHealthyBudget) a pod that is not ready can be evicted only while the budget's healthy pods suffice, so a
    workload that never becomes ready blocks every drain. AlwaysAllow permits these evictions. Most budgets do not set the
    policy, so the rule runs only if it is selected.

    The API server accepts the object, and a drain hangs if pods are not ready.

    Repair: unhealthyPodEvictionPolicy: AlwaysAllow.
    """
    steps = ("spec", "unhealthyPodEvictionPolicy")
    if at(budget.raw, *steps) is None:
        yield Problem(
            message="pods that are not ready can be evicted only while the budget has enough healthy pods",
            steps=steps,
            help="set unhealthyPodEvictionPolicy: AlwaysAllow",
            fix=setting(budget, "set unhealthyPodEvictionPolicy: AlwaysAllow", (steps, "AlwaysAllow")),
        )


_REPLICAS_WITHOUT_BUDGET = """apps/v1 Deployment web
replicas: 3  # <-
"""


@Rule(
    "KS314",
    "replicas-without-budget",
    Severity.INFO,
    None,
    RuleSubject.PODS,
    on=False,
    fails=_REPLICAS_WITHOUT_BUDGET,
    passes=f"""{_REPLICAS_WITHOUT_BUDGET}---
policy/v1 PodDisruptionBudget web
maxUnavailable: 1
""",
)
def replicas_without_budget(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A workload has several replicas, and no disruption budget selects its pods.

    A drain evicts all pods of its nodes at once, so drains of several nodes can end all replicas together; a budget makes
    each drain wait (https://kubernetes.io/docs/tasks/run-application/configure-pdb/). Many workloads need no budget, and
    budgets may be in other files. Therefore the rule runs only if it is selected.

    Nothing is blocked; the pods have no protection against drains.

    Repair: a PodDisruptionBudget with maxUnavailable: 1.
    """
    count = context.replicas(pods) if pods.type in SCALED else None
    if count is None or count.low < 2:
        return
    budgets = (budget for budget in context.manifests.by_type.get(PDB, ()) if budget.namespace == pods.namespace)
    if any(holds(at(budget.raw, *SELECTOR), pods.labels) is not False for budget in budgets):
        return
    if context.may_be_elsewhere("KS314", pods.obj):
        return
    yield Problem(
        message=f"{count.shown} replicas, and no disruption budget selects them",
        steps=replicas_steps(pods),
        help="add a PodDisruptionBudget with maxUnavailable: 1",
        related=scaler_of(count),
    )


_LAST, _FIRST = became_true("empty_budget_selector_protects")


@Rule(
    "KS315",
    "budget-protects-namespace-after-upgrade",
    Severity.INFO,
    None,
    "policy/PodDisruptionBudget",
    fails="""policy/v1 PodDisruptionBudget web
maxUnavailable: 1
selector: {}  # <-
""",
    repair={"selector: {}": "selector:\n  matchLabels: {app: web}"},
    options={"release": RELEASES[_LAST]},
)
def budget_protects_namespace_after_upgrade(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """A disruption budget has an empty selector, which preemption ignores until an upgrade of Kubernetes.

    Until Kubernetes 1.37 kube-scheduler ignores a budget with ``selector: {}`` when it chooses victims, although the
    eviction API applies it to every pod of the namespace (KS305). From 1.38 on preemption applies it, too
    (pkg/scheduler/framework/preemption/util.go): it prefers nodes and victims with which it violates no budget, so it
    evicts other pods than before. A selector without ``matchLabels`` and ``matchExpressions`` is empty, too. Without a
    selector, the budget protects no pod in any release.

    Nothing is blocked: preemption evicts protected pods if no others help.
    ``kschedctl diff --kubernetes-version 1.37..1.38`` shows for which pods others are evicted.

    Repair: select labels of the template.
    """
    if not context.release.empty_budget_selector_protects and selects_everything(at(budget.raw, *SELECTOR)):
        yield Problem(
            message=f"preemption ignores an empty selector until Kubernetes {_LAST}; from {_FIRST} on the budget "
            "protects every pod of the namespace",
            steps=SELECTOR,
            help="select labels of the template before the upgrade",
        )
