"""The node selection of pods: node affinity, node labels, taints and names of nodes."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import edits
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import Fix, appending, removing, renaming, setting
from kschedctl.linter.node_terms import (
    CONTROL_PLANE,
    MASTER,
    NEAR_MISSES,
    clashes,
    demands_of,
    label_uses,
    of_another_value,
    pinned,
    preferred_terms,
    selector_demands,
    tolerates_master_only,
    wanted_keys,
)
from kschedctl.linter.pods import DO_NOT_SCHEDULE, REQUIRED, SCALED, AnyPart, WorkloadPods
from kschedctl.linter.rule import Problem, Rule, RuleSubject, Stage
from kschedctl.linter.values import Steps, at, is_rendered, items, mapping, text
from kschedctl.objects.core import Taint
from kschedctl.objects.pod import NO_SCHEDULE, UNSCHEDULABLE_TAINT
from kschedctl.objects.selectors import DOES_NOT_EXIST, IN, NOT_IN
from kschedctl.objects.well_known import ARCHITECTURES, BETA_ZONE, HOSTNAME, PRESENT_LABELS, ZONE


@Rule(
    "KS101",
    "node-affinity-unsatisfiable",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
nodeSelector:
  disk: ssd
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: disk  # <-
          operator: In
          values: [hdd, nvme]
""",
    repair={"[hdd, nvme]": "[ssd, nvme]"},
)
def node_affinity_unsatisfiable(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """Node selector and required node affinity together can match no node, whatever labels the nodes have.

    A pod's required node affinity needs one matching term, and the whole node selector must match as well. A term never
    matches if it is empty (``{}`` matches nothing), if ``Gt`` or ``Lt`` compares with text instead of a whole number, or if
    its requirements exclude one another: two lists without a common value, all values of a list excluded, a label that must
    both exist and not exist, a range without a whole number in it.

    The API server accepts all of these, and the pods stay pending for ever.

    Repair: change or remove the requirement that the message names.
    """
    dead, n_terms = clashes(pods)
    if not dead or len(dead) < n_terms:
        return
    if n_terms == 1:
        yield Problem(
            message=f"no node can match: {dead[0].why}",
            steps=dead[0].steps,
            help="change the term so that it can match, or remove it",
        )
        return
    why = "; ".join(each.why for each in dead)
    yield Problem(
        message=f"no node can match any of the {n_terms} terms: {why}",
        steps=pods.of_spec("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"),
        help="one term must be able to match together with the node selector",
    )


_NODE_AFFINITY_DEAD_TERM = """v1 Pod web
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: disk
          operator: Exists
      - matchExpressions:
        - key: cores
          operator: Gt
          values: ["8"]
        - key: cores  # <-
          operator: Lt
          values: ["9"]
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 10
      preference: {}  # <-
"""


@Rule(
    "KS102",
    "node-affinity-dead-term",
    Severity.WARNING,
    None,
    RuleSubject.PODS,
    of_fields=True,
    fails=_NODE_AFFINITY_DEAD_TERM,
    passes=_NODE_AFFINITY_DEAD_TERM.partition("        - key: cores  # <-")[0],
)
def node_affinity_dead_term(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """A term of the required node affinity can match no node, while other terms can, so the term has no effect.

    Terms are ORed, so one that matches is enough; a term that never matches (KS101 has the reasons) goes unnoticed until
    the others fail. The rule also reports an empty ``preference`` of the preferred terms: it matches every node or no node,
    depending on the reader, and so changes no decision.

    The API server accepts the object; the pods are scheduled to the nodes that the other terms match.

    Repair: change the term or remove it.
    """
    dead, n_terms = clashes(pods)
    if len(dead) < n_terms:
        for each in dead:
            yield Problem(
                message=f"this term matches no node: {each.why}",
                steps=each.steps,
                help="change the term so that it can match, or remove it",
            )
    for steps, term in preferred_terms(pods):
        if isinstance(term, dict) and not term.get("matchExpressions") and not term.get("matchFields"):
            yield Problem(
                message="an empty preference prefers no node", steps=steps, help="add expressions, or remove it"
            )


_OS: Final = frozenset(("linux", "windows"))
_ARCH: Final = frozenset(
    (
        *("386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le"),
        *("riscv64", "s390x", "wasm"),
    )
)
_VALUES: Final = {
    "kubernetes.io/os": _OS,
    "beta.kubernetes.io/os": _OS,
    "kubernetes.io/arch": _ARCH,
    "beta.kubernetes.io/arch": _ARCH,
}
#: The known names after the slash, by domain.
_KNOWN: Final = {
    "kubernetes.io": ("arch", "hostname", "os"),
    "node.kubernetes.io": ("instance-type", "windows-build", "exclude-from-external-load-balancers"),
    "topology.kubernetes.io": ("region", "zone"),
}
_SHORT: Final = 4


@Rule(
    "KS103",
    "impossible-node-label-value",
    Severity.ERROR,
    Stage.WAITS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
nodeSelector:
  kubernetes.io/arch: x86_64  # <-
  topology.kubernetes.io/zones: eu-1a  # <-
""",
    repair={"x86_64": "amd64", "/zones": "/zone"},
)
def impossible_node_label_value(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods require a node label that no node can have: an unknown OS or architecture, or a misspelt well-known key.

    ``kubernetes.io/os`` is ``linux`` or ``windows``, in lower case. ``kubernetes.io/arch`` is the architecture's name in
    Go, so ``amd64`` and ``arm64``, not ``x86_64`` and ``aarch64``. An unknown key in the domains kubernetes.io,
    node.kubernetes.io and topology.kubernetes.io can be a user's own label; it is reported only if it differs from a known
    key by at most two letters, or by one letter if the known name has at most four letters.

    The API server accepts the object, and the pods stay pending for ever. If other terms of the node affinity can match,
    the term has no effect (warning).

    Repair: write a label and value that nodes can have.
    """
    for key, value in pods.node_selector.items():
        steps = pods.of_spec("nodeSelector", key)
        if (meant := _misspelt(key)) is not None:
            fix = renaming(pods.obj, steps, meant) if meant not in pods.node_selector else None
            yield replace(_of_key(key, meant, steps, fix), key=True)
        elif isinstance(value, str) and is_rendered(value) and (wrong := _unknown_values(key, (value,))):
            yield _of_value(pods, key, wrong, steps)
    terms = pods.node_terms or []
    severity = Severity.WARNING if len(terms) > 1 else None
    for demand in (demand for steps, term in terms for demand in demands_of(term, steps)):
        at_key = (*demand.steps, "key")
        if demand.operator in (NOT_IN, DOES_NOT_EXIST):
            continue
        if (meant := _misspelt(demand.key)) is not None:
            fix = setting(pods.obj, f"write {meant}", (at_key, meant))
            yield _of_key(demand.key, meant, at_key, fix, severity)
        elif demand.operator == IN and (wrong := _unknown_values(demand.key, demand.values)):
            yield _of_value(pods, demand.key, wrong, (*demand.steps, "values", 0), severity)
    topologies: list[AnyPart] = [*pods.spread, *pods.terms("podAffinity", required=True)]
    for part in topologies:
        key, steps = text(part.raw.get("topologyKey")), (*part.steps, "topologyKey")
        hard = part.raw.get("whenUnsatisfiable", DO_NOT_SCHEDULE) == DO_NOT_SCHEDULE
        if hard and (meant := _misspelt(key)) is not None:
            yield _of_key(key, meant, steps, setting(pods.obj, f"write {meant}", (steps, meant)))


def _of_key(name: str, meant: str, steps: Steps, fix: Fix | None, severity: Severity | None = None) -> Problem:
    message = f"no node has the label {name}; {meant} differs by one or two letters"
    return Problem(message=message, steps=steps, help=f"write {meant}", severity=severity, fix=fix)


def _of_value(
    pods: WorkloadPods, key: str, wrong: tuple[str, ...], steps: Steps, severity: Severity | None = None
) -> Problem:
    known = sorted(_VALUES[key])
    lower = wrong[0].lower()
    meant = ARCHITECTURES.get(lower, lower) if "arch" in key else lower
    guess = meant if meant in _VALUES[key] else ""
    return Problem(
        message=f"no node has {key}={' or '.join(wrong)}",
        steps=steps,
        help=f"write {guess}" if guess else f"known values: {', '.join(known)}",
        severity=severity,
        fix=setting(pods.obj, f"write {guess}", (steps, guess)) if guess else None,
    )


def _unknown_values(key: str, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values if none of them is known, else nothing."""
    known = _VALUES.get(key)
    return values if known is not None and known.isdisjoint(values) else ()


def _misspelt(key: str) -> str | None:
    domain, slash, name = key.rpartition("/")
    known = _KNOWN.get(domain) if slash else None
    if known is None or name in known or not is_rendered(key):
        return None
    near = [each for each in known if 0 < edits(name, each) <= (1 if len(each) <= _SHORT else 2)]
    return f"{domain}/{near[0]}" if near else None


@Rule(
    "KS104",
    "master-label",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
nodeSelector:
  node-role.kubernetes.io/master: ""  # <-
tolerations:
- key: node-role.kubernetes.io/control-plane
  operator: Exists
""",
    repair={"node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane"},
)
def master_label(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods require nodes with the label node-role.kubernetes.io/master, which kubeadm does not set.

    Kubernetes 1.24 removed the label from control-plane nodes and replaced it by ``node-role.kubernetes.io/control-plane``.
    The rule ignores objects for OpenShift, whose nodes still have the label, and pods of which one term requires the new
    label.

    The API server accepts the object, with a warning that is easily missed, and the pods stay pending.

    Repair: require node-role.kubernetes.io/control-plane.
    """
    wanted = wanted_keys(pods, (MASTER,))
    if wanted is None or context.is_openshift(pods.obj):
        return
    if any(demand.key == CONTROL_PLANE for steps, term in pods.node_terms or () for demand in demands_of(term, steps)):
        return
    steps, _ = wanted
    if steps[-1] == MASTER:
        fix = renaming(pods.obj, steps, CONTROL_PLANE) if CONTROL_PLANE not in pods.node_selector else None
    else:
        fix = setting(pods.obj, f"write {CONTROL_PLANE}", (steps, CONTROL_PLANE))
    yield Problem(
        message=f"requires nodes with {MASTER}, a label that kubeadm no longer sets as of Kubernetes 1.24",
        steps=steps,
        help=f"require {CONTROL_PLANE}",
        fix=fix,
        key=steps[-1] == MASTER,
    )


@Rule(
    "KS105",
    "deprecated-node-label",
    Severity.INFO,
    None,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
nodeSelector:
  beta.kubernetes.io/os: linux  # <-
""",
    repair={"beta.": ""},
)
def deprecated_node_label(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods refer to a deprecated node label, such as beta.kubernetes.io/os.

    The API server's list of deprecated labels has ``beta.kubernetes.io/arch``, ``/os``, ``/instance-type`` and
    ``failure-domain.beta.kubernetes.io/zone``, ``/region``. Kubelets and cloud providers still set them, so nothing breaks
    yet; nodes of providers that do not, such as k3s, lack some of them.

    The API server accepts the object, with a warning that is easily missed, and the pods run.

    Repair: write the label that replaces it.
    """
    for steps, label, is_key in label_uses(pods):
        today = PRESENT_LABELS.get(label)
        if today is None:
            continue
        if is_key:
            fix = renaming(pods.obj, steps, today) if today not in pods.node_selector else None
        else:
            fix = setting(pods.obj, f"write {today}", (steps, today))
        yield Problem(
            message=f"the node label {label} is deprecated; {today} replaces it",
            steps=steps,
            help=f"write {today}",
            fix=fix,
            key=is_key,
        )


_MASTER_TAINT_ONLY = """v1 Pod web
tolerations:
- key: node-role.kubernetes.io/master  # <-
  operator: Exists
  effect: NoSchedule
"""


@Rule(
    "KS106",
    "master-taint-only",
    Severity.INFO,
    None,
    RuleSubject.PODS,
    of_fields=True,
    fails=_MASTER_TAINT_ONLY,
    passes=f"""{_MASTER_TAINT_ONLY}- key: node-role.kubernetes.io/control-plane
  operator: Exists
  effect: NoSchedule
""",
)
def master_taint_only(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods tolerate the taint node-role.kubernetes.io/master, and not its replacement, the control-plane taint.

    Kubernetes 1.25 removed the taint from control-plane nodes; they have ``node-role.kubernetes.io/control-plane`` with the
    same effect. Pods that tolerate only the old taint are not scheduled to these nodes.

    The API server accepts the object. A DaemonSet then has no pods on control-plane nodes (warning). Pods that require
    control-plane nodes stay pending (warning). Other pods only lose these nodes (info).

    Repair: tolerate node-role.kubernetes.io/control-plane too.
    """
    index = tolerates_master_only(pods)
    if index is None or context.is_openshift(pods.obj):
        return
    part = pods.tolerations[index]
    near = next((each.value.key for each in pods.tolerations if each.value and each.value.key in NEAR_MISSES), "")
    must = wanted_keys(pods, (CONTROL_PLANE, MASTER)) is not None
    effect = text(at(part.raw, "effect"))
    add = f"; {near} is a different taint, of RKE" if near else ""
    yield Problem(
        message=f"tolerates {MASTER}, a taint that was removed in Kubernetes 1.25, and not {CONTROL_PLANE}"
        f"{of_another_value(pods)}{add}",
        steps=(*part.steps, "key"),
        help=f"tolerate {CONTROL_PLANE} too",
        stop=Stage.WAITS if must else None,
        severity=Severity.WARNING if must or pods.type == "apps/DaemonSet" else None,
        fix=appending(
            pods.obj,
            f"tolerate {CONTROL_PLANE} too",
            pods.of_spec("tolerations"),
            # The taint of kubeadm has no value.
            {"key": CONTROL_PLANE, "operator": "Exists", **({"effect": effect} if effect else {})},
            safe=False,
        ),
    )


_CONTROL_PLANE_UNTOLERATED = """v1 Pod web
nodeSelector:
  node-role.kubernetes.io/control-plane: ""  # <-
"""


@Rule(
    "KS107",
    "control-plane-untolerated",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    fails=_CONTROL_PLANE_UNTOLERATED,
    passes=f"""{_CONTROL_PLANE_UNTOLERATED}tolerations:
- key: node-role.kubernetes.io/control-plane
  operator: Exists
  effect: NoSchedule
""",
)
def control_plane_untolerated(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods require control-plane nodes and do not tolerate the taint of these nodes.

    The node selector or every required term requires the label ``node-role.kubernetes.io/control-plane`` or ``/master``,
    and no toleration matches the taint ``node-role.kubernetes.io/control-plane:NoSchedule``, which kubeadm and most other
    installers set, without a value: a toleration with operator Equal and value ``"true"`` does not match it. Control-plane
    nodes without a taint, as with k3s, do run the pods: with a snapshot the rule checks the taints of its nodes.

    The API server accepts the object, and the pods stay pending.

    Repair: tolerate node-role.kubernetes.io/control-plane, effect NoSchedule.
    """
    wanted = wanted_keys(pods, (CONTROL_PLANE, MASTER))
    if wanted is None or context.is_openshift(pods.obj):
        return
    taints = [taint for node in context.nodes for taint in node.spec.taints if taint.key == CONTROL_PLANE]
    if not context.nodes:
        taints = [Taint(key=CONTROL_PLANE, effect=NO_SCHEDULE)]
    if not taints or not all(map(pods.is_repelled_by, taints)):
        return
    steps, label = wanted
    item = {"key": CONTROL_PLANE, "operator": "Exists", "effect": NO_SCHEDULE}
    yield Problem(
        message=f"requires nodes with {label}, and does not tolerate their taint {CONTROL_PLANE}:{NO_SCHEDULE}"
        f"{of_another_value(pods)}",
        steps=steps,
        help=f"tolerate {CONTROL_PLANE}, effect {NO_SCHEDULE}",
        fix=appending(pods.obj, f"tolerate {CONTROL_PLANE}", pods.of_spec("tolerations"), item, safe=False),
        key=steps[-1] == label,
    )


_UNSCHEDULABLE: Final = UNSCHEDULABLE_TAINT.key


@Rule(
    "KS108",
    "tolerates-cordon",
    Severity.WARNING,
    Stage.HANGS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""apps/v1 Deployment web
tolerations:
- operator: Exists  # <-
""",
    repair={"- operator: Exists": "- key: dedicated\n  operator: Exists"},
)
def tolerates_cordon(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods tolerate the taint of cordoned nodes, so pods that a drain evicts may return to the drained node.

    ``kubectl cordon`` taints a node with ``node.kubernetes.io/unschedulable:NoSchedule``. A toleration without a key, or of
    that key, allows new pods on the node nevertheless. Evicted pods of a Deployment, StatefulSet, ReplicaSet or
    ReplicationController are recreated at once and may be bound to the node that is being drained: the drain does not end,
    or the node is removed with pods on it. The rule ignores DaemonSets, which tolerate the taint on purpose.

    The API server accepts the object, and the next drain hangs. Add-ons of a control plane tolerate the taint on purpose:
    ignore the finding, with a reason.

    Repair: tolerate the intended taints, by their keys.
    """
    if pods.type not in SCALED or pods.type == "argoproj.io/Rollout":
        return
    for part in pods.tolerations:
        one = part.value
        if one is None or one.effect not in ("", NO_SCHEDULE):
            continue
        by_key = one.key == _UNSCHEDULABLE and (one.operator == "Exists" or not one.value)
        if by_key or (not one.key and one.operator == "Exists"):
            what = f"{_UNSCHEDULABLE}" if by_key else "every taint"
            yield Problem(
                message=f"tolerates {what}: pods evicted by a drain can return to the cordoned node",
                steps=part.steps,
                help="name the intended taints, or ignore this finding with a reason",
                fix=removing(pods.obj, "remove the toleration", part.steps, safe=False),
            )


@Rule(
    "KS119",
    "node-name-set",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
nodeName: node-1  # <-
""",
    repair={"nodeName: node-1": "nodeSelector:\n  kubernetes.io/hostname: node-1"},
)
def node_name_set(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pod template sets nodeName, so no scheduler considers the pods.

    ``nodeName`` is written by a scheduler. If a manifest sets it, nothing checks resources, taints, affinity and volumes:
    the kubelet admits the pod or fails it, and if the node does not exist, the pod is deleted. The rule ignores objects
    that were read from a cluster and mirror pods of kubelets, where ``nodeName`` is correct.

    The API server accepts the object, and the pods fail or wait for a node of that name.

    Repair: nodeSelector kubernetes.io/hostname, or leave the choice to the scheduler.
    """
    name = text(pods.spec.get("nodeName"))
    if not name or pods.obj.live or not is_rendered(name):
        return
    owners = items(at(pods.obj.raw, "metadata", "ownerReferences"))
    if "kubernetes.io/config.mirror" in mapping(pods.metadata.get("annotations")):
        return
    if any(at(owner, "kind") == "Node" for owner in owners):
        return
    yield Problem(
        message=f"sets nodeName {name}, so no scheduler checks that the pods fit there",
        steps=pods.of_spec("nodeName"),
        help="select kubernetes.io/hostname instead, or leave the choice to the scheduler",
    )


@Rule(
    "KS125",
    "selects-one-host",
    Severity.INFO,
    Stage.WAITS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
nodeSelector:
  kubernetes.io/hostname: node-1  # <-
""",
    repair={"kubernetes.io/hostname: node-1": "pool: web"},
)
def selects_one_host(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """Node selector or required affinity limit the pods to a single node by its hostname.

    If that node is drained or removed, the pods stay pending. For volumes on one node the selector is not needed, as the
    volume has its own node affinity.

    Nothing is blocked until that node is unavailable; then the pods stay pending.

    Repair: select a label that several nodes have.
    """
    if pods.type == "apps/DaemonSet" or pods.obj.live:
        return
    names = pinned(pods, HOSTNAME)
    if names is None or len(names) != 1:
        return
    by_selector = HOSTNAME in pods.node_selector
    yield Problem(
        message=f"the pods can run only on node {next(iter(names))}, and stay pending without it",
        steps=pods.of_spec("nodeSelector", HOSTNAME)
        if by_selector
        else pods.of_spec("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"),
        help="select a label that several nodes have",
    )


_ZONES: Final = (ZONE, BETA_ZONE)
_SIDE: Final = "(north|south|east|west|central|(north|south)(east|west)|(east|west)(north|south))"
#: By cloud: the pattern of its regions, and of a zone in a region.
_CLOUDS: Final = {
    "AWS": (re.compile(rf"(us-(gov-)?(east|west)|(af|ap|ca|cn|eu|il|me|mx|sa)-{_SIDE})-[1-9]"), "{}a"),
    "Google Cloud": (
        re.compile(rf"(africa|asia|australia|europe|me|northamerica|southamerica|us)-{_SIDE}[1-9][0-9]?"),
        "{}-a",
    ),
    "Azure": (
        re.compile(
            "(east|west|central|northcentral|southcentral|westcentral)us[23]?|(north|west)europe|uk(south|west)|"
            "(east|southeast)asia|australia(east|southeast|central)|japan(east|west)|brazilsouth|"
            "canada(central|east)|(central|south|west)india|france(central|south)|germanywestcentral|"
            "korea(central|south)|norwayeast|polandcentral|qatarcentral|swedencentral|switzerlandnorth|uaenorth|"
            "italynorth|israelcentral|spaincentral|southafricanorth"
        ),
        "{}-1",
    ),
}


@Rule(
    "KS128",
    "region-as-zone",
    Severity.WARNING,
    Stage.WAITS,
    RuleSubject.PODS,
    of_fields=True,
    fails="""v1 Pod web
nodeSelector:
  topology.kubernetes.io/zone: us-east-1  # <-
""",
    repair={"us-east-1": "us-east-1a"},
)
def region_as_zone(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """The pods require a zone by the name of a region of a cloud, which no node has as its zone.

    The label ``topology.kubernetes.io/zone`` has a zone such as ``us-east-1a`` (AWS), ``us-central1-a`` (Google Cloud) or
    ``eastus-1`` (Azure); the region is in ``topology.kubernetes.io/region``. The names of regions are those that the three
    clouds publish. IBM Cloud has zones named ``us-east-1`` and ``us-east-2``, as regions of AWS are: the rule is wrong
    there. With a snapshot, KS506 compares with the labels of its nodes instead.

    The API server accepts the object, and the pods stay pending.

    Repair: the zones of the region, or the label topology.kubernetes.io/region.
    """
    if context.overlay is not None:
        return
    terms = (demand for steps, term in pods.node_terms or () for demand in demands_of(term, steps))
    for demand in (*selector_demands(pods), *terms):
        if demand.key not in _ZONES or demand.operator != IN:
            continue
        for cloud, (pattern, zone) in _CLOUDS.items():
            if all(pattern.fullmatch(value) for value in demand.values):
                value = demand.values[0]
                in_list = isinstance(demand.steps[-1], int)
                yield Problem(
                    message=f"{value} is a region of {cloud}, and no node has it as its zone",
                    steps=(*demand.steps, "values", 0) if in_list else demand.steps,
                    help=f"name zones, such as {zone.format(value)}, or require topology.kubernetes.io/region",
                )
