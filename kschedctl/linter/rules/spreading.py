"""Topology spread constraints, pod affinity and pod anti-affinity."""

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import appending, setting
from kschedctl.linter.labels import differing, holds
from kschedctl.linter.node_terms import pinned
from kschedctl.linter.pods import DO_NOT_SCHEDULE, WorkloadPods, holds_for
from kschedctl.linter.relations import has_empty_selector, is_idle, is_kept_apart, own_selector, self_terms
from kschedctl.linter.rule import Problem, Related, Rule, RuleSubject, Stage
from kschedctl.linter.values import at, is_rendered, numbered
from kschedctl.objects.releases.differences import became_true
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.well_known import HOSTNAME, POD_TEMPLATE_HASH


@Rule(
    "KS109",
    "spread-without-selector",
    Severity.WARNING,
    None,
    RuleSubject.PODS,
    fails="""v1 Pod web
labels: {app: web}
topologySpreadConstraints:
- maxSkew: 1  # <-
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
""",
    repair={"ScheduleAnyway": "ScheduleAnyway\n  labelSelector:\n    matchLabels: {app: web}"},
)
def spread_without_selector(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A topology spread constraint counts no pods, as it has no label selector, or all pods, as its selector is empty.

    Without ``labelSelector`` no pods are counted and the constraint spreads nothing. ``{}`` counts every pod of the
    namespace since Kubernetes 1.38 (info): the pods are then spread relative to all others, which is rarely intended. In
    older releases ``{}`` counts no pods; KS129 reports it there, before the upgrade.

    The API server accepts the object; without a selector it adds a warning that is easily missed, and the pods run. With an
    empty selector and DoNotSchedule, pods can stay pending because of unrelated pods.

    Repair: select the pods' own labels.
    """
    for part in pods.spread:
        selector = part.raw.get("labelSelector")
        if selector is None:
            # The API server refuses matchLabelKeys without a selector.
            if not part.raw.get("matchLabelKeys"):
                own, at_selector = own_selector(pods), (*part.steps, "labelSelector")
                yield Problem(
                    message="the constraint has no labelSelector: it counts no pods and spreads nothing",
                    steps=part.steps,
                    help="select the pods' own labels",
                    fix=setting(pods.obj, "select the pods' own labels", (at_selector, own), safe=False)
                    if own is not None
                    else None,
                )
        elif has_empty_selector(part, pods) and context.release.empty_spread_selector_counts:
            yield Problem(
                message="an empty labelSelector counts every pod of the namespace",
                steps=(*part.steps, "labelSelector"),
                help="select the pods' own labels",
                severity=Severity.INFO,
                stop=Stage.WAITS if part.raw.get("whenUnsatisfiable") == DO_NOT_SCHEDULE else None,
            )


@Rule(
    "KS110",
    "spread-misses-own-pods",
    Severity.WARNING,
    None,
    RuleSubject.PODS,
    fails="""v1 Pod web
labels: {app: web}
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  labelSelector:  # <-
    matchLabels: {app: wbe}
""",
    repair={"wbe": "web"},
)
def spread_misses_own_pods(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The selector of a topology spread constraint does not match the pods' own labels.

    The constraint then counts other pods, if any, and placing a pod does not change the count: all replicas may be
    scheduled to one domain.

    The API server accepts the object, and the pods run, all in one domain at worst. If the selector matches other pods and
    whenUnsatisfiable is DoNotSchedule, they can stay pending because of these.

    Repair: select labels of the template.
    """
    for part in pods.spread:
        selector = part.raw.get("labelSelector")
        if selector is None or holds(selector, pods.labels) is not False:
            continue
        steps = (*part.steps, "labelSelector")
        own = own_selector(pods)
        # A hard constraint can keep pods pending because of other pods that it counts.
        waits = part.raw.get("whenUnsatisfiable") == DO_NOT_SCHEDULE and (
            any(holds(selector, other.labels) for other in context.pods if other.namespace == pods.namespace)
            or (context.overlay is not None and context.overlay.matches_pods(selector, pods.namespace))
        )
        yield Problem(
            message=f"the constraint does not count the pods themselves: {differing(selector, pods.labels)} does not "
            "match their labels",
            steps=steps,
            help="select labels of the template",
            stop=Stage.WAITS if waits else None,
            fix=setting(pods.obj, "select the pods' own labels", (steps, own), safe=False) if own else None,
        )


@Rule(
    "KS111",
    "spread-one-domain",
    Severity.INFO,
    None,
    RuleSubject.PODS,
    fails="""v1 Pod web
labels: {app: web}
nodeSelector:
  topology.kubernetes.io/zone: eu-1a
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone  # <-
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels: {app: web}
""",
    repair={"topologyKey: topology.kubernetes.io/zone": "topologyKey: kubernetes.io/hostname"},
)
def spread_one_domain(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A topology spread constraint uses a label of which the pods can reach only one value, so it has no effect.

    Node selector or required affinity limit the topology key to one value. The constraint counts only the nodes that they
    match, so there is one domain, and the skew is always 0.

    The API server accepts the object, and nothing is blocked: the constraint has no effect.

    Repair: remove the constraint, or the requirement of one value.
    """
    for part, one in pods.hard_spread:
        if one.min_domains is not None or one.node_affinity_policy == "Ignore":
            continue
        values = pinned(pods, one.topology_key)
        if values is not None and len(values) == 1:
            yield Problem(
                message=f"the pods are limited to {one.topology_key}={next(iter(values))}: with one domain the skew "
                "is always 0",
                steps=(*part.steps, "topologyKey"),
                help="remove the constraint, or the requirement of one value",
            )


@Rule(
    "KS112",
    "spread-domains-out-of-reach",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""apps/v1 Deployment web
replicas: 4
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: topology.kubernetes.io/zone
          operator: In
          values: [eu-1a, eu-1b]
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  minDomains: 3  # <-
  labelSelector:
    matchLabels: {app: web}
  matchLabelKeys: [pod-template-hash]
""",
    repair={"minDomains: 3": "minDomains: 2"},
)
def spread_domains_out_of_reach(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A topology spread constraint requires more domains than the pods can be scheduled to, so not all replicas fit.

    While there are fewer domains than ``minDomains``, the minimum count is treated as 0: each domain may then have at most
    ``maxSkew`` pods. If node selector or required affinity limit the topology key to fewer values than ``minDomains``,
    adding nodes does not help.

    The API server accepts the object, and the pods beyond maxSkew per domain stay pending for ever.

    Repair: lower minDomains, or allow more domains.
    """
    count = context.replicas(pods)
    if count is None:
        return
    for part, one in pods.hard_spread:
        if one.min_domains is None or is_idle(part, pods, context.release):
            continue
        values = pinned(pods, one.topology_key)
        if values is None or one.min_domains <= len(values) or not holds(part.raw.get("labelSelector"), pods.labels):
            continue
        fit = one.max_skew * len(values)
        if count.high > fit:
            yield Problem(
                message=f"requires {one.min_domains} domains of {one.topology_key}, and the pods can be scheduled "
                f"to {len(values)} ({', '.join(sorted(values))}): at most {fit} of {count.high} pods fit",
                steps=(*part.steps, "minDomains"),
                help=f"set minDomains to {max(len(values), 1)}, or allow more domains",
            )


@Rule(
    "KS113",
    "spread-counts-tainted-nodes",
    Severity.INFO,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""apps/v1 StatefulSet db
replicas: 3
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname  # <-
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels: {app: db}
""",
    repair={"DoNotSchedule": "DoNotSchedule\n  nodeTaintsPolicy: Honor"},
)
def spread_counts_tainted_nodes(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A constraint that spreads pods over nodes counts nodes that the pods do not tolerate, which can keep pods pending.

    With the topology key ``kubernetes.io/hostname`` every node is a domain, including tainted nodes, because
    ``nodeTaintsPolicy`` defaults to ``Ignore``. A node whose taints the pods do not tolerate runs none of them and keeps
    the minimum count at 0, so that no other node may have more than ``maxSkew`` pods: with 4 replicas, ``maxSkew`` 1, 2
    free nodes and a tainted one, 2 pods stay pending. Every constraint of this kind that counts the pods themselves is
    affected, and nothing happens if no node is tainted, so the finding is info. With a snapshot KS510 reports in place of
    this rule whether it happens.

    The API server accepts the object, and pods can stay pending, mostly in a rollout or while a node is drained.

    Repair: nodeTaintsPolicy: Honor.
    """
    count = context.replicas(pods)
    # With a snapshot KS510 counts the nodes.
    if count is None or count.high < 2 or context.overlay is not None:
        return
    if context.nodes and not any(pods.is_repelled_by(taint) for node in context.nodes for taint in node.spec.taints):
        return
    for part, one in pods.hard_spread:
        if one.topology_key != HOSTNAME or one.node_taints_policy == "Honor":
            continue
        # Pods that the constraint does not count change no count (KS110).
        if one.label_selector is None or holds(part.raw.get("labelSelector"), pods.labels) is False:
            continue
        if is_idle(part, pods, context.release):
            continue
        steps = (*part.steps, "nodeTaintsPolicy")
        yield Problem(
            message=f"counts tainted nodes: one that the pods do not tolerate keeps the minimum count at 0, so no "
            f"other node can have more than {one.max_skew}",
            steps=(*part.steps, "topologyKey"),
            help="set nodeTaintsPolicy: Honor",
            fix=setting(pods.obj, "set nodeTaintsPolicy: Honor", (steps, "Honor"), safe=False),
        )


@Rule(
    "KS114",
    "spread-across-revisions",
    Severity.INFO,
    Stage.HANGS,
    RuleSubject.PODS,
    fails="""apps/v1 Deployment web
replicas: 3
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  labelSelector:  # <-
    matchLabels: {app: web}
""",
    repair={"DoNotSchedule": "DoNotSchedule\n  matchLabelKeys: [pod-template-hash]"},
)
def spread_across_revisions(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A hard topology spread constraint of a Deployment counts the pods of all its revisions, including old ones.

    During a rollout old and new pods exist side by side and are counted together: new pods are placed to balance the old
    ones, and once the old pods are gone the new ones are unbalanced. With few domains the rollout can hang: a new pod fits
    on no node until an old pod ends, and that ends only when the new pod runs. The rule ignores Deployments with strategy
    Recreate, which never have pods of two revisions.

    The API server accepts the object; the effect appears in rollouts.

    Repair: matchLabelKeys: [pod-template-hash].
    """
    if pods.type != "apps/Deployment" or at(pods.obj.raw, "spec", "strategy", "type") == "Recreate":
        return
    for part, one in pods.hard_spread:
        if POD_TEMPLATE_HASH in one.match_label_keys:
            continue
        if holds(part.raw.get("labelSelector"), pods.labels) and not is_idle(part, pods, context.release):
            yield Problem(
                message="counts the pods of old revisions too, which exist beside the new ones in a rollout",
                steps=(*part.steps, "labelSelector"),
                help=f"add matchLabelKeys: [{POD_TEMPLATE_HASH}]",
                fix=appending(
                    pods.obj,
                    f"add matchLabelKeys: [{POD_TEMPLATE_HASH}]",
                    (*part.steps, "matchLabelKeys"),
                    POD_TEMPLATE_HASH,
                    safe=False,
                ),
            )


@Rule(
    "KS115",
    "match-label-key-absent",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""apps/v1 StatefulSet db
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  labelSelector:
    matchLabels: {app: db}
  matchLabelKeys:
  - pod-template-hash  # <-
""",
    repair={"- pod-template-hash": "- controller-revision-hash"},
)
def match_label_key_absent(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """matchLabelKeys names a label that the pods do not have, so the key has no effect.

    The scheduler ignores a key of ``matchLabelKeys`` that the pod does not have. Of labels that are not in the template,
    only those that the controller adds can be intended, such as ``pod-template-hash``, which only Deployments add.

    The API server accepts the object, and the constraint or term counts more pods than intended, so that pods can stay
    pending.

    Repair: name a label of the template, or remove the key.
    """
    parts = [(part.steps, part.raw) for part in pods.spread]
    for affinity in ("podAffinity", "podAntiAffinity"):
        for required in (True, False):
            parts += [(part.steps, part.raw) for part in pods.terms(affinity, required=required)]
    for steps, raw in parts:
        for way, key in numbered(raw.get("matchLabelKeys"), (*steps, "matchLabelKeys")):
            if isinstance(key, str) and is_rendered(key) and not pods.labels.may_have(key):
                yield Problem(
                    message=f"the pods have no label {key}, so the key has no effect",
                    steps=way,
                    help="name a label of the template, or remove the key",
                )


_AFFINITY_MATCHES_NOBODY = """v1 Pod web
labels: {app: web}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:  # <-
        matchLabels: {app: cache}
"""


@Rule(
    "KS116",
    "affinity-matches-nobody",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    on=False,
    if_complete=True,
    fails=_AFFINITY_MATCHES_NOBODY,
    passes=f"""{_AFFINITY_MATCHES_NOBODY}---
v1 Pod cache
labels: {{app: cache}}
""",
)
def affinity_matches_nobody(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A required pod affinity term matches no pod of the manifest set, and not the pods themselves.

    The pods stay pending until a pod runs that the term matches. Pods that operators create, or whose manifests are in
    other folders, are not in the manifest set. Therefore the rule runs only if it is selected, if the settings declare the
    manifest set complete (``complete: true``), or with a snapshot.

    The API server accepts the object, and the pods stay pending.

    Repair: select labels of the intended pods.
    """
    for part in pods.terms("podAffinity", required=True):
        if context.matches_nobody(part, pods, "KS116"):
            yield Problem(
                message="this term matches no pod of the manifest set",
                steps=(*part.steps, "labelSelector"),
                help="select labels of the intended pods",
            )


@Rule(
    "KS117",
    "anti-affinity-matches-nobody",
    Severity.INFO,
    None,
    RuleSubject.PODS,
    fails="""apps/v1 StatefulSet db
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:  # <-
        matchLabels: {part-of: shop}
---
v1 Pod cache
labels: {app: cache}
""",
    repair={"{part-of: shop}": "{app: db}"},
)
def anti_affinity_matches_nobody(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A pod anti-affinity term matches neither the pods themselves nor any other pod of the manifest set.

    Usually the term selects a label that the template does not have, and the replicas share a node after all. The finding
    is a warning if the term is required and no other term or spread constraint spreads the pods, else info. The rule runs
    only if the manifest set has at least two workloads, as the term may be about pods that are not in it.

    The API server accepts the object, and the term separates no pods.

    Repair: select labels of the template, or of the intended pods.
    """
    if len(context.workloads) < 2:
        return
    for required in (True, False):
        for part in pods.terms("podAntiAffinity", required=required):
            if not context.matches_nobody(part, pods, "KS117"):
                continue
            alone = required and not is_kept_apart(pods, context.release)
            missing = "" if part.raw.get("labelSelector") is not None else "; it has no labelSelector"
            yield Problem(
                message=f"this term matches neither the pods themselves nor any other pod of the manifest set{missing}",
                steps=(*part.steps, "labelSelector"),
                help="select labels of the template, or of the intended pods",
                severity=Severity.WARNING if alone else None,
            )


@Rule(
    "KS118",
    "affinity-against-itself",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    fails="""apps/v1 StatefulSet db
replicas: 2
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname  # <-
      labelSelector:
        matchLabels: {app: db}
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels: {app: db}
""",
    repair={"hostname  # <-": "os"},
)
def affinity_against_itself(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """Required pod affinity and anti-affinity for the same topology key both match the pods themselves.

    The pods must share a domain and must not. The first pod fits, as no pod exists yet that it could violate. The second
    pod must be in the domain of the first, and must not be.

    The API server accepts the object, and every pod but the first stays pending for ever.

    Repair: remove one of the terms, or give it another topology key.
    """
    count = context.replicas(pods)
    if count is None or count.high < 2:
        return
    repelling = {key: steps for steps, key in self_terms(pods)}
    for part in pods.terms("podAffinity", required=True):
        if part.value is None or not holds_for(part, pods, pods):
            continue
        repelled = repelling.get(part.value.topology_key)
        if repelled is not None:
            yield Problem(
                message=f"affinity requires one {part.value.topology_key}, anti-affinity forbids it: 1 of "
                f"{count.high} fits",
                steps=(*part.steps, "topologyKey"),
                help="remove this term or the anti-affinity, or give one of them another topologyKey",
                related=(Related(pods.obj, repelled, "the anti-affinity term"),),
            )


_LAST, _FIRST = became_true("empty_spread_selector_counts")


@Rule(
    "KS129",
    "spread-over-namespace-after-upgrade",
    Severity.WARNING,
    None,
    RuleSubject.PODS,
    fails="""v1 Pod web
labels: {app: web}
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  labelSelector: {}  # <-
""",
    repair={"labelSelector: {}": "labelSelector:\n    matchLabels: {app: web}"},
    options={"release": RELEASES[_LAST]},
)
def spread_over_namespace_after_upgrade(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A topology spread constraint has an empty label selector, which counts no pods until an upgrade of Kubernetes.

    Until Kubernetes 1.37 ``labelSelector: {}`` counts no pods, so the constraint never rejects a node and changes no
    score. From 1.38 on it counts every pod of the namespace, in the filter and in the score
    (pkg/scheduler/framework/plugins/podtopologyspread/common.go): with ``maxSkew`` 1, and 3 pods of the namespace in one
    zone and none in the other, the first zone is rejected. A selector without ``matchLabels`` and ``matchExpressions`` is
    empty, too, unless ``matchLabelKeys`` adds labels of the pods. A missing selector counts no pods in any release
    (KS109).

    With DoNotSchedule pods can stay pending after the upgrade, because of unrelated pods. With ScheduleAnyway only their
    nodes change, so the finding is info. ``kschedctl diff --kubernetes-version 1.37..1.38`` shows which pods change. The
    rule runs for releases in which the selector counts nothing; KS109 reports it in newer ones.

    Repair: select the pods' own labels.
    """
    if context.release.empty_spread_selector_counts:
        return
    for part in pods.spread:
        if not has_empty_selector(part, pods):
            continue
        own, steps = own_selector(pods), (*part.steps, "labelSelector")
        hard = part.raw.get("whenUnsatisfiable") == DO_NOT_SCHEDULE
        yield Problem(
            message=f"an empty labelSelector counts no pods until Kubernetes {_LAST}, and every pod of the namespace "
            f"from {_FIRST} on",
            steps=steps,
            help="select the pods' own labels before the upgrade",
            severity=None if hard else Severity.INFO,
            stop=Stage.WAITS if hard else None,
            fix=setting(pods.obj, "select the pods' own labels", (steps, own), safe=False) if own is not None else None,
        )
