"""The manifests on the cluster of a snapshot: labels, objects, domains, and what stops a drain."""

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed, nearest, similar
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, running, snapshot
from kschedctl.linter.labels import PodLabels, holds
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.node_terms import Demand, demands_of, selector_demands
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.related_objects import SELECTOR, one_may_go, threshold
from kschedctl.linter.relations import one_down_first, scaler_of, self_terms
from kschedctl.linter.rule import Problem, Rule, RuleSubject, Stage
from kschedctl.linter.values import at, is_rendered, text
from kschedctl.objects.device import DeviceClass
from kschedctl.objects.kinds import cannot_be_listed, is_namespaced
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import NO_EXECUTE, NO_SCHEDULE, tolerated
from kschedctl.objects.policies import PriorityClass, RuntimeClass
from kschedctl.objects.volume import StorageClass
from kschedctl.objects.workload import DaemonSet

_OF_KUBERNETES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node-role.kubernetes.io/")


@Rule(
    "KS506",
    "no-such-label",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    snapshot=True,
    fails="""v1 Pod web
nodeSelector:
  pool: memroy  # <-
""",
    repair={"memroy": "memory"},
    options={"snapshot": snapshot(node("a", pool="memory"), node("b", pool="cpu"))},
)
def no_such_label(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods require a node label, or a value of one, that no node of the snapshot has.

    The rule also reports a tolerated taint that no node has. Such a toleration does no harm (info); taints that Kubernetes
    itself sets temporarily are ignored. Nodes that an autoscaler would add are not in a snapshot, and may have the label or
    taint. If a NodePool of Karpenter may launch a node for the pods, the rule reports nothing about labels.

    The API server accepts the object, and the pods stay pending. If a term is one of several, only the term has no effect
    (info).

    Repair: write a label and value that the nodes have; the help has the most similar one.
    """
    from kschedctl.linter.cluster import overlay_of
    from kschedctl.linter.node_pools import launching_pool

    values = overlay_of(context).label_values
    is_launched = bool(launching_pool(pods, context))
    for demand in selector_demands(pods):
        if (why := _unmet_requirement(demand, values)) is not None and not is_launched:
            yield Problem(message=why[0], steps=demand.steps, help=why[1])
    terms = pods.node_terms or []
    for steps, term in terms if not is_launched else ():
        for demand in demands_of(term, steps):
            why = _unmet_requirement(demand, values)
            if why is not None:
                severity = None if len(terms) == 1 else Severity.INFO
                yield Problem(message=why[0], steps=demand.steps, help=why[1], severity=severity)
    known = overlay_of(context).taint_keys
    for part in pods.tolerations:
        key = part.value.key if part.value is not None else ""
        if key and key not in known and not key.startswith(_OF_KUBERNETES):
            near = nearest(key, known)
            yield Problem(
                message=f"no node has a taint {key}",
                steps=(*part.steps, "key"),
                help=f"did you mean {near}?" if near else "leave it out, unless nodes will have this taint",
                severity=Severity.INFO,
            )


def _unmet_requirement(demand: Demand, values: dict[str, set[str]]) -> tuple[str, str] | None:
    """Return what no node has of a requirement, and a hint; ``None`` if some node meets the requirement."""
    if demand.key.startswith("field ") or demand.operator not in ("In", "Exists", "Gt", "Lt"):
        return None
    have = values.get(demand.key)
    if not have:
        near = nearest(demand.key, values)
        hint = f"did you mean {near}?" if near else "kubectl get nodes --show-labels lists the labels"
        return f"no node has the label {demand.key}", hint
    if demand.operator != "In" or not have.isdisjoint(demand.values):
        return None
    wanted = " or ".join(demand.values)
    near = nearest(demand.values[0], have)
    there = ", ".join(sorted(have)[:5])
    return (
        f"no node has {demand.key}={wanted}",
        f"did you mean {near}? nodes have {there}" if near else f"nodes have {there}",
    )


#: The kinds without which the API server refuses the pods.
_REFUSED = (PriorityClass, RuntimeClass)


@Rule(
    "KS507",
    "no-such-object",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    snapshot=True,
    fails="""v1 Pod web
priorityClassName: shpo  # <-
""",
    repair={"shpo": "shop"},
    options={"snapshot": snapshot(node("a"), "scheduling.k8s.io/v1 PriorityClass shop\nvalue: 1000\n")},
)
def no_such_object(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods name an object that neither the snapshot nor the manifest set has.

    If a priority class or runtime class does not exist, the API server refuses the pods (B). If a claim, the storage class
    of a volume claim template, a resource claim or its template does not exist, or if no profile has the scheduler name,
    the pods stay pending (C). The rule reports nothing for priority, runtime and storage classes if the snapshot has none
    of that kind, unless the snapshot states that the kind was listed.

    Repair: add the object, or name an existing one.
    """
    from kschedctl.linter.cluster import overlay_of, references

    cluster = overlay_of(context).cluster
    namespace = pods.namespace or "default"
    for kind, name, steps in references(pods):
        if not name or not is_rendered(name) or _is_there(kind, name, namespace, context):
            continue
        known = sorted(each.name for each in cluster.cluster.list(kind))
        if cluster.cluster.is_forbidden(kind, namespace if is_namespaced(kind) else ""):
            context.cannot_decide("KS507", pods.obj, cannot_be_listed(kind.__name__))
            continue
        if (
            kind in (PriorityClass, RuntimeClass, StorageClass, DeviceClass)
            and not known
            and kind.__name__ not in cluster.cluster.listed
        ):
            context.cannot_decide("KS507", pods.obj, f"the snapshot has no {kind.__name__}")
            continue
        near = similar(name, known)
        yield Problem(
            message=f"{kind.__name__} {name} not found" + (f" in namespace {namespace}" if is_namespaced(kind) else ""),
            steps=steps,
            help=f"did you mean {near[0]}?" if near else "add it, or name an existing one",
            stop=Stage.PODS_REFUSED if kind in _REFUSED else Stage.WAITS,
        )
    scheduler = text(pods.spec.get("schedulerName"))
    profiles = overlay_of(context).before.configuration.profiles
    if scheduler and scheduler not in profiles and is_rendered(scheduler):
        yield Problem(
            message=f"no profile of the scheduler's configuration has schedulerName {scheduler}",
            steps=pods.of_spec("schedulerName"),
            help=f"profiles: {', '.join(profiles)}; another scheduler may serve these pods",
        )


def _is_there(kind: type[ApiObject], name: str, namespace: str, context: LintContext) -> bool:
    from kschedctl.linter.cluster import overlay_of

    cluster = overlay_of(context).cluster.cluster
    if cluster.get(kind, name, namespace if is_namespaced(kind) else "") is not None:
        return True
    # Variants, which several files contain, are not applied to the snapshot, but one of them will exist.
    return any(obj.kind == kind.__name__ and obj.name == name for obj in context.manifests.whole)


_VOLUMES = ("VolumeBinding", "VolumeZone")
_OTHERS = ("NodeAffinity", "TaintToleration")


@Rule(
    "KS508",
    "volume-zone-conflict",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    snapshot=True,
    fails="""v1 Pod db
namespace: default
nodeSelector:
  topology.kubernetes.io/zone: b
volumes:
- name: data
  persistentVolumeClaim:
    claimName: data  # <-
""",
    repair={"zone: b": "zone: a"},
    options={
        "snapshot": snapshot(
            node("a", zone="a"),
            node("b", zone="b"),
            """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: data, accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
status: {phase: Bound}
""",
            """apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  claimRef: {kind: PersistentVolumeClaim, namespace: default, name: data}
  csi: {driver: ebs.csi.aws.com, volumeHandle: x}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]
status: {phase: Bound}
""",
        )
    },
)
def volume_zone_conflict(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A volume of the pods is available only on nodes that node selector, affinity or taints exclude.

    The claim is bound, and its volume is available on some nodes only. Node selector, affinity and taints allow other
    nodes, and no node is in both sets.

    The API server accepts the object, and the pods stay pending for ever: a volume does not move.

    Repair: remove the constraint, or use another volume in the intended zone.
    """
    from kschedctl.linter.cluster import rejecting, trial_of

    claims = list(pods.claims())
    trial = trial_of(pods, context, "KS508") if claims else None
    if trial is None or trial.decision.schedulable:
        return
    reasons = rejecting(trial.on_empty_nodes)
    names = set(trial.base.nodes.names)
    by_volume = {name for plugin in _VOLUMES for name in reasons.get(plugin, ())}
    by_others = {name for plugin in _OTHERS for name in reasons.get(plugin, ())}
    if not names or by_volume == names or by_others == names or by_volume | by_others != names:
        return
    at_volume = sorted(names - by_volume)
    yield Problem(
        message=f"the volume is available only on {listed(at_volume)}, which labels or taints exclude for these pods",
        steps=claims[0][0],
        help="remove the constraint, or use a volume where the pods can run",
    )


@Rule(
    "KS509",
    "too-few-domains",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    snapshot=True,
    fails="""apps/v1 StatefulSet db
replicas: 3
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: topology.kubernetes.io/zone  # <-
      labelSelector:
        matchLabels: {app: db}
""",
    repair={"replicas: 3": "replicas: 2"},
    options={"snapshot": snapshot(node("a", zone="a"), node("b", zone="b"), node("c", zone="b"))},
)
def too_few_domains(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The nodes that the pods can be scheduled to have fewer domains than the pods need.

    A required anti-affinity term that matches the pods themselves needs one domain per replica, and one more for a rollout
    that starts new pods first. A spread constraint with minDomains needs that many domains, and treats the minimum count as
    0 until then.

    The API server accepts the object, and pods stay pending, or the next rollout hangs (warning).

    Repair: more domains, fewer replicas, or a preferred instead of a required term.
    """
    from kschedctl.linter.cluster import domains, eligible_nodes, trial_of

    count = context.replicas(pods)
    wants_domains = any(one.min_domains for _, one in pods.hard_spread)
    if count is None or not (wants_domains or list(self_terms(pods))):
        return
    trial = trial_of(pods, context, "KS509")
    if trial is None:
        return
    eligible = eligible_nodes(trial.on_empty_nodes)
    first = context.new_pods_first(pods) is not None
    labels = {each.name: each.metadata.labels for each in trial.base.nodes.objects}
    for steps, key in self_terms(pods):
        there = domains(eligible, key, trial.on_empty_nodes)
        # Nodes without the label are in no domain, so the term does not exclude them.
        if any(key not in labels[name] for name in eligible) or count.low + int(first) <= len(there):
            continue
        rollout = count.low == len(there)
        needs = f"{count.low} replicas need {count.low}" if not rollout else f"a rollout needs {count.low + 1}"
        yield Problem(
            message=f"{needs} {key} domains, and the pods can be scheduled to {len(there)}"
            + (f" ({', '.join(sorted(there)[:5])})" if there else ""),
            steps=steps,
            help="use fewer replicas, more domains, or a preferred instead of a required term",
            severity=Severity.WARNING if rollout else None,
            stop=Stage.HANGS if rollout else None,
            related=scaler_of(count),
            fix=one_down_first(pods) if rollout else None,
        )
    for spread, one in pods.hard_spread:
        if one.min_domains is None:
            continue
        there = domains(eligible, one.topology_key, trial.on_empty_nodes)
        if len(there) < one.min_domains and count.low > one.max_skew * len(there):
            yield Problem(
                message=f"requires {one.min_domains} domains of {one.topology_key}, and there are {len(there)}: at "
                f"most {one.max_skew * len(there)} of {count.low} pods fit",
                steps=(*spread.steps, "minDomains"),
                help="lower minDomains, or add domains",
                related=scaler_of(count),
            )


@Rule(
    "KS510",
    "blocked-domain",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    snapshot=True,
    fails="""apps/v1 Deployment web
replicas: 4
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname  # <-
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels: {app: web}
""",
    repair={"DoNotSchedule": "DoNotSchedule\n  nodeTaintsPolicy: Honor"},
    options={"snapshot": snapshot(node("a"), node("b"), node("c", taint="gpu"))},
)
def blocked_domain(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A hard spread constraint counts a domain that can take no pod and so keeps the minimum count at 0.

    The constraint counts the domains of all nodes that its policies include; by default tainted nodes count. If no node of
    a domain can take the pods, even without other pods, no other domain may have more than maxSkew of them. The finding is
    an error if fewer pods fit that way than there are replicas, else info.

    The API server accepts the object, and pods stay pending.

    Repair: nodeTaintsPolicy: Honor if taints are the reason, else a node selector that excludes the domain.
    """
    from kschedctl.linter.cluster import domains, rejecting, trial_of, usable_nodes

    count = context.replicas(pods)
    trial = trial_of(pods, context, "KS510") if count is not None and pods.hard_spread else None
    if count is None or trial is None:
        return
    decision = trial.on_empty_nodes
    reasons = rejecting(decision)
    usable = usable_nodes(decision)
    for part, one in pods.hard_spread:
        if not holds(part.raw.get("labelSelector"), pods.labels):
            continue
        left_out = set(reasons.get("NodeAffinity", ())) if one.node_affinity_policy != "Ignore" else set()
        if one.node_taints_policy == "Honor":
            left_out |= {*reasons.get("TaintToleration", ()), *reasons.get("NodeUnschedulable", ())}
        counted = [name for name in trial.base.nodes.names if name not in left_out]
        blocked = domains(counted, one.topology_key, decision) - domains(usable, one.topology_key, decision)
        others = domains(usable, one.topology_key, decision)
        if not blocked or not others:
            continue
        fit = one.max_skew * len(others)
        yield Problem(
            message=f"{one.topology_key} {listed(sorted(blocked))} can take no pod and counts as a domain with 0: at "
            f"most {one.max_skew} in each other domain, {min(fit, count.high)} of {count.high} fit",
            steps=(*part.steps, "topologyKey"),
            help="set nodeTaintsPolicy: Honor, or exclude the domain with a node selector",
            severity=None if count.low > fit else Severity.INFO,
            related=scaler_of(count),
        )


@Rule(
    "KS513",
    "drain-impossible",
    Severity.WARNING,
    Stage.HANGS,
    "policy/PodDisruptionBudget",
    snapshot=True,
    fails="""policy/v1 PodDisruptionBudget web
namespace: default
minAvailable: 1  # <-
""",
    repair={"minAvailable: 1": "maxUnavailable: 1"},
    options={"snapshot": snapshot(node("a"), running("web-1", "a", app="web"))},
)
def drain_impossible(budget: LintObject, context: LintContext) -> Iterator[Problem]:
    """Nodes of the snapshot run pods that this budget never allows to be evicted.

    The rule counts the budget's pods in the snapshot: the budget allows no eviction while all of them are healthy, so no
    node with one of them can be drained.

    The API server accepts the object, and the next drain of those nodes hangs.

    Repair: maxUnavailable: 1.
    """
    from kschedctl.controllers.disruption import always_forbids, forbids
    from kschedctl.linter.cluster import overlay_of

    limit = threshold(budget)
    if limit is None:
        return
    cluster = overlay_of(context).cluster
    namespace = budget.namespace or "default"
    selector = at(budget.raw, *SELECTOR)
    found = [
        record
        for record in cluster.pods.records
        if record.metadata.namespace == namespace and holds(selector, PodLabels(record.metadata.labels))
    ]
    nodes = sorted({record.node_name for record in found if record.node_name})
    if nodes and (always_forbids(*limit) or forbids(*limit, len(found))):
        yield Problem(
            message=f"{listed(nodes)} cannot be drained: 0 of {len(found)} pods of the budget can be evicted",
            steps=("spec", limit[0]),
            help="set maxUnavailable: 1",
            fix=one_may_go(budget, limit[0]),
        )


@Rule(
    "KS514",
    "daemonset-without-nodes",
    Severity.WARNING,
    None,
    RuleSubject.PODS,
    snapshot=True,
    fails="""apps/v1 DaemonSet agent
spec:  # <-
nodeSelector:
  pool: gpu
""",
    repair={"pool: gpu": "pool: gpu\ntolerations:\n- key: gpu\n  operator: Exists"},
    options={"snapshot": snapshot(node("a"), node("b", pool="gpu", taint="gpu"))},
)
def daemonset_without_nodes(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A DaemonSet can run on no node, or because of taints on fewer nodes than it selects.

    Node selector and affinity select nodes, and NoSchedule and NoExecute taints exclude some of them. For a DaemonSet
    without node selector and affinity, the rule reports only that no node is left.

    The DaemonSet creates no pods on the excluded nodes, and nothing is pending.

    Repair: tolerate the taint, or select other nodes.
    """
    import numpy as np

    from kschedctl.cluster.node_selection import nodes_matching_pod
    from kschedctl.controllers.workloads.pods import eligible_nodes as daemonset_without_nodes_eligible_nodes
    from kschedctl.controllers.workloads.pods import with_daemon_tolerations
    from kschedctl.linter.cluster import readable_trial

    trial = readable_trial(pods, context, "KS514") if pods.type == "apps/DaemonSet" else None
    workload = trial.workload if trial is not None else None
    if trial is None or not isinstance(workload, DaemonSet) or workload.spec.template is None:
        return
    nodes = trial.cluster.nodes
    spec = with_daemon_tolerations(workload.spec.template.spec)
    left = daemonset_without_nodes_eligible_nodes(nodes, spec)
    selected = [nodes.names[row] for row in np.flatnonzero(nodes_matching_pod(nodes, spec))]
    selects = bool(pods.node_selector) or pods.node_terms is not None
    if len(left) == len(selected) and left:
        return
    lost = [name for name in selected if name not in left]
    keys = sorted(
        {
            taint.key
            for name in lost
            for taint in nodes.objects[nodes.row[name]].spec.taints
            if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(spec.tolerations, taint)
        }
    )
    why = f"{listed(lost)} {'has' if len(lost) == 1 else 'have'} taint {listed(keys)}" if lost else "it selects no node"
    if not left:
        yield Problem(
            message=f"runs on no node: {why}", steps=pods.of_spec(), help="tolerate the taint, or select other nodes"
        )
    elif selects:
        yield Problem(
            message=f"runs on {len(left)} of the {len(selected)} nodes that it selects: {why}",
            steps=pods.of_spec(),
            help="tolerate the taint, or select other nodes",
        )
