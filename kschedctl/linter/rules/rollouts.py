"""Rollouts and replicas: what hangs, and what cannot run side by side."""

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import setting
from kschedctl.linter.labels import REVISION_LABELS
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import SCALED, Replicas, WorkloadPods
from kschedctl.linter.relations import (
    RWO,
    RWOP,
    Mounted,
    attaches_to_one_node,
    host_ports,
    is_kept_apart,
    is_on_one_node,
    mounted_claims,
    one_down_first,
    recreate,
    scaler_of,
    self_terms,
)
from kschedctl.linter.rule import Problem, Related, Rule, RuleSubject, Stage
from kschedctl.linter.values import Steps, at, mapping, nano_units
from kschedctl.objects.quantity import NANO
from kschedctl.objects.resources import format_nanos
from kschedctl.objects.well_known import HOSTNAME, ZONE
from kschedctl.objects.workload import share


@Rule(
    "KS201",
    "rollout-needs-spare-domain",
    Severity.WARNING,
    Stage.HANGS,
    RuleSubject.PODS,
    fails="""apps/v1 Deployment web
replicas: 3
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname  # <-
      labelSelector:
        matchLabels: {app: web}
""",
    repair={"replicas: 3\n": "replicas: 3\nstrategy:\n  rollingUpdate: {maxSurge: 0, maxUnavailable: 1}\n"},
)
def rollout_needs_spare_domain(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A rollout needs one more domain than there are pods, as the pods repel one another and new pods start first.

    A required anti-affinity term that matches the pods themselves allows one of them per domain. A rolling update whose
    maxUnavailable is rounded to 0, as the default of 25 % is for fewer than four pods, starts a new pod before an old one
    ends. So n pods need n + 1 domains during the rollout, and with n domains the rollout never ends. The finding is an
    error if node selector or affinity allow at most as many domains as there are pods. It is info if they allow more, and
    for a single replica, which usually finds another node. A term whose topology key no node of the snapshot has separates
    no pods, and is no finding.

    The API server accepts the object, the pods run, and the next rollout hangs.

    Repair: maxSurge 0 and maxUnavailable 1, or matchLabelKeys: [pod-template-hash] in the term (for a
    Rollout rollouts-pod-template-hash, for a DeploymentConfig deployment), so that pods of two revisions do not repel one
    another.
    """
    count, terms = context.new_pods_first(pods), list(self_terms(pods))
    if count is None:
        if terms:
            context.cannot_count("KS201", pods)
        return
    needed = count.low + 1
    label = REVISION_LABELS.get(pods.type)
    own_revision = f", or matchLabelKeys: [{label}] in this term" if label else ""
    for steps, key in terms:
        left = pinned(pods, key)
        if left is None and context.has_no_domain(key):
            continue
        there = "" if left is None else f"; the pods can be scheduled to {len(left)}"
        severity = Severity.INFO if left is not None or count.low == 1 else Severity.WARNING
        if left is not None and len(left) < needed:
            severity = Severity.ERROR
        yield Problem(
            message=f"each rollout needs {needed} free {key} domains for {count.shown} "
            f"{'replica' if count.low == count.high == 1 else 'replicas'}: a new pod starts before an old one ends "
            f"(maxUnavailable is 0 of {count.low}){there}",
            steps=steps,
            help=f"set maxSurge 0 and maxUnavailable 1{own_revision}",
            severity=severity,
            related=scaler_of(count),
            fix=one_down_first(pods),
        )


@Rule(
    "KS202",
    "rollout-needs-spare-node",
    Severity.WARNING,
    Stage.HANGS,
    RuleSubject.PODS,
    fails="""apps/v1 Deployment web
replicas: 2
hostNetwork: true
ports:
- containerPort: 80  # <-
""",
    repair={"replicas: 2\n": "replicas: 2\nstrategy:\n  rollingUpdate: {maxSurge: 0, maxUnavailable: 1}\n"},
)
def rollout_needs_spare_node(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A rollout needs one more node than there are pods, as the pods use a port of their node and new pods start first.

    A host port, or with hostNetwork any port of a container, exists once per node. A rolling update whose maxUnavailable is
    rounded to 0 starts a new pod before an old one ends, so n pods need n + 1 nodes on which the port is free. The finding
    is info for a single replica, which usually finds another node.

    The API server accepts the object, the pods run, and the next rollout hangs if there is no additional node.

    Repair: maxSurge 0 and maxUnavailable 1, or no host port.
    """
    ports = host_ports(pods)
    count = context.new_pods_first(pods) if ports else None
    if count is None:
        return
    names = listed(list(map(str, ports)))
    yield Problem(
        message=f"each rollout needs {count.low + 1} nodes with {names} free for {count.shown} "
        f"{'replica' if count.low == count.high == 1 else 'replicas'}: a new pod starts before an old one ends "
        f"(maxUnavailable is 0 of {count.low})",
        steps=ports[0].steps,
        help="set maxSurge 0 and maxUnavailable 1, or use no host port",
        severity=Severity.INFO if count.low == 1 else None,
        related=scaler_of(count),
        fix=one_down_first(pods),
    )


@Rule(
    "KS203",
    "daemonset-surge-host-port",
    Severity.ERROR,
    Stage.HANGS,
    RuleSubject.PODS,
    fails="""apps/v1 DaemonSet agent
updateStrategy:
  rollingUpdate:
    maxSurge: 1  # <-
    maxUnavailable: 0
ports:
- containerPort: 9100
  hostPort: 9100
""",
    repair={"maxSurge: 1": "maxSurge: 0", "maxUnavailable: 0": "maxUnavailable: 1"},
)
def daemonset_surge_host_port(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A DaemonSet with maxSurge starts new pods beside the old ones, and both use the same port of the node.

    With maxSurge the new pod of a node starts while the old one runs, on the same node. The old pod already uses the host
    port; with hostNetwork that is any port of a container.

    The API server accepts the object, the pods run, and the next rollout hangs at its first node.

    Repair: maxSurge 0 and maxUnavailable 1, or no host port.
    """
    if pods.type != "apps/DaemonSet":
        return
    strategy = ("spec", "updateStrategy")
    if at(pods.obj.raw, *strategy, "type") not in (None, "", "RollingUpdate"):
        return
    steps = (*strategy, "rollingUpdate", "maxSurge")
    ports = host_ports(pods)
    if not ports or not share(at(pods.obj.raw, *steps), 100, up=True):
        return
    yield Problem(
        message=f"a new pod starts beside the old one of its node, which uses {', '.join(map(str, ports))}",
        steps=steps,
        help="set maxSurge 0 and maxUnavailable 1, or use no host port",
        related=(Related(pods.obj, ports[0].steps, "the host port"),),
        fix=setting(
            pods.obj,
            "set maxSurge 0 and maxUnavailable 1",
            (steps, 0),
            ((*strategy, "rollingUpdate", "maxUnavailable"), 1),
            safe=False,
        ),
    )


_ROLLOUT_ATTACHES_TWICE = """apps/v1 Deployment db
volumes:
- name: data
  persistentVolumeClaim:
    claimName: data  # <-
---
v1 PersistentVolumeClaim data
accessModes: [ReadWriteOnce]
"""


@Rule(
    "KS204",
    "rollout-attaches-twice",
    Severity.WARNING,
    Stage.HANGS,
    RuleSubject.PODS,
    fails=_ROLLOUT_ATTACHES_TWICE,
    passes=_ROLLOUT_ATTACHES_TWICE.replace("volumes:", "strategy:\n  type: Recreate\nvolumes:"),
)
def rollout_attaches_twice(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A rollout starts a new pod while the old one uses a volume that is attached to one node at a time.

    The claim is ReadWriteOnce, and a rolling update whose maxUnavailable is rounded to 0 starts the new pod first. If the
    scheduler binds it to another node, it waits for the volume (Multi-Attach), and the old pod runs until the new one is
    ready. The rule ignores volumes that are on a shared file system (nfs, efs, filestore, azurefile, cephfs, smb, nas,
    glusterfs, fsx) or on one node (hostPath, local, topolvm), by storage class, provisioner or volume: volumes on one node
    bind the new pod to the node of the old one. So do a node selector with one host name, and a required pod affinity to
    the pods themselves on kubernetes.io/hostname.

    The API server accepts the object, the pod runs, and the next rollout hangs unless the new pod happens to be scheduled
    to the same node.

    Repair: strategy Recreate, a StatefulSet, or a volume of another access mode.
    """
    if is_on_one_node(pods):
        return
    for mounted, found in new_pods_before_old(pods, context, RWO, "on another node the new pod waits for the volume"):
        if attaches_to_one_node(mounted.claim, context.manifests):
            yield found


def new_pods_before_old(
    pods: WorkloadPods, context: LintContext, mode: str, consequence: str
) -> Iterator[tuple[Mounted, Problem]]:
    """Yield the claims of an access mode that a rollout needs twice, each with its problem."""
    if context.new_pods_first(pods) is None:
        return
    for mounted in mounted_claims(pods, context.manifests):
        if mounted.modes == (mode,):
            yield (
                mounted,
                Problem(
                    message=f"a rollout starts a new pod while the old one uses claim {mounted.claim.name}, which is "
                    f"{mode}: {consequence}",
                    steps=mounted.steps,
                    help="set strategy Recreate, or use a StatefulSet",
                    related=(Related(mounted.claim, ("spec", "accessModes"), "the claim"),),
                    fix=recreate(pods),
                ),
            )


@Rule(
    "KS205",
    "rollout-deadlock-rwop",
    Severity.ERROR,
    Stage.HANGS,
    RuleSubject.PODS,
    fails=_ROLLOUT_ATTACHES_TWICE.replace("ReadWriteOnce", "ReadWriteOncePod"),
    passes=_ROLLOUT_ATTACHES_TWICE.replace("ReadWriteOnce", "ReadWriteOncePod").replace(
        "volumes:", "strategy:\n  type: Recreate\nvolumes:"
    ),
)
def rollout_deadlock_rwop(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A rollout starts a new pod while the old one uses a claim that one pod at a time can use, so the rollout never ends.

    The claim is ReadWriteOncePod, so the scheduler admits no second pod that uses it, on any node. A rolling update whose
    maxUnavailable is rounded to 0 removes no pod before the new one runs.

    The API server accepts the object, the pod runs, and the next rollout hangs for ever.

    Repair: strategy Recreate, or a StatefulSet.
    """
    for _, found in new_pods_before_old(pods, context, RWOP, "the new pod stays pending"):
        yield found


@Rule(
    "KS206",
    "claim-shared-by-replicas",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""apps/v1 Deployment web
replicas: 2
strategy:
  type: Recreate
volumes:
- name: data
  persistentVolumeClaim:
    claimName: data  # <-
---
v1 PersistentVolumeClaim data
accessModes: [ReadWriteOnce]
""",
    repair={"ReadWriteOnce": "ReadWriteMany"},
)
def claim_shared_by_replicas(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """Several replicas mount one claim that can be used by one node, or by one pod, at a time.

    All pods of a Deployment, a ReplicaSet or a Job use the same claim, and those of a StatefulSet too if the claim is in
    spec.volumes and not in volumeClaimTemplates. With ReadWriteOnce, pods on other nodes wait for the volume
    (Multi-Attach). With ReadWriteOncePod every pod but one stays pending (error). The rule ignores shared file systems,
    volumes on one node, and pods that can be on one node only, as KS204 does.

    The API server accepts the object, and pods wait for the volume or stay pending.

    Repair: a StatefulSet with volumeClaimTemplates, or a volume that is ReadWriteMany.
    """
    if pods.type not in SCALED and pods.type not in ("batch/Job", "batch/CronJob"):
        return
    count = context.replicas(pods)
    if count is None or count.high < 2:
        return
    for mounted in mounted_claims(pods, context.manifests):
        one_pod = mounted.modes == (RWOP,)
        if not one_pod and not (
            mounted.modes == (RWO,)
            and not is_on_one_node(pods)
            and attaches_to_one_node(mounted.claim, context.manifests)
        ):
            continue
        what = "one pod" if one_pod else "the pods of one node"
        yield Problem(
            message=f"{count.high} pods mount claim {mounted.claim.name}, which {what} at a time can use "
            f"({mounted.modes[0]})",
            steps=mounted.steps,
            help="use volumeClaimTemplates of a StatefulSet, or a volume that is ReadWriteMany",
            severity=Severity.ERROR if one_pod else None,
            related=(Related(mounted.claim, ("spec", "accessModes"), "the claim"), *scaler_of(count)),
        )


_MOST_ZONES: Final = 3


@Rule(
    "KS207",
    "more-replicas-than-domains",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""apps/v1 StatefulSet db
replicas: 3
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: topology.kubernetes.io/zone
          operator: In
          values: [eu-1a, eu-1b]
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: topology.kubernetes.io/zone  # <-
      labelSelector:
        matchLabels: {app: db}
""",
    repair={"[eu-1a, eu-1b]": "[eu-1a, eu-1b, eu-1c]"},
)
def more_replicas_than_domains(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A workload has more replicas than domains that they can be scheduled to, and each domain takes one replica.

    The pods match their own required anti-affinity, or use a port of their node, and node selector or required affinity
    allow fewer values of the label than there are pods. Without such a limit, more than three pods that repel one another
    by zone are reported as info: most regions have three zones.

    The API server accepts the object, and the pods beyond the number of domains stay pending for ever.

    Repair: fewer replicas, more domains, or a preferred instead of a required term.
    """
    count = context.replicas(pods)
    if count is None:
        return
    for steps, key in self_terms(pods):
        left = pinned(pods, key)
        if left is not None and count.low > len(left):
            yield _domain_problem(count, key, left, steps, "repel one another")
        elif left is None and key == ZONE and count.low > _MOST_ZONES and not context.has_no_domain(key):
            yield Problem(
                message=f"{count.low} pods that repel one another need {count.low} zones; most regions have "
                f"{_MOST_ZONES}",
                steps=steps,
                help="use a preferred instead of a required term, or fewer replicas",
                severity=Severity.INFO,
                related=scaler_of(count),
            )
    ports = host_ports(pods)
    left = pinned(pods, HOSTNAME) if ports else None
    if left is not None and count.low > len(left):
        yield _domain_problem(count, HOSTNAME, left, ports[0].steps, f"use port {ports[0]} of their node")


def _domain_problem(count: Replicas, key: str, left: set[str], steps: Steps, why: str) -> Problem:
    return Problem(
        message=f"{count.low} pods {why}, and can be scheduled to {len(left)} {key} domains "
        f"({', '.join(sorted(left))}): {len(left)} of {count.low} fit",
        steps=steps,
        help="use fewer replicas, or allow more domains",
        related=scaler_of(count),
    )


@Rule(
    "KS208",
    "rollout-exceeds-quota",
    Severity.WARNING,
    Stage.HANGS,
    RuleSubject.PODS,
    fails="""v1 ResourceQuota quota
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
""",
    repair={'requests.cpu: "2"': 'requests.cpu: "3"'},
)
def rollout_exceeds_quota(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The replicas fit into the quota of their namespace, and the additional pod that a rollout needs does not.

    A rolling update whose maxUnavailable is rounded to 0 creates a new pod before an old one ends. If a ResourceQuota of
    the manifest set allows all replicas of the namespace and not one more pod, the API server refuses the new pod
    (FailedCreate) and the rollout makes no progress. The rule ignores quotas with scopes, and the usage of workloads that
    are not in the manifest set.

    The API server accepts the Deployment, the pods run, and the next rollout hangs.

    Repair: a quota for one more pod, or maxSurge 0 and maxUnavailable 1.
    """
    if context.new_pods_first(pods) is None or not pods.namespace:
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


@Rule(
    "KS209",
    "job-cannot-run",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""batch/v1 Job train
parallelism: 2
completions: 2
nodeSelector:
  kubernetes.io/hostname: node-1
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname  # <-
      labelSelector:
        matchLabels: {app: train}
""",
    repair={"kubernetes.io/hostname: node-1": "pool: train"},
)
def job_cannot_run(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A Job runs several pods in parallel that repel one another, and limits them to fewer domains than pods.

    Pods of a Job that match their own required anti-affinity need one domain each. If node selector or affinity allow fewer
    domains, the other pods stay pending until the first ones end. If the pods wait for one another, as in an indexed or
    gang-like Job, none ever ends.

    The API server accepts the object, and pods stay pending.

    Repair: less parallelism, or more domains.
    """
    count = context.replicas(pods) if pods.type in ("batch/Job", "batch/CronJob") else None
    if count is None or count.high < 2:
        return
    for steps, key in self_terms(pods):
        left = pinned(pods, key)
        if left is not None and len(left) < count.high:
            yield Problem(
                message=f"{count.high} pods run at a time and repel one another, and can be scheduled to {len(left)} "
                f"{key} domains ({', '.join(sorted(left))})",
                steps=steps,
                help="lower parallelism, or allow more domains",
            )


_NO_SPREADING = """apps/v1 Deployment web
replicas: 2  # <-
"""


@Rule(
    "KS210",
    "no-spreading",
    Severity.INFO,
    None,
    RuleSubject.PODS,
    on=False,
    fails=_NO_SPREADING,
    passes=f"""{_NO_SPREADING}topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{app: web}}
""",
)
def no_spreading(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A workload has several replicas, and neither anti-affinity nor a topology spread constraint separates them.

    The scheduler by default spreads the pods of a workload over nodes and zones as a preference, which is usually enough;
    therefore the rule runs only if it is selected.

    Nothing is blocked; the loss of a node or zone can affect all replicas.

    Repair: a topology spread constraint on kubernetes.io/hostname or topology.kubernetes.io/zone.
    """
    count = context.replicas(pods) if pods.type not in ("batch/Job", "batch/CronJob") else None
    if count is None or count.low < 2 or is_kept_apart(pods, context.release):
        return
    yield Problem(
        message=f"{count.shown} replicas, and no anti-affinity or spread constraint separates them",
        steps=("spec", "replicas"),
        help="add a topology spread constraint",
    )
