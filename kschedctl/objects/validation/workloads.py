"""Validation of the workloads that keep pods running, such as ReplicaSets, and of their update strategies."""

from collections.abc import Callable
from typing import Final

from kschedctl.objects.names import label_problems, subdomain_problems
from kschedctl.objects.validation.metadata import annotations_given, no_problems, object_metadata, with_labels
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.persistent_volume import claim_spec
from kschedctl.objects.validation.placement import is_empty, label_selector, selector_in_message, selects
from kschedctl.objects.validation.pod import pod_annotations, pod_spec, profiles_agree
from kschedctl.objects.validation.values import (
    ValidationContext,
    at_most_all,
    in_go,
    int_or_percent,
    labels,
    number_or_percent,
    sorted_labels,
)

_ROLLING: Final = "RollingUpdate"
_ON_DELETE: Final = "OnDelete"
_RECREATE: Final = "Recreate"
_RECREATE_GATE: Final = "StatefulSetRecreateStrategy"
_STATEFUL_SET: Final = "statefulset"


def pod_template(template: Part, context: ValidationContext) -> None:
    """Check a pod template."""
    metadata, spec = template["metadata"], template.at("spec", {})
    own = metadata.get("annotations", {})
    annotations = template.child("annotations", own)
    labels(template.child("labels", metadata["labels"].value))
    annotations_given(annotations)
    pod_annotations(annotations, spec, context)
    pod_spec(spec, context)
    profiles_agree(own, spec)
    if spec["ephemeralContainers"]:
        spec["ephemeralContainers"].forbidden("ephemeral containers not allowed in pod template")


def pod_template_object(tree: Part, context: ValidationContext) -> None:
    """Check a PodTemplate."""
    object_metadata(tree["metadata"], subdomain_problems, namespaced=True)
    pod_template(tree["template"], context)


def deployment(tree: Part, context: ValidationContext) -> None:
    """Check a Deployment."""
    spec = tree["spec"]
    object_metadata(tree["metadata"], subdomain_problems, namespaced=True)
    spec["replicas"].not_negative()
    _check_selected_template(spec, "deployment", "ReplicaSet", "invalid label selector", context)
    _check_deployment_strategy(spec["strategy"])
    spec["minReadySeconds"].not_negative()
    spec["revisionHistoryLimit"].not_negative()
    deadline = spec.at("progressDeadlineSeconds", 600)
    deadline.not_negative()
    if deadline.value <= spec.get("minReadySeconds", 0):
        deadline.invalid("must be greater than minReadySeconds")


def replica_set(tree: Part, context: ValidationContext) -> None:
    """Check a ReplicaSet."""
    spec = tree["spec"]
    object_metadata(tree["metadata"], subdomain_problems, namespaced=True)
    spec["replicas"].not_negative()
    spec["minReadySeconds"].not_negative()
    _check_selected_template(spec, "deployment", "ReplicaSet", "invalid label selector", context)


def replication_controller(tree: Part, context: ValidationContext) -> None:
    """Check a ReplicationController."""
    spec = tree["spec"]
    template = spec["template"]
    own = template["metadata"]["labels"].value
    selector = spec.get("selector") or own or {}
    metadata = tree.child("metadata", with_labels(tree.get("metadata", {}), own))
    later = context.rules.bounds_are_last
    name_rule = no_problems if later else subdomain_problems
    object_metadata(metadata, name_rule, namespaced=True, prefix_checked=False)
    if not later:
        spec["minReadySeconds"].not_negative()
    spec.child("selector", selector).require()
    if not later:
        spec["replicas"].not_negative()
    if not template.given:
        template.required()
        return
    if any((own or {}).get(key) != value for key, value in selector.items()):
        _report_mismatch(template)
    pod_template(template, context)
    _check_runs_for_ever(template, "ReplicationController")


def daemon_set(tree: Part, context: ValidationContext) -> None:
    """Check a DaemonSet."""
    spec = tree["spec"]
    selector, template = spec["selector"], spec["template"]
    object_metadata(tree["metadata"], subdomain_problems, namespaced=True)
    label_selector(selector)
    if selects(selector.value, template["metadata"].get("labels", {})) is False:
        _report_mismatch(template)
    if selector.given and is_empty(selector.value):
        selector.invalid("empty selector is invalid for daemonset", selector_in_message(selector.value))
    pod_template(template, context)
    _check_runs_for_ever(template, "DaemonSet")
    spec["minReadySeconds"].not_negative()
    _check_daemon_set_strategy(spec["updateStrategy"])
    spec["revisionHistoryLimit"].not_negative()


def stateful_set(tree: Part, context: ValidationContext) -> None:
    """Check a StatefulSet."""
    spec = tree["spec"]
    object_metadata(tree["metadata"], label_problems, namespaced=True)
    policy = spec["podManagementPolicy"].nonempty
    if policy.value not in (None, "OrderedReady", "Parallel"):
        policy.typed.invalid("must be 'OrderedReady' or 'Parallel'")
    _check_stateful_set_strategy(spec["updateStrategy"], context)
    for name in ("whenDeleted", "whenScaled"):
        spec["persistentVolumeClaimRetentionPolicy"][name].nonempty.one_of("Retain", "Delete")
    for claim in spec["volumeClaimTemplates"]:
        claim_spec(claim["spec"], context)
    for number in (spec["replicas"], spec["minReadySeconds"], spec["ordinals"]["start"]):
        number.not_negative()
    spec["serviceName"].nonempty.check(label_problems)
    _check_selected_template(spec, _STATEFUL_SET, "StatefulSet", "", context, _check_template_of_stateful_set)


def _check_template_of_stateful_set(template: Part, context: ValidationContext, spec: Part) -> None:
    """Check a template with the fields that the controller sets; its metadata is checked twice."""
    claims = {claim["metadata"].get("name") for claim in spec["volumeClaimTemplates"]}
    inner = {key: value for key, value in template.get("spec", {}).items() if key not in ("hostname", "subdomain")}
    if claims:
        # Upstream iterates over a map, so the order of these volumes is random there.
        added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(claims)]
        inner["volumes"] = [*added, *(v for v in inner.get("volumes", ()) if v.get("name", "") not in claims)]
    template = template.with_value({**(template.value or {}), "spec": inner})
    pod_template(template, context)
    annotations = template.child("annotations", template["metadata"].get("annotations", {}))
    labels(template.child("labels", template["metadata"]["labels"].value))
    annotations_given(annotations)
    pod_annotations(annotations, template["spec"], context)


def _check_selected_template(
    spec: Part,
    kind: str,
    maker: str,
    wrong: str,
    context: ValidationContext,
    rule: Callable[[Part, ValidationContext, Part], None] = lambda template, context, _: pod_template(
        template, context
    ),
) -> None:
    """Check a selector, which must not be empty, and a template, which it must match."""
    selector, template = spec["selector"], spec["template"]
    shown, empty = selector_in_message(selector.value), selector.given and is_empty(selector.value)
    if not selector.given and not (kind == _STATEFUL_SET and context.rules.more_is_declared):
        selector.required()
    label_selector(selector)
    if empty:
        selector.invalid(f"empty selector is invalid for {kind}", shown)
    holds = selects(selector.value, template["metadata"].get("labels", {}))
    if holds is None:
        selector.invalid(wrong, shown)
    elif not holds and not empty:
        # A missing selector matches nothing, which is reported; an empty selector is not matched.
        _report_mismatch(template)
    if holds is not None:
        rule(template, context, spec)
    if holds is not None or kind == _STATEFUL_SET:
        _check_runs_for_ever(template, maker)


def _report_mismatch(template: Part) -> None:
    at = template["metadata"]["labels"]
    at.invalid("`selector` does not match template `labels`", sorted_labels(at.value))


def _check_runs_for_ever(template: Part, maker: str) -> None:
    spec = template["spec"]
    spec["restartPolicy"].nonempty.one_of("Always")
    if "activeDeadlineSeconds" in spec:
        spec["activeDeadlineSeconds"].forbidden(f"activeDeadlineSeconds in {maker} is not Supported")


def _check_deployment_strategy(strategy: Part) -> None:
    kind, rolling = strategy.get("type") or _ROLLING, strategy["rollingUpdate"]
    if kind == _RECREATE:
        if rolling.given:
            rolling.forbidden(f"may not be specified when strategy `type` is '{_RECREATE}'")
    elif kind != _ROLLING:
        strategy.unsupported((_RECREATE, _ROLLING), in_go("Strategy", {**strategy.value, "type": kind}))
    else:
        unavailable, surge = rolling.at("maxUnavailable", "25%"), rolling.at("maxSurge", "25%")
        int_or_percent(unavailable)
        int_or_percent(surge)
        if not number_or_percent(unavailable.value) and not number_or_percent(surge.value):
            unavailable.invalid("may not be 0 when `maxSurge` is 0")
        at_most_all(unavailable)


def _check_daemon_set_strategy(strategy: Part) -> None:
    kind, rolling = strategy.get("type") or _ROLLING, strategy["rollingUpdate"]
    if kind == _ROLLING:
        unavailable, surge = rolling.at("maxUnavailable", 1), rolling.at("maxSurge", 0)
        for rule in (int_or_percent, at_most_all):
            rule(unavailable)
            rule(surge)
        has_unavailable, has_surge = number_or_percent(unavailable.value) != 0, number_or_percent(surge.value) != 0
        if has_unavailable and has_surge:
            surge.invalid("may not be set when maxUnavailable is non-zero")
        elif not has_unavailable and not has_surge:
            unavailable.required("cannot be 0 when maxSurge is 0")
    elif kind != _ON_DELETE:
        strategy.unsupported((_ROLLING, _ON_DELETE), in_go("Strategy", {**strategy.value, "type": kind}))


def _check_stateful_set_strategy(strategy: Part, context: ValidationContext) -> None:
    kind, rolling = strategy.get("type") or _ROLLING, strategy["rollingUpdate"]
    shown = None
    if rolling.given:
        gated = context.on("MaxUnavailableStatefulSet")
        rolling = rolling.with_value({k: v for k, v in rolling.value.items() if gated or k != "maxUnavailable"})
        shown = in_go("RollingUpdateStatefulSetStrategy", rolling.value)
    if kind == _ROLLING:
        unavailable = rolling["maxUnavailable"]
        rolling["partition"].not_negative()
        int_or_percent(unavailable)
        if unavailable.given and not number_or_percent(unavailable.value):
            unavailable.invalid("cannot be 0")
        at_most_all(unavailable)
    elif kind != _ON_DELETE and not (kind == _RECREATE and context.on(_RECREATE_GATE)):
        choice = f"'{_ROLLING}' or '{_ON_DELETE}'"
        if context.on(_RECREATE_GATE):
            choice = f"'{_ROLLING}', '{_ON_DELETE}', or '{_RECREATE}'"
        strategy.invalid(f"must be {choice}", {"Type": kind, "RollingUpdate": shown})
    elif rolling.given:
        rolling.invalid(f"only allowed for updateStrategy '{_ROLLING}'", shown)
