"""Rejections that affect only pods: the workload is created, but its controller cannot create the pods."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kschedctl.common.findings import Finding
from kschedctl.objects.policies import SYSTEM_CLASSES
from kschedctl.objects.validation.part import found_by
from kschedctl.objects.validation.placement import affinity, topology_spread
from kschedctl.objects.validation.values import Tree, ValidationContext

#: The rule of findings about pods of a workload: the reason of the events that its controller emits.
FAILED_CREATE: Final = "FailedCreate"
#: The rule of findings about a Pod itself.
FORBIDDEN: Final = "Forbidden"
#: The preemption policy of classes that do not set one.
PREEMPT: Final = "PreemptLowerPriority"
_COMPUTED: Final = "must not be provided in pod spec; priority admission controller computed {} from the given"
GIVEN_PRIORITY: Final = f"the integer value of priority ({{}}) {_COMPUTED} PriorityClass name"
GIVEN_POLICY: Final = f"the string value of PreemptionPolicy ({{}}) {_COMPUTED} PriorityClass name"


def pod_refusals(template: Tree | None, path: str, kind: str) -> Iterator[Finding]:
    """Yield the rejections of a pod by admission, as far as they do not depend on a cluster.

    Args:
        template: The Pod or pod template; ``None`` if the object creates no pods.
        path: The path of the pod template in the object; empty for a Pod itself.

    A pod without a PriorityClass is checked as if the cluster had no default class. For a named class, priority and
    preemption policy are checked only if it is built in, since the existence of other classes depends on the cluster.
    """
    if template is None:
        return
    spec = template.get("spec", {})
    at = f"{path}.spec" if path else "spec"
    hint = _repair_hint(kind) if path else ""
    rule = FAILED_CREATE if path else FORBIDDEN
    for field, problem in _spec_problems(spec):
        yield Finding(problem, f"{at}.{field}", hint, rule=rule)


def label_key_refusals(template: Tree | None, kind: str, context: ValidationContext) -> Iterator[Finding]:
    """Yield the problems of a template's pods that arise only after label keys are merged into selectors."""
    if template is None:
        return
    spec, of_pod = template.get("spec", {}), context.of_pod(template.get("metadata", {}))
    for field, rule in _WITH_LABEL_KEYS:
        if field in spec:
            path = f"{pod_path(kind)}.spec.{field}"
            in_template = set(map(str, found_by(rule, spec[field], path, context)))
            for finding in found_by(rule, spec[field], path, of_pod):
                if str(finding) not in in_template:
                    yield replace(finding, hint=_repair_hint(kind), rule=FAILED_CREATE)


_WITH_LABEL_KEYS: Final = (("affinity", affinity), ("topologySpreadConstraints", topology_spread))


def in_workload(finding: Finding, kind: str) -> Finding:
    """Convert a finding about a workload's pod to one about the workload."""
    hint = "; ".join(part for part in (finding.hint, _repair_hint(kind)) if part)
    field = f"{pod_path(kind)}.{finding.field}" if finding.field else pod_path(kind)
    return replace(finding, field=field, hint=hint, rule=FAILED_CREATE)


def pod_path(kind: str) -> str:
    """Return the path of the pod template in an object of a kind; empty for a Pod itself."""
    match kind:
        case "Pod":
            return ""
        case "PodTemplate":
            return "template"
        case "CronJob":
            return "spec.jobTemplate.spec.template"
        case _:
            return "spec.template"


def _repair_hint(kind: str) -> str:
    return f"the {kind} itself is accepted: its pods are refused one by one ({FAILED_CREATE})"


def computed_priority(spec: Tree) -> int | None:
    """Return the priority that admission computes for a pod or group, or ``None`` if it depends on a cluster's classes.

    Without a class, the priority is that of a cluster without a default class.
    """
    name = spec.get("priorityClassName", "")
    known = next((system for system in SYSTEM_CLASSES if system.name == name), None)
    if known is not None:
        return known.value
    return None if name else 0


def _spec_problems(spec: Tree) -> Iterator[tuple[str, str]]:
    value = computed_priority(spec)
    if value is not None:
        priority, policy = spec.get("priority"), spec.get("preemptionPolicy")
        if priority is not None and priority != value:
            yield "priority", GIVEN_PRIORITY.format(priority, value)
        elif policy and policy != PREEMPT:
            yield "preemptionPolicy", GIVEN_POLICY.format(policy, PREEMPT)
    if spec.get("overhead") and not spec.get("runtimeClassName"):
        problem = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        yield "overhead", problem
