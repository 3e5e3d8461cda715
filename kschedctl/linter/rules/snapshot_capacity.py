"""The free capacity of a snapshot for the manifests: nodes, replicas, rollouts, zones and quotas."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import counted, listed
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, running, snapshot
from kschedctl.linter.pods import WorkloadPods, replicas_steps
from kschedctl.linter.relations import one_down_first, scaler_of
from kschedctl.linter.rule import Problem, Rule, RuleSubject, Stage
from kschedctl.linter.rules.manifests import validation_findings
from kschedctl.linter.values import steps_of
from kschedctl.objects.quantity import QuantityError
from kschedctl.objects.resources import RequestRules
from kschedctl.objects.well_known import zone_of

if TYPE_CHECKING:
    from kschedctl.linter.trial import Trial


@Rule(
    "KS501",
    "fits-no-empty-node",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    snapshot=True,
    fails="""v1 Pod web
spec:  # <-
resources:
  requests:
    cpu: "3"
""",
    repair={'cpu: "3"': 'cpu: "2"'},
    options={"snapshot": snapshot(node("a"), node("b"))},
)
def fits_no_empty_node(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods fit on no node of the snapshot, even if no other pods ran there.

    The rule removes all pods from the nodes and checks each node: what remains are its size, labels, taints and volumes.

    If a NodePool of Karpenter may launch a node for the pods, the finding is information.

    The API server accepts the object, and the pods stay pending until there is a node of another kind.

    Repair: lower the requests below the largest node, or see why the nodes are rejected: kschedctl explain.
    """
    from kschedctl.linter.cluster import failure_cause, trial_of

    trial = trial_of(pods, context, "KS501")
    if trial is None or fits_an_empty_node(trial):
        return
    problem = Problem(
        message=f"fits on no node, even if all were empty: {failure_cause(trial.on_empty_nodes)}",
        steps=pods.of_spec(),
        help="request less, or see why the nodes are rejected: kschedctl explain",
    )
    yield _unless_launched(problem, pods, context)


def _unless_launched(problem: Problem, pods: WorkloadPods, context: LintContext) -> Problem:
    """Return a problem of pods that fit on no node, as information if a NodePool may launch a node for them."""
    from kschedctl.linter.node_pools import launching_pool

    pool = launching_pool(pods, context)
    if not pool:
        return problem
    message = f"{problem.message}; NodePool {pool} may launch a node for it"
    return replace(problem, message=message, severity=Severity.INFO)


def fits_an_empty_node(trial: "Trial") -> bool:
    """Report whether a pod fits on a node without other pods, apart from its affinity to other pods."""
    from kschedctl.linter.cluster import rejecting

    if trial.decision.schedulable or trial.on_empty_nodes.schedulable:
        return True
    reasons = rejecting(trial.on_empty_nodes)
    nodes = set(trial.base.nodes.names)
    others = {name for plugin, names in reasons.items() if plugin != "InterPodAffinity" for name in names}
    return "InterPodAffinity" in reasons and nodes != others


@Rule(
    "KS502",
    "unschedulable-now",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    snapshot=True,
    fails="""v1 Pod web
spec:  # <-
resources:
  requests:
    cpu: "2"
""",
    repair={'cpu: "2"': 'cpu: "1"'},
    options={"snapshot": snapshot(node("a"), running("busy", "a"))},
)
def unschedulable_now(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods fit on no node in the snapshot's state; on an empty node they would fit.

    The rule first checks preemption: if pods can be evicted for them, KS503 reports that instead. If a NodePool of
    Karpenter may launch a node for the pods, the finding is information.

    The API server accepts the object, and the pods stay pending until other pods end.

    Repair: free capacity for them, or smaller requests.
    """
    from kschedctl.linter.cluster import failure_cause, trial_of

    trial = trial_of(pods, context, "KS502")
    if trial is None or trial.decision.schedulable or trial.decision.victims or not fits_an_empty_node(trial):
        return
    problem = Problem(
        message=f"fits on no node at present: {failure_cause(trial.decision)}",
        steps=pods.of_spec(),
        help="free capacity for it",
    )
    yield _unless_launched(problem, pods, context)


@Rule(
    "KS503",
    "only-by-preemption",
    Severity.WARNING,
    None,
    RuleSubject.PODS,
    snapshot=True,
    fails="""v1 Pod web
priorityClassName: system-cluster-critical  # <-
resources:
  requests:
    cpu: "2"
""",
    repair={'cpu: "2"': 'cpu: "1"'},
    options={"snapshot": snapshot(node("a"), running("busy", "a"))},
)
def only_by_preemption(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods fit only if other pods are evicted for them.

    The victims are those that kube-scheduler's preemption selects for the first pod. The finding is an error if the
    evictions violate a disruption budget.

    The API server accepts the object, and the victims are evicted as soon as the object is applied.

    Repair: free capacity for the pods, or a lower priority if no pod should be evicted for them.
    """
    from kschedctl.linter.cluster import trial_of

    trial = trial_of(pods, context, "KS503")
    if trial is None or trial.decision.schedulable or not trial.decision.victims:
        return
    where, victims = next(iter(trial.decision.victims.items()))
    preemption = trial.decision.preemption
    violated = preemption.candidate(where).n_violations if preemption is not None else 0
    broken = f"; {counted(violated, 'eviction')} would violate a disruption budget" if violated else ""
    field = "priorityClassName" if pods.spec.get("priorityClassName") else None
    yield Problem(
        message=f"fits only by preemption: {listed(list(victims))} would be evicted from {where}{broken}",
        steps=pods.of_spec(field) if field else pods.of_spec(),
        help="free capacity for it, or lower its priority",
        severity=Severity.ERROR if violated else None,
    )


@Rule(
    "KS504",
    "replicas-do-not-fit",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    snapshot=True,
    fails="""apps/v1 Deployment web
replicas: 3  # <-
resources:
  requests:
    cpu: "2"
""",
    repair={"replicas: 3": "replicas: 2"},
    options={"snapshot": snapshot(node("a"), node("b"))},
)
def replicas_do_not_fit(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """Some of the replicas fit on the nodes of the snapshot, and the others do not.

    The replicas are placed one after another, each beside those before it; at most 200 are tried. The finding is info if
    the autoscaler's minimum fits and its maximum does not.

    The API server accepts the object, and the pods beyond those that fit stay pending.

    Repair: fewer or smaller replicas, or more nodes.
    """
    from kschedctl.linter.cluster import failure_cause, trial_of
    from kschedctl.linter.trial import MOST

    count = context.replicas(pods)
    if count is None or count.high < 2:
        return
    trial = trial_of(pods, context, "KS504")
    if trial is None or not trial.decision.schedulable:
        return
    placed = trial.placed(count.high)
    if placed.stopped is None:
        return
    low = placed.n < count.low
    wanted = count.low if low else count.high
    most = f" ({MOST} tried)" if wanted > MOST else ""
    yield Problem(
        message=f"{placed.n} of {wanted} replicas fit{most}; the next one: {failure_cause(placed.stopped)}",
        steps=replicas_steps(pods),
        help="use fewer or smaller replicas, or more nodes",
        severity=None if low else Severity.INFO,
        related=scaler_of(count),
    )


@Rule(
    "KS505",
    "surge-does-not-fit",
    Severity.WARNING,
    Stage.HANGS,
    RuleSubject.PODS,
    snapshot=True,
    fails="""apps/v1 Deployment web
replicas: 2  # <-
resources:
  requests:
    cpu: "2"
""",
    repair={"replicas: 2": "strategy:\n  rollingUpdate: {maxSurge: 0, maxUnavailable: 1}\nreplicas: 2"},
    options={"snapshot": snapshot(node("a"), node("b"))},
)
def surge_does_not_fit(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The replicas of a Deployment fit on the nodes of the snapshot, and the first pod of a rollout does not.

    A rolling update whose maxUnavailable is rounded to 0 starts a new pod before an old one ends. The replicas are placed
    one after another, unless they run already, and then a pod of another revision is placed. If one fits, the rollout makes
    progress, however many more pods maxSurge allows.

    The API server accepts the object, the pods run, and the next rollout hangs until there is free capacity.

    Repair: maxSurge 0 and maxUnavailable 1, or free capacity for one more pod.
    """
    from kschedctl.linter.cluster import failure_cause, trial_of

    count = context.new_pods_first(pods)
    trial = trial_of(pods, context, "KS505") if count is not None and pods.type == "apps/Deployment" else None
    if count is None or trial is None or not trial.decision.schedulable:
        return
    decision = trial.surge(count.low)
    if decision is None or decision.schedulable:
        return
    yield Problem(
        message=f"all {count.low} replicas fit, but not the additional pod that a rollout starts first: "
        f"{failure_cause(decision)}",
        steps=replicas_steps(pods),
        help="set maxSurge 0 and maxUnavailable 1, or free capacity for one more pod",
        related=scaler_of(count),
        fix=one_down_first(pods),
    )


@Rule(
    "KS511",
    "zone-loss",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    snapshot=True,
    on=False,
    fails="""apps/v1 Deployment web
replicas: 2  # <-
resources:
  requests:
    cpu: "2"
""",
    repair={'cpu: "2"': 'cpu: "1"'},
    options={"snapshot": snapshot(node("a", zone="a"), node("b", zone="b"))},
)
def zone_loss(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The replicas do not fit if one of the zones fails.

    The rule runs only with --fail-zone, or if it is selected. It removes the nodes of each zone in turn, and places the
    replicas on the remaining nodes.

    The API server accepts the object, and pods stay pending while a zone is unavailable.

    Repair: free capacity in the other zones.
    """
    from kschedctl.linter.cluster import failure_cause, trial_of

    count = context.replicas(pods)
    trial = trial_of(pods, context, "KS511") if count is not None and count.low else None
    if count is None or trial is None or trial.placed(count.low).stopped is not None:
        return
    nodes = trial.base.nodes.objects
    zones = sorted({zone for each in nodes if (zone := zone_of(each.metadata.labels))})
    for zone in zones if len(zones) > 1 else ():
        away = frozenset(each.name for each in nodes if zone_of(each.metadata.labels) == zone)
        placed = trial.placed(count.low, without_nodes=away)
        if placed.stopped is not None:
            yield Problem(
                message=f"without zone {zone}, {placed.n} of {count.low} replicas fit: {failure_cause(placed.stopped)}",
                steps=replicas_steps(pods),
                help="provide free capacity in the other zones",
                related=scaler_of(count),
            )


#: The fields that admission compares with classes.
_OF_CLASSES: Final = ("priorityClassName", "runtimeClassName", "priority", "preemptionPolicy")


@Rule(
    "KS512",
    "quota",
    Severity.ERROR,
    Stage.PODS_REFUSED,
    RuleSubject.PODS,
    snapshot=True,
    fails="""apps/v1 Deployment web
namespace: shop
replicas: 3  # <-
resources:
  requests:
    cpu: 100m
""",
    repair={"replicas: 3": "replicas: 1"},
    options={
        "snapshot": snapshot(
            node("a"),
            """apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: shop}
spec: {hard: {pods: "2"}}
status: {hard: {pods: "2"}, used: {pods: "0"}}
""",
        )
    },
)
def quota(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A quota, LimitRange or runtime class of the snapshot refuses the pods, or the additional pod that a rollout needs.

    A LimitRange limits amounts, and sets those that containers do not have: a request above its default limit is refused. A
    runtime class sets overhead and node labels, and refuses pods with other ones. A quota refuses pods that do not request
    what it counts. Its usage is that of its status, minus the usage of the workload's own pods, plus that of its new pods.

    The API server accepts the workload and refuses pods (FailedCreate); a rollout hangs.

    Repair: a larger quota, or requests within the limits.
    """
    from kschedctl.linter.cluster import overlay_of, trial_of

    stop, tried = Stage.REFUSED if pods.type == "Pod" else None, overlay_of(context).trial(pods)
    # KS906 and KS907 report what any cluster refuses, KS507 missing classes, and KS310 a priority.
    if tried is not None and all(
        each.severity is not Severity.ERROR for each in validation_findings(pods.obj, context)
    ):
        refusals = [each for each in tried.refusals if each.field.rpartition(".")[2] not in _OF_CLASSES]
        for each in refusals:
            message = f"the cluster refuses the pods: {each.problem}"
            yield Problem(message=message, steps=steps_of(pods.obj.raw, each.field), help=each.hint, stop=stop)
        if refusals:
            return
    count = context.replicas(pods)
    trial = trial_of(pods, context, "KS512") if count is not None else None
    if count is None or trial is None:
        return
    unspecified = next((refusal for refusal in trial.admitted.quota_refusals if not refusal.limited), None)
    if unspecified is not None:
        yield Problem(
            message=f"the cluster refuses the pods: {unspecified.message}",
            steps=pods.of_spec("containers"),
            help=f"request what quota {unspecified.quota} counts, in all containers",
            stop=stop,
        )
        return
    low = count.low
    if (why := _quota_exceeded(trial, low)) is not None:
        yield Problem(message=f"{low} pods: {why}", steps=replicas_steps(pods), help="raise the quota, or request less")
    elif context.new_pods_first(pods) is not None and (why := _quota_exceeded(trial, low + 1)) is not None:
        yield Problem(
            message=f"all {low} pods are admitted, but not the additional pod that a rollout needs: {why}",
            steps=replicas_steps(pods),
            help="raise the quota by one pod, or set maxSurge 0 and maxUnavailable 1",
            severity=Severity.WARNING,
            stop=Stage.HANGS,
        )


def _quota_exceeded(trial: "Trial", n: int) -> str | None:
    """Return the reason why `n` pods exceed a quota; ``None`` if they do not."""
    from kschedctl.controllers.admission.resource_quota import quota_shares

    rules = RequestRules.of(trial.base.release_choice.release)
    try:
        for share in quota_shares(trial.pod, trial.base.cluster, rules):
            if share.exceeded_by(n, stored=len(trial.own)):
                used = share.quota.status.used.get(share.resource)
                return f"quota {share.quota.name} allows {share.hard} of {share.resource}, used {used}"
    except QuantityError:
        return None
    return None
