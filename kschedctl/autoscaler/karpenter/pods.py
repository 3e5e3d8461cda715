"""The pods of a round: which take part, what they ask for, and how their preferences are given up one by one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from kschedctl.autoscaler.instance_types import CAPACITY_TYPE, CAPACITY_TYPES, WELL_KNOWN, Amounts, Resources
from kschedctl.autoscaler.karpenter.volumes import Attachments, claim_problem
from kschedctl.autoscaler.requirements import GTE, LTE, Requirements, added, of_expressions, of_labels, requirement
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Condition, Taint
from kschedctl.objects.duration import Duration
from kschedctl.objects.karpenter import DO_NOT_DISRUPT, NODE_POOL_LABEL
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.names import label_value_problems, qualified_name_problems
from kschedctl.objects.pod import PREFER_NO_SCHEDULE, Affinity, Pod, PodAffinity, PodSpec, Toleration, tolerated
from kschedctl.objects.quantity import NANO, QuantityFormat, forms
from kschedctl.objects.resources import PODS, RequestRules, pod_requests
from kschedctl.objects.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    GT,
    IN,
    LT,
    NOT_IN,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    matches,
    parse_label_selector,
)
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.objects.workload import PodDisruptionBudget

_DISRUPTED: Final = Taint(key="karpenter.sh/disrupted", effect="NoSchedule")
_UNSCHEDULABLE: Final = Condition(type="PodScheduled", status="False", reason="Unschedulable")
_RULES: Final = RequestRules()
_OPERATORS: Final = (DOES_NOT_EXIST, EXISTS, GT, GTE, IN, LT, LTE, NOT_IN)


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of a node's address that a container uses."""

    ip: str
    port: int
    protocol: str

    def conflicts(self, other: "HostPort") -> bool:
        """Report whether two pods of one node cannot have both ports."""
        anywhere = ("", "0.0.0.0", "::")
        same_ip = self.ip == other.ip or self.ip in anywhere or other.ip in anywhere
        return self.port == other.port and self.protocol == other.protocol and same_ip


@dataclass(frozen=True, eq=False)
class Stage:
    """A pod's demands at one stage of giving up its preferences. Pods with the same spec and labels share it."""

    spec: PodSpec
    #: With the heaviest preference, and without any.
    requirements: Requirements
    strict: Requirements
    #: In nano-units by resource, with ``pods``; and their notation.
    nanos: dict[str, int]
    notation: dict[str, QuantityFormat]
    requests: Amounts
    host_ports: tuple[HostPort, ...]
    #: The taints that were asked for, and whether the pod tolerates them.
    tolerance: dict[tuple[Taint, ...], bool] = field(default_factory=dict)

    def tolerates(self, taints: tuple[Taint, ...]) -> bool:
        """Report whether the pod tolerates all taints, whatever their effect."""
        known = self.tolerance.get(taints)
        if known is None:
            known = self.tolerance[taints] = not untolerated(self.spec, taints)
        return known


@dataclass(eq=False)
class WaitingPod:
    """A pod of a round."""

    pod: Pod
    first: Stage
    #: The places of its volumes together, one of which a node has to be; empty if any node will do.
    places: list[Requirements]
    attachments: Attachments
    #: Karpenter's words for why its volumes cannot be looked at.
    volume_problem: str = ""

    @property
    def key(self) -> str:
        """Its ``namespace/name``."""
        return self.pod.key

    @property
    def uses_devices(self) -> bool:
        """True if it claims devices, for which Karpenter adds no node."""
        spec = self.pod.spec
        return bool(spec.resource_claims) or any(
            each.resources.claims for each in (*spec.init_containers, *spec.containers)
        )


def untolerated(spec: PodSpec, taints: Iterable[Taint]) -> list[Taint]:
    """Return the taints that a pod does not tolerate."""
    return [taint for taint in taints if not tolerated(spec.tolerations, taint)]


class Stages:
    """The stages of the pods of a round.

    Args:
        prefers: False if preferences are never looked at (``--preference-policy=Ignore``).
        soft_taints: True if a pool has a PreferNoSchedule taint, which a pod tolerates as its last concession.
    """

    def __init__(self, resources: Resources, *, prefers: bool, soft_taints: bool) -> None:
        self._resources = resources
        self._prefers = prefers
        self._soft_taints = soft_taints
        # The specs are kept, so that their identity stays theirs.
        self._stages: dict[int, tuple[PodSpec, Stage]] = {}
        self._relaxed: dict[int, PodSpec | None] = {}

    def of(self, spec: PodSpec) -> Stage:
        """Return the stage of a spec."""
        known = self._stages.get(id(spec))
        if known is None:
            known = self._stages[id(spec)] = spec, self._stage(spec)
        return known[1]

    def _stage(self, spec: PodSpec) -> Stage:
        strict = requirements_of(spec, preferred=False)
        nanos, notation = requests_of(Pod(metadata=ObjectMeta(), spec=spec))
        return Stage(
            spec=spec,
            requirements=requirements_of(spec, preferred=True) if self._prefers else strict,
            strict=strict,
            nanos=nanos,
            notation=notation,
            requests=self._resources.amounts(nanos),
            host_ports=host_ports(spec),
        )

    def relaxed(self, stage: Stage) -> Stage | None:
        """Return the stage after the next concession; ``None`` if nothing is left to give up."""
        key = id(stage.spec)
        if key not in self._relaxed:
            self._relaxed[key] = relaxed(stage.spec, soft_taints=self._soft_taints)
        spec = self._relaxed[key]
        return None if spec is None else self.of(spec)


def requests_of(pod: Pod) -> tuple[dict[str, int], dict[str, QuantityFormat]]:
    """Return the requests of a pod in nano-units, with one of ``pods``, and their notation."""
    lists = [each.resources.requests for each in (*pod.spec.containers, *pod.spec.init_containers)]
    notation = forms((*lists, pod.spec.resources.requests, pod.spec.overhead))
    return {**pod_requests(pod, _RULES), PODS: NANO}, {**notation, PODS: QuantityFormat.EXPONENT}


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Return the ports of the host that a pod's containers use."""
    ports = (port for container in spec.containers for port in container.ports if port.host_port)
    return tuple(HostPort(port.host_ip, port.host_port, port.protocol) for port in ports)


def requirements_of(spec: PodSpec, *, preferred: bool) -> Requirements:
    """Return a pod's requirements on a node: of terms that are alternatives the first, of preferences the heaviest."""
    out = of_labels(spec.node_selector)
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None:
        return out
    terms = affinity.preferred_during_scheduling_ignored_during_execution
    if preferred and terms:
        heaviest = max(terms, key=lambda each: each.weight)
        out = added(out, of_expressions(heaviest.preference.match_expressions).values())
    required = required_terms(spec)
    if required:
        out = added(out, of_expressions(required[0].match_expressions).values())
    return out


def required_terms(spec: PodSpec) -> tuple[NodeSelectorTerm, ...]:
    """Return the terms of a pod's required node affinity."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return required.node_selector_terms if required is not None else ()


# Concessions (S/preferences.go).


def relaxed(spec: PodSpec, *, soft_taints: bool) -> PodSpec | None:
    """Return a spec without the preference that is given up first; ``None`` if there is none left."""
    shorter = without_first_term(spec)
    if shorter is not None:
        return shorter
    affinity = spec.affinity or Affinity()
    for name in ("pod_affinity", "pod_anti_affinity", "node_affinity"):
        own: PodAffinity | NodeAffinity | None = getattr(affinity, name)
        terms = own.preferred_during_scheduling_ignored_during_execution if own is not None else ()
        if own is not None and terms:
            left = tuple(sorted(terms, key=lambda each: -each.weight))[1:]
            fewer = replace(own, preferred_during_scheduling_ignored_during_execution=left)
            return replace(spec, affinity=replace(affinity, **{name: fewer}))
    constraints = list(spec.topology_spread_constraints)
    for i, constraint in enumerate(constraints):
        if constraint.when_unsatisfiable == "ScheduleAnyway":
            # The last one takes its place.
            constraints[i] = constraints[-1]
            return replace(spec, topology_spread_constraints=tuple(constraints[:-1]))
    return with_soft_taints(spec) if soft_taints else None


def without_first_term(spec: PodSpec) -> PodSpec | None:
    """Return a spec without the first of several required terms of node affinity; ``None`` if there is only one."""
    terms = required_terms(spec)
    affinity = spec.affinity
    if affinity is None or affinity.node_affinity is None or len(terms) < 2:
        return None
    selector = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    assert selector is not None
    fewer = replace(
        affinity.node_affinity,
        required_during_scheduling_ignored_during_execution=replace(selector, node_selector_terms=terms[1:]),
    )
    return replace(spec, affinity=replace(affinity, node_affinity=fewer))


def with_soft_taints(spec: PodSpec) -> PodSpec | None:
    """Return a spec that tolerates all PreferNoSchedule taints; ``None`` if it has that toleration."""
    for each in spec.tolerations:
        if each.operator == "Exists" and not each.key and not each.value and each.effect == PREFER_NO_SCHEDULE:
            return None
    more = Toleration(operator="Exists", effect=PREFER_NO_SCHEDULE)
    return replace(spec, tolerations=(*spec.tolerations, more))


# Which pods take part.


def is_provisionable(pod: Pod) -> bool:
    """Report whether Karpenter looks at a pending pod: the scheduler has found no node, and does not preempt for it."""
    return (
        any(each.type == "PodScheduled" and each.reason == "Unschedulable" for each in pod.status.conditions)
        and not pod.spec.node_name
        and not pod.status.nominated_node_name
        and not is_owned_by(pod.metadata, "apps/v1", "DaemonSet")
        and not is_owned_by(pod.metadata, "v1", "Node")
    )


def as_unschedulable(pod: Pod, now: datetime | None) -> Pod:
    """Return a pod as it is after kube-scheduler has found no node for it."""
    others = tuple(each for each in pod.status.conditions if each.type != _UNSCHEDULABLE.type)
    status = replace(pod.status, nominated_node_name="", conditions=(*others, _UNSCHEDULABLE))
    metadata = replace(pod.metadata, creation_timestamp=pod.metadata.creation_timestamp or now)
    return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=""), status=status)


def is_owned_by(metadata: ObjectMeta, api_version: str, kind: str) -> bool:
    """Report whether an owner of an object is of a kind."""
    return any(each.api_version == api_version and each.kind == kind for each in metadata.owner_references)


def is_movable(pod: Pod) -> bool:
    """Report whether a pod comes back on another node when its node goes (``pod.IsReschedulable``)."""
    ending = pod.metadata.deletion_timestamp is not None
    return not (
        (ending and not is_owned_by(pod.metadata, "apps/v1", "StatefulSet"))
        or is_owned_by(pod.metadata, "apps/v1", "DaemonSet")
        or is_owned_by(pod.metadata, "v1", "Node")
    )


def is_reschedulable(pod: Pod, budgets: Iterable[PodDisruptionBudget], now: datetime) -> bool:
    """Report whether a pod of a node that is being deleted needs another node now."""
    if not is_movable(pod):
        return False
    ending = pod.metadata.deletion_timestamp is not None
    if not ending and is_protected(pod, now):
        return False
    return ending or not is_evictable(pod, now) or not _is_blocked(pod, budgets)


def is_evictable(pod: Pod, now: datetime) -> bool:
    """Report whether Karpenter evicts a pod from a node that it takes away (``pod.IsEvictable``)."""
    return not (
        pod.metadata.deletion_timestamp is not None
        or not untolerated(pod.spec, (_DISRUPTED,))
        or is_owned_by(pod.metadata, "v1", "Node")
        or is_protected(pod, now)
    )


def is_protected(pod: Pod, now: datetime) -> bool:
    """Report whether the annotation ``karpenter.sh/do-not-disrupt`` keeps a pod where it is."""
    value = pod.metadata.annotations.get(DO_NOT_DISRUPT)
    if value is None or value == "true":
        return value is not None
    try:
        least = Duration.parse(value).nanoseconds / 1e9
    except ValueError:
        return False
    start = pod.status.start_time
    return least > 0 and (start is None or (now - start).total_seconds() < least)


def matching_budgets(pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> list[PodDisruptionBudget]:
    """Return the budgets that select a pod."""
    return [
        each
        for each in budgets
        if each.namespace == pod.namespace
        and each.spec.selector is not None
        and matches(parse_label_selector(each.spec.selector), pod.metadata.labels)
    ]


def ignores_budget(pod: Pod, budget: PodDisruptionBudget) -> bool:
    """Report whether a budget lets a pod go because the pod is not ready."""
    unready = any(each.type == "Ready" and each.status == "False" for each in pod.status.conditions)
    return unready and budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"


def _is_blocked(pod: Pod, budgets: Iterable[PodDisruptionBudget]) -> bool:
    matching = matching_budgets(pod, budgets)
    if len(matching) > 1:
        return True
    for each in matching:
        if ignores_budget(pod, each):
            return False
        if each.spec.max_unavailable in (0, "0%") or each.spec.min_available == "100%":
            return True
    return False


# Which pending pods are left out, and why (P/provisioner.go, A/nodeclaim_validation.go).

NOT_FOR_KARPENTER: Final = (
    f"configured to not run on a Karpenter provisioned node (requirement={NODE_POOL_LABEL} {DOES_NOT_EXIST})"
)


def problem_of(cluster: Cluster, pod: Pod) -> str:
    """Return Karpenter's words for why it leaves a pending pod out; empty if the pod takes part."""
    own = requirements_of(pod.spec, preferred=True).get(NODE_POOL_LABEL)
    problems = [NOT_FOR_KARPENTER] if own is not None and own.operator == DOES_NOT_EXIST else []
    for key, value in sorted(pod.spec.node_selector.items()):
        problems += _expression_problems(NodeSelectorRequirement(key=key, operator=IN, values=(value,)))
    for term in required_terms(pod.spec):
        if term.match_fields:
            problems.append("node selector term with matchFields is not supported")
        for expression in term.match_expressions:
            problems += _expression_problems(expression)
    problem = claim_problem(cluster, pod)
    return "; ".join((*problems, problem) if problem else problems)


def _expression_problems(expression: NodeSelectorRequirement) -> Iterator[str]:
    key = requirement(expression.key, EXISTS).key
    operator, values = expression.operator, expression.values
    if operator not in _OPERATORS:
        yield f"key {key} has an unsupported operator {operator} not in [{' '.join(_OPERATORS)}]"
    domain = key.rpartition("/")[0] if key.count("/") < 2 else key.partition("/")[0]
    restricted = domain == "karpenter.sh" or domain.endswith(".karpenter.sh")
    if key not in WELL_KNOWN and (restricted or key == HOSTNAME):
        yield (
            f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a "
            f"well known label: [{' '.join(sorted(WELL_KNOWN))}], or a custom label that does not use a restricted "
            "domain: [karpenter.sh]"
        )
    if key == CAPACITY_TYPE and operator == IN and not set(values) & set(CAPACITY_TYPES):
        known = " ".join(f"{each}:{{}}" for each in CAPACITY_TYPES)
        got = " ".join(values)
        yield f"no valid values found in [{got}] for {key}, expected one of: map[{known}], got: [{got}]"
    for problem in qualified_name_problems(key):
        yield f"key {key} is not a qualified name, {problem}"
    for value in values:
        for problem in label_value_problems(value):
            yield f"invalid value {value} for key {key}, {problem}"
    if operator == IN and not values:
        yield f"key {key} with operator {operator} must have a value defined"
    if operator in (GT, LT, GTE, LTE):
        number = values[0] if len(values) == 1 else ""
        if not (number.isascii() and number.removeprefix("+").isdigit()):
            yield f"key {key} with operator {operator} must have a single positive integer value"
