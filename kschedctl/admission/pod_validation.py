"""What an API server's validation refuses of a new pod, in the fields that scheduling reads (core/validation)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kschedctl.admission.priority import PREEMPT_LOWER_PRIORITY
from kschedctl.admission.resource_validation import amounts_of, containers_of
from kschedctl.api import field_errors
from kschedctl.api.meta import Labels
from kschedctl.api.names import label_value_problems, qualified_name_problems, subdomain_problems
from kschedctl.api.node_selector import NodeAffinity, NodeSelectorTerm
from kschedctl.api.pod import Container, Pod, PodAffinity, PodAffinityTerm, Toleration, TopologySpreadConstraint
from kschedctl.api.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN
from kschedctl.api.tolerations import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from kschedctl.findings.finding import Finding

_Found = Iterator[Finding]

_DO_NOT_SCHEDULE: Final = "DoNotSchedule"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHTS: Final = range(1, 101)
_PORTS: Final = range(1, 65536)


def pod_findings(pod: Pod) -> _Found:
    """What is wrong with a new pod as the plugins left it, but for what ``resource_findings`` finds.

    Yields
    ------
    Finding
        In the API server's words.

    Raises
    ------
    QuantityError
        Where a resource of the pod is not a quantity.
    """
    spec = pod.spec
    if pod.name:
        for problem in subdomain_problems(pod.name):
            yield field_errors.invalid("metadata.name", pod.name, problem)
    yield from _of_labels(pod.metadata.labels, "metadata.labels")
    if not spec.containers:
        yield field_errors.required("spec.containers")
    names: set[str] = set()
    for path, container in containers_of(pod):
        yield from _of_container(container, path)
        if container.name and container.name in names:
            yield field_errors.duplicate(f"{path}.name", container.name)
        names.add(container.name)
    if spec.preemption_policy:
        yield from _one_of(spec.preemption_policy, (PREEMPT_LOWER_PRIORITY, "Never"), "spec.preemptionPolicy")
    yield from _of_labels(spec.node_selector, "spec.nodeSelector")
    if spec.affinity is not None:
        if spec.affinity.node_affinity is not None:
            yield from _of_node_affinity(spec.affinity.node_affinity, "spec.affinity.nodeAffinity")
        for affinity, name in (
            (spec.affinity.pod_affinity, "podAffinity"),
            (spec.affinity.pod_anti_affinity, "podAntiAffinity"),
        ):
            if affinity is not None:
                yield from _of_pod_affinity(affinity, f"spec.affinity.{name}")
    for i, toleration in enumerate(spec.tolerations):
        yield from _of_toleration(toleration, f"spec.tolerations[{i}]")
    yield from _of_spread(spec.topology_spread_constraints)


def _of_container(container: Container, path: str) -> _Found:
    for i, port in enumerate(container.ports):
        at = f"{path}.ports[{i}]"
        if not port.container_port:
            yield field_errors.required(f"{at}.containerPort")
        for name, number in (("containerPort", port.container_port), ("hostPort", port.host_port)):
            if number and number not in _PORTS:
                yield field_errors.invalid(f"{at}.{name}", number, "must be between 1 and 65535, inclusive")
        yield from _one_of(port.protocol, ("SCTP", "TCP", "UDP"), f"{at}.protocol")
    if container.restart_policy:
        yield from _one_of(container.restart_policy, ("Always", "Never", "OnFailure"), f"{path}.restartPolicy")
    for name, amounts in zip(("requests", "limits"), amounts_of(container.resources, path), strict=True):
        for resource, amount in amounts.items():
            if amount.nanos < 0:
                field = f"{path}.resources.{name}[{resource}]"
                yield field_errors.invalid(field, str(amount), "must be greater than or equal to 0")


def _of_toleration(toleration: Toleration, path: str) -> _Found:
    operator = toleration.operator
    if toleration.key:
        for problem in qualified_name_problems(toleration.key):
            yield field_errors.invalid(f"{path}.key", toleration.key, problem)
    elif operator != EXISTS:
        problem = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield field_errors.invalid(f"{path}.operator", operator, problem)
    if toleration.toleration_seconds is not None and toleration.effect != NO_EXECUTE:
        problem = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield field_errors.invalid(f"{path}.effect", toleration.effect, problem)
    if operator in ("", "Equal"):
        problems = label_value_problems(toleration.value)
        if problems:
            yield field_errors.invalid(f"{path}.operator", toleration.value, ";".join(problems))
    elif operator != EXISTS:
        yield from _one_of(operator, ("Equal", EXISTS), f"{path}.operator")
    elif toleration.value:
        problem = "value must be empty when `operator` is 'Exists'"
        yield field_errors.invalid(f"{path}.operator", toleration.value, problem)
    if toleration.effect:
        yield from _one_of(toleration.effect, (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE), f"{path}.effect")


def _of_spread(constraints: Sequence[TopologySpreadConstraint]) -> _Found:
    for i, constraint in enumerate(constraints):
        path = f"spec.topologySpreadConstraints[{i}]"
        action = constraint.when_unsatisfiable
        if constraint.max_skew < 1:
            yield field_errors.invalid(f"{path}.maxSkew", constraint.max_skew, "must be greater than zero")
        if not constraint.topology_key:
            yield field_errors.required(f"{path}.topologyKey", "can not be empty")
        yield from _one_of(action, (_DO_NOT_SCHEDULE, "ScheduleAnyway"), f"{path}.whenUnsatisfiable")
        kind = (constraint.topology_key, action)
        if any((other.topology_key, other.when_unsatisfiable) == kind for other in constraints[i + 1 :]):
            pair = f"{{{constraint.topology_key}, {action}}}"
            yield field_errors.duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", pair)
        domains = constraint.min_domains
        if domains is not None and domains < 1:
            yield field_errors.invalid(f"{path}.minDomains", domains, "must be greater than zero")
        if domains is not None and action != _DO_NOT_SCHEDULE:
            problem = f"can only use minDomains if whenUnsatisfiable={_DO_NOT_SCHEDULE}, not {action}"
            yield field_errors.invalid(f"{path}.minDomains", domains, problem)
        for name, policy in (
            ("nodeAffinityPolicy", constraint.node_affinity_policy),
            ("nodeTaintsPolicy", constraint.node_taints_policy),
        ):
            if policy:
                yield from _one_of(policy, ("Honor", "Ignore"), f"{path}.{name}")


def _of_node_affinity(affinity: NodeAffinity, path: str) -> _Found:
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        terms = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        if not required.node_selector_terms:
            yield field_errors.required(terms, "must have at least one node selector term")
        for i, term in enumerate(required.node_selector_terms):
            yield from _of_node_term(term, f"{terms}[{i}]")
    for i, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        at = f"{path}.{_PREFERRED}[{i}]"
        yield from _of_weight(preferred.weight, at)
        yield from _of_node_term(preferred.preference, f"{at}.preference")


def _of_node_term(term: NodeSelectorTerm, path: str) -> _Found:
    for name, requirements, operators in (
        ("matchExpressions", term.match_expressions, (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GT, LT)),
        ("matchFields", term.match_fields, (IN, NOT_IN)),
    ):
        for i, requirement in enumerate(requirements):
            if requirement.operator not in operators:
                field = f"{path}.{name}[{i}].operator"
                yield field_errors.invalid(field, requirement.operator, "not a valid selector operator")


def _of_pod_affinity(affinity: PodAffinity, path: str) -> _Found:
    for i, term in enumerate(affinity.required_during_scheduling_ignored_during_execution):
        yield from _of_topology_key(term, f"{path}.{_REQUIRED}[{i}]")
    for i, weighted in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        at = f"{path}.{_PREFERRED}[{i}]"
        yield from _of_weight(weighted.weight, at)
        yield from _of_topology_key(weighted.pod_affinity_term, f"{at}.podAffinityTerm")


def _of_topology_key(term: PodAffinityTerm, path: str) -> _Found:
    if not term.topology_key:
        yield field_errors.required(f"{path}.topologyKey", "can not be empty")
    for problem in qualified_name_problems(term.topology_key):
        yield field_errors.invalid(f"{path}.topologyKey", term.topology_key, problem)


def _of_weight(weight: int, path: str) -> _Found:
    if weight not in _WEIGHTS:
        yield field_errors.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _of_labels(labels: Labels, path: str) -> _Found:
    for key, value in labels.items():
        for problem in qualified_name_problems(key):
            yield field_errors.invalid(path, key, problem)
        for problem in label_value_problems(value):
            yield field_errors.invalid(path, value, problem)


def _one_of(value: str, supported: tuple[str, ...], path: str) -> _Found:
    if value not in supported:
        yield field_errors.unsupported(path, value, supported)
