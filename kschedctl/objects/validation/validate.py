"""The entry point of this package: the errors and warnings of an API server about a manifest and its pods.

Validation stops where an API server does: at a value that cannot be decoded, then at the fields of a Pod that
admission rejects, then after all errors of the object. Warnings are reported only for an accepted object.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from kschedctl.common.findings import Finding, Severity
from kschedctl.objects.names import path_segment_problems, qualified_name_problems, subdomain_problems
from kschedctl.objects.policies import SYSTEM_CLASSES
from kschedctl.objects.releases.release import Release
from kschedctl.objects.schema.schema import decode_object, is_known
from kschedctl.objects.validation.autoscaler import horizontal_pod_autoscaler, horizontal_pod_autoscaler_v1
from kschedctl.objects.validation.declared import declared
from kschedctl.objects.validation.jobs import cron_job, job
from kschedctl.objects.validation.metadata import object_metadata
from kschedctl.objects.validation.part import Part, found_by
from kschedctl.objects.validation.persistent_volume import persistent_volume, persistent_volume_claim
from kschedctl.objects.validation.placement import label_selector, selector_in_message
from kschedctl.objects.validation.pod import PREEMPTION_POLICIES, pod
from kschedctl.objects.validation.pod_group import (
    composite_pod_group,
    group_refusals,
    old_pod_group,
    old_workload,
    pod_group,
    workload,
)
from kschedctl.objects.validation.pod_rejections import FAILED_CREATE, label_key_refusals, pod_path, pod_refusals
from kschedctl.objects.validation.values import Tree, ValidationContext, at_most_all, in_go, int_or_percent
from kschedctl.objects.validation.warnings import warnings
from kschedctl.objects.validation.workloads import (
    daemon_set,
    deployment,
    pod_template_object,
    replica_set,
    replication_controller,
    stateful_set,
)

# Validation of PodDisruptionBudgets.


def pod_disruption_budget(tree: Part, context: ValidationContext) -> None:
    """Check a PodDisruptionBudget; its metadata is validated only as that of any kind."""
    spec = tree["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = in_go("PodDisruptionBudgetSpec", spec.value) | {"Selector": selector_in_message(spec["selector"].value)}
        spec.invalid("minAvailable and maxUnavailable cannot be both set", shown)
    for number in (spec["minAvailable"], spec["maxUnavailable"]):
        int_or_percent(number)
        at_most_all(number)
    label_selector(spec["selector"])
    spec["unhealthyPodEvictionPolicy"].one_of("AlwaysAllow", "IfHealthyBudget")


_SYSTEM: Final = "system-"
_HIGHEST: Final = 1_000_000_000


def priority_class(tree: Part, context: ValidationContext) -> None:
    """Check a PriorityClass."""
    name, value = tree["metadata"].at("name", ""), tree.at("value", 0)
    object_metadata(tree["metadata"], subdomain_problems, namespaced=False)
    if name.value.startswith(_SYSTEM):
        if problem := _system_problem(name.value, value.value, tree.get("globalDefault", False)):
            reserved = f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: "
            name.forbidden(f"{reserved}{problem}")
    elif value.value > _HIGHEST:
        value.forbidden(f"maximum allowed value of a user defined priority is {_HIGHEST}")
    if "preemptionPolicy" in tree:
        tree["preemptionPolicy"].require_one_of(*PREEMPTION_POLICIES)


def _system_problem(name: str, value: int, is_default: bool) -> str:
    known = next((system for system in SYSTEM_CLASSES if system.name == name), None)
    if known is None:
        return f"{name} is not a known system priority class"
    if known.value != value:
        return f"value of {name} PriorityClass must be {known.value}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


_MOST_PARAMETERS: Final = 512
_MOST_PARAMETER_BYTES: Final = 256 * 1024


def storage_class(tree: Part, context: ValidationContext) -> None:
    """Check a StorageClass."""
    parameters = tree["parameters"]
    given: dict[str, str] = parameters.value or {}
    object_metadata(tree["metadata"], subdomain_problems, namespaced=False)
    provisioner = tree.child("provisioner", tree.get("provisioner").lower())
    if provisioner or not context.rules.bounds_are_last:
        provisioner.require(rule=qualified_name_problems)
    if len(given) > _MOST_PARAMETERS:
        parameters.too_long(_MOST_PARAMETERS)
    else:
        if "" in given:
            parameters.invalid("field can not be empty.", "")
        size = sum(len(f"{key}{value}".encode(errors="replace")) for key, value in given.items())
        if size > _MOST_PARAMETER_BYTES:
            parameters.too_long(_MOST_PARAMETER_BYTES)
    tree["reclaimPolicy"].nonempty.one_of("Delete", "Retain")
    tree["volumeBindingMode"].one_of("Immediate", "WaitForFirstConsumer")
    _check_topologies(tree["allowedTopologies"])


def _check_topologies(terms: Part) -> None:
    known: list[dict[str, frozenset[str]]] = []
    for term in terms:
        own: dict[str, frozenset[str]] = {}
        for requirement in term["matchLabelExpressions"]:
            key, values = requirement.at("key", ""), requirement["values"]
            values.require()
            for i, value in enumerate(values):
                if value.value in values.value[:i]:
                    value.duplicate()
            key.check(qualified_name_problems)
            if key.value in own:
                key.duplicate()
            own[key.value] = frozenset(values.value or ())
        # Upstream's list of known terms begins with len(terms) empty ones; a term without expressions equals each.
        for _ in range((len(terms.value) if not own else 0) + known.count(own)):
            term["matchLabelExpressions"].duplicate("")
        known.append(own)


Rule: TypeAlias = Callable[[Part, ValidationContext], None]
#: The validation rule of each kind.
RULES: Final[Mapping[str, Rule]] = {
    "v1/Pod": pod,
    "v1/PodTemplate": pod_template_object,
    "v1/ReplicationController": replication_controller,
    "v1/PersistentVolume": persistent_volume,
    "v1/PersistentVolumeClaim": persistent_volume_claim,
    "apps/v1/Deployment": deployment,
    "apps/v1/ReplicaSet": replica_set,
    "apps/v1/StatefulSet": stateful_set,
    "apps/v1/DaemonSet": daemon_set,
    "batch/v1/Job": job,
    "batch/v1/CronJob": cron_job,
    "policy/v1/PodDisruptionBudget": pod_disruption_budget,
    "scheduling.k8s.io/v1/PriorityClass": priority_class,
    "scheduling.k8s.io/v1alpha2/PodGroup": old_pod_group,
    "scheduling.k8s.io/v1alpha2/Workload": old_workload,
    "scheduling.k8s.io/v1alpha3/PodGroup": pod_group("v1alpha3"),
    "scheduling.k8s.io/v1alpha3/Workload": workload("v1alpha3"),
    "scheduling.k8s.io/v1alpha3/CompositePodGroup": composite_pod_group("v1alpha3"),
    "scheduling.k8s.io/v1beta1/PodGroup": pod_group("v1beta1"),
    "scheduling.k8s.io/v1beta1/Workload": workload("v1beta1"),
    "scheduling.k8s.io/v1beta1/CompositePodGroup": composite_pod_group("v1beta1"),
    "autoscaling/v1/HorizontalPodAutoscaler": horizontal_pod_autoscaler_v1,
    "autoscaling/v2/HorizontalPodAutoscaler": horizontal_pod_autoscaler,
    "storage.k8s.io/v1/StorageClass": storage_class,
}
_POD: Final = "v1/Pod"
_GROUPS: Final = "scheduling.k8s.io/"
#: The kinds whose pod template is not in ``spec.template``.
_OF_CRON_JOBS: Final = "batch/v1/CronJob"
_OF_TEMPLATES: Final = "v1/PodTemplate"


def validate(
    api_version: str, kind: str, obj: Mapping[str, Any], release: Release, *, admission: bool = True
) -> Iterator[Finding]:
    """Yield the findings of an API server when an object is created.

    Args:
        api_version, kind: The object's version and kind; for kinds that are not in ``RULES``, only decoding errors
            are found.
        obj: The object as written: a manifest as plain data. It is not modified.
        admission: True to include rejections by admission that do not depend on a cluster's classes; with a
            cluster, ``kschedctl.controllers.admission`` finds more.

    Yields: A finding with the API server's message, in its order. Errors with the rule ``FAILED_CREATE`` are about
        the pods of a workload that is itself accepted; errors with any other rule mean that the object is rejected.
        Warnings are reported only for an accepted object.

    >>> from kschedctl.objects.releases.release import LATEST
    >>> spec = {"minAvailable": "110%"}
    >>> budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": spec}
    >>> print(*validate("policy/v1", "PodDisruptionBudget", budget, LATEST))
    spec.minAvailable: Invalid value: "110%": must not be greater than 100%
    """
    if not is_known(api_version, kind):
        return
    tree, unreadable = decode_object(obj, api_version, kind)
    if unreadable is not None:
        yield unreadable
        return
    yield from validate_decoded(api_version, kind, tree, release, admission=admission)


def validate_decoded(
    api_version: str, kind: str, tree: Tree, release: Release, *, admission: bool = True
) -> Iterator[Finding]:
    """Yield the findings of an API server about a decoded object, as ``validate`` does.

    Args:
        tree: The object as decoded by ``kschedctl.objects.schema.schema.decoded``. Defaults are filled in place.
    """
    key = f"{api_version}/{kind}"
    rule = RULES.get(key)
    if rule is None:
        return
    context = ValidationContext(release)
    # Admission precedes validation, so a Pod or a group that admission rejects has no other findings.
    template = _template(tree, key)
    refusals = list(pod_refusals(template, pod_path(kind), kind)) if admission else []
    if key.startswith(_GROUPS):
        of_group = list(group_refusals(tree, kind, context))
        refusals += of_group if admission else []
    if refusals and (key == _POD or key.startswith(_GROUPS)):
        yield from refusals
        return
    found = found_by(rule, tree, "", context) + found_by(declared, tree, "", key, context)
    if not found:
        # The checks common to all kinds, where a kind's own rule is not stricter.
        part = Part(tree)
        object_metadata(part["metadata"], path_segment_problems, namespaced=True, known_finalizers=False)
        found = part.findings
    yield from found
    yield from refusals
    if key != _POD:
        yield from label_key_refusals(template, kind, context)
    if not found:
        yield from found_by(warnings, tree, "", key, pod_path(kind))


def refuses(finding: Finding) -> bool:
    """Report whether a finding means that the object itself is rejected, not only its pods."""
    return finding.severity is Severity.ERROR and finding.rule != FAILED_CREATE


def _template(tree: Tree, key: str) -> Tree | None:
    """Return the pod template of an object, the object itself if it is a Pod, or ``None`` if there is no template."""
    if key == _POD:
        return tree
    holder: Tree = tree if key == _OF_TEMPLATES else tree.get("spec", {})
    if key == _OF_CRON_JOBS:
        holder = holder.get("jobTemplate", {}).get("spec", {})
    template = holder.get("template")
    return template if isinstance(template, dict) else None
