"""Validation of the workloads that keep pods running, such as ReplicaSets, and of their update strategies."""

from collections.abc import Callable
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.field_errors import Typed
from kschedctl.objects.names import label_problems, subdomain_problems
from kschedctl.objects.validation.metadata import annotations_given, object_metadata, with_labels
from kschedctl.objects.validation.persistent_volume import claim_spec
from kschedctl.objects.validation.placement import is_empty, label_selector, selector_in_message, selects
from kschedctl.objects.validation.pod import app_armor_agrees, pod_annotations, pod_spec, seccomp_agrees
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    at_most_all,
    in_go,
    int_or_percent,
    label_name,
    labels,
    not_negative,
    number_or_percent,
    one_of,
    sorted_labels,
)

_ROLLING: Final = "RollingUpdate"
_ON_DELETE: Final = "OnDelete"
_RECREATE: Final = "Recreate"
_NO_MATCH: Final = "`selector` does not match template `labels`"


def pod_template(template: Tree, path: str, context: ValidationContext) -> Found:
    """Yield the problems of a pod template."""
    metadata, spec = template.get("metadata", {}), template.get("spec", {})
    own = metadata.get("annotations", {})
    if "labels" in metadata:
        yield from labels(metadata["labels"], f"{path}.labels")
    if own:
        yield from annotations_given(own, f"{path}.annotations")
        yield from pod_annotations(own, spec, f"{path}.annotations", context)
    yield from pod_spec(spec, f"{path}.spec", context)
    yield from seccomp_agrees(own, spec, f"{path}.spec")
    yield from app_armor_agrees(own, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        problem = "ephemeral containers not allowed in pod template"
        yield field_errors.forbidden(f"{path}.spec.ephemeralContainers", problem)


def pod_template_object(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a PodTemplate."""
    yield from object_metadata(tree.get("metadata", {}), subdomain_problems, namespaced=True)
    yield from pod_template(tree.get("template", {}), "template", context)


def deployment(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a Deployment."""
    spec = tree.get("spec", {})
    yield from object_metadata(tree.get("metadata", {}), subdomain_problems, namespaced=True)
    yield from not_negative(spec.get("replicas"), "spec.replicas")
    yield from _selected_template(spec, "deployment", "ReplicaSet", "invalid label selector", context)
    yield from _deployment_strategy(spec.get("strategy", {}), "spec.strategy")
    minimum = spec.get("minReadySeconds", 0)
    yield from not_negative(minimum, "spec.minReadySeconds")
    yield from not_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds", 600)
    yield from not_negative(deadline, "spec.progressDeadlineSeconds")
    if deadline <= minimum:
        yield field_errors.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def replica_set(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a ReplicaSet."""
    spec = tree.get("spec", {})
    yield from object_metadata(tree.get("metadata", {}), subdomain_problems, namespaced=True)
    yield from not_negative(spec.get("replicas"), "spec.replicas")
    yield from not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from _selected_template(spec, "deployment", "ReplicaSet", "invalid label selector", context)


def replication_controller(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a ReplicationController."""
    spec = tree.get("spec", {})
    template = spec.get("template")
    own = (template or {}).get("metadata", {}).get("labels")
    selector = spec.get("selector") or own or {}
    metadata = with_labels(tree.get("metadata", {}), own)
    yield from object_metadata(metadata, subdomain_problems, namespaced=True, prefix_checked=False)
    yield from not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    if not selector:
        yield field_errors.required("spec.selector")
    yield from not_negative(spec.get("replicas"), "spec.replicas")
    if template is None:
        yield field_errors.required("spec.template")
        return
    if any((own or {}).get(key) != value for key, value in selector.items()):
        yield field_errors.invalid("spec.template.metadata.labels", sorted_labels(own), _NO_MATCH)
    yield from pod_template(template, "spec.template", context)
    yield from _runs_for_ever(template, "spec.template", "ReplicationController")


def daemon_set(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a DaemonSet."""
    spec = tree.get("spec", {})
    selector, template = spec.get("selector"), spec.get("template", {})
    own = template.get("metadata", {}).get("labels")
    yield from object_metadata(tree.get("metadata", {}), subdomain_problems, namespaced=True)
    yield from label_selector(selector, "spec.selector")
    if selects(selector, own or {}) is False:
        yield field_errors.invalid("spec.template.metadata.labels", sorted_labels(own), _NO_MATCH)
    if selector is not None and is_empty(selector):
        yield field_errors.invalid(
            "spec.selector", selector_in_message(selector), "empty selector is invalid for daemonset"
        )
    yield from pod_template(template, "spec.template", context)
    yield from _runs_for_ever(template, "spec.template", "DaemonSet")
    yield from not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from _daemon_set_strategy(spec.get("updateStrategy", {}), "spec.updateStrategy")
    yield from not_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")


def stateful_set(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a StatefulSet."""
    spec = tree.get("spec", {})
    yield from object_metadata(tree.get("metadata", {}), label_problems, namespaced=True)
    policy = spec.get("podManagementPolicy") or "OrderedReady"
    if policy not in ("OrderedReady", "Parallel"):
        yield field_errors.invalid("spec.podManagementPolicy", Typed(policy), "must be 'OrderedReady' or 'Parallel'")
    yield from _stateful_set_strategy(spec.get("updateStrategy", {}), "spec.updateStrategy", context)
    retention = spec.get("persistentVolumeClaimRetentionPolicy", {})
    for name in ("whenDeleted", "whenScaled"):
        at = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
        yield from one_of(retention.get(name) or "Retain", ("Retain", "Delete"), at)
    for i, claim in enumerate(spec.get("volumeClaimTemplates", ())):
        yield from claim_spec(claim.get("spec", {}), f"spec.volumeClaimTemplates[{i}].spec", context)
    yield from not_negative(spec.get("replicas"), "spec.replicas")
    yield from not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from not_negative(spec.get("ordinals", {}).get("start"), "spec.ordinals.start")
    if spec.get("serviceName"):
        yield from label_name(spec["serviceName"], "spec.serviceName")
    yield from _selected_template(spec, "statefulset", "StatefulSet", "", context, _of_stateful_set)


def _of_stateful_set(template: Tree, path: str, context: ValidationContext, spec: Tree) -> Found:
    """Yield the problems of a template with the fields that the controller sets; its metadata is checked twice."""
    claims = {claim.get("metadata", {}).get("name", "") for claim in spec.get("volumeClaimTemplates", ())}
    inner = {key: value for key, value in template.get("spec", {}).items() if key not in ("hostname", "subdomain")}
    if claims:
        # Upstream iterates over a map, so the order of these volumes is random there.
        added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in sorted(claims)]
        inner["volumes"] = [*added, *(v for v in inner.get("volumes", ()) if v.get("name", "") not in claims)]
    yield from pod_template({**template, "spec": inner}, path, context)
    metadata = template.get("metadata", {})
    own = metadata.get("annotations", {})
    yield from labels(metadata.get("labels", {}), f"{path}.labels")
    yield from annotations_given(own, f"{path}.annotations")
    yield from pod_annotations(own, inner, f"{path}.annotations", context)


def _check_plain_template(template: Tree, path: str, context: ValidationContext, spec: Tree) -> Found:
    return pod_template(template, path, context)


def _selected_template(
    spec: Tree,
    kind: str,
    maker: str,
    wrong: str,
    context: ValidationContext,
    rule: Callable[[Tree, str, ValidationContext, Tree], Found] = _check_plain_template,
) -> Found:
    """Yield the problems of a selector, which must not be empty, and of a template, which it must match."""
    selector, template = spec.get("selector"), spec.get("template", {})
    if selector is None:
        yield field_errors.required("spec.selector")
    else:
        yield from label_selector(selector, "spec.selector")
        if is_empty(selector):
            yield field_errors.invalid(
                "spec.selector", selector_in_message(selector), f"empty selector is invalid for {kind}"
            )
    own = template.get("metadata", {}).get("labels")
    holds = selects(selector, own or {})
    if holds is None:
        yield field_errors.invalid("spec.selector", selector_in_message(selector), wrong)
        if kind == "statefulset":
            yield from _runs_for_ever(template, "spec.template", maker)
        return
    # A missing selector matches nothing, which is reported; an empty selector is not matched.
    if not holds and (selector is None or not is_empty(selector)):
        yield field_errors.invalid("spec.template.metadata.labels", sorted_labels(own), _NO_MATCH)
    yield from rule(template, "spec.template", context, spec)
    yield from _runs_for_ever(template, "spec.template", maker)


def _runs_for_ever(template: Tree, path: str, maker: str) -> Found:
    spec = template.get("spec", {})
    yield from one_of(spec.get("restartPolicy") or "Always", ("Always",), f"{path}.spec.restartPolicy")
    if "activeDeadlineSeconds" in spec:
        problem = f"activeDeadlineSeconds in {maker} is not Supported"
        yield field_errors.forbidden(f"{path}.spec.activeDeadlineSeconds", problem)


def _deployment_strategy(strategy: Tree, path: str) -> Found:
    kind = strategy.get("type") or _ROLLING
    rolling = strategy.get("rollingUpdate", {})
    if kind == _RECREATE:
        if "rollingUpdate" in strategy:
            problem = f"may not be specified when strategy `type` is '{_RECREATE}'"
            yield field_errors.forbidden(f"{path}.rollingUpdate", problem)
        return
    if kind != _ROLLING:
        yield field_errors.unsupported(path, in_go("Strategy", {**strategy, "type": kind}), (_RECREATE, _ROLLING))
        return
    at = f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable", "25%"), rolling.get("maxSurge", "25%")
    yield from int_or_percent(unavailable, f"{at}.maxUnavailable")
    yield from int_or_percent(surge, f"{at}.maxSurge")
    if not number_or_percent(unavailable) and not number_or_percent(surge):
        yield field_errors.invalid(f"{at}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from at_most_all(unavailable, f"{at}.maxUnavailable")


def _daemon_set_strategy(strategy: Tree, path: str) -> Found:
    kind = strategy.get("type") or _ROLLING
    if kind == _ON_DELETE:
        return
    if kind != _ROLLING:
        yield field_errors.unsupported(path, in_go("Strategy", {**strategy, "type": kind}), (_ROLLING, _ON_DELETE))
        return
    rolling, at = strategy.get("rollingUpdate", {}), f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable", 1), rolling.get("maxSurge", 0)
    for rule in (int_or_percent, at_most_all):
        yield from rule(unavailable, f"{at}.maxUnavailable")
        yield from rule(surge, f"{at}.maxSurge")
    has_unavailable, has_surge = number_or_percent(unavailable) != 0, number_or_percent(surge) != 0
    if has_unavailable and has_surge:
        yield field_errors.invalid(f"{at}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    elif not has_unavailable and not has_surge:
        yield field_errors.required(f"{at}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def _stateful_set_strategy(strategy: Tree, path: str, context: ValidationContext) -> Found:
    kind = strategy.get("type") or _ROLLING
    rolling = strategy.get("rollingUpdate")
    gated = context.on("MaxUnavailableStatefulSet")
    shown = None
    if rolling is not None:
        rolling = {key: value for key, value in rolling.items() if gated or key != "maxUnavailable"}
        shown = in_go("RollingUpdateStatefulSetStrategy", rolling)
    if kind == _ON_DELETE:
        if rolling is not None:
            problem = f"only allowed for updateStrategy '{_ROLLING}'"
            yield field_errors.invalid(f"{path}.rollingUpdate", shown, problem)
        return
    if kind != _ROLLING:
        problem = f"must be '{_ROLLING}' or '{_ON_DELETE}'"
        yield field_errors.invalid(path, {"Type": kind, "RollingUpdate": shown}, problem)
        return
    if rolling is None:
        return
    at = f"{path}.rollingUpdate"
    yield from not_negative(rolling.get("partition"), f"{at}.partition")
    if "maxUnavailable" in rolling:
        most = rolling["maxUnavailable"]
        yield from int_or_percent(most, f"{at}.maxUnavailable")
        if not number_or_percent(most):
            yield field_errors.invalid(f"{at}.maxUnavailable", most, "cannot be 0")
        yield from at_most_all(most, f"{at}.maxUnavailable")
