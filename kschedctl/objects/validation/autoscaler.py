"""Validation of HorizontalPodAutoscalers."""

from typing import Any, Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import path_segment_problems, subdomain_problems
from kschedctl.objects.quantity import Amount
from kschedctl.objects.validation.metadata import object_metadata
from kschedctl.objects.validation.resources import container_resource_name
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    invalid_findings,
    label_name,
    not_negative_amount,
    one_of,
    require,
)

_LONGEST_WINDOW: Final = 3600
_LONGEST_PERIOD: Final = 1800
_METRICS: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_FIELDS: Final = ("object", "external", "pods", "resource", "containerResource")
_TARGETS: Final = ("Utilization", "Value", "AverageValue")
_FIELD_OF: Final = {f"{name[:1].upper()}{name[1:]}": name for name in _FIELDS}


def horizontal_pod_autoscaler(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a HorizontalPodAutoscaler of autoscaling/v2."""
    spec = tree.get("spec", {})
    to_zero = context.on("HPAScaleToZero")
    yield from object_metadata(tree.get("metadata", {}), subdomain_problems, namespaced=True)
    bounds_last = context.rules.autoscaler_bounds_are_last
    if not bounds_last:
        yield from _bounds(spec, to_zero, "must be set and greater than 0")
    lowest, highest = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if highest < lowest:
        yield field_errors.invalid("spec.maxReplicas", highest, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef", {})
    # ReplicationController is the only kind without an API group that can be scaled.
    yield from _reference(target, "spec.scaleTargetRef", core=target.get("kind") == "ReplicationController")
    metrics = spec.get("metrics", ())
    for i, metric in enumerate(metrics):
        yield from _metric(metric, f"spec.metrics[{i}]")
    kinds = {metric.get("type", "") for metric in metrics}
    if lowest == 0 and not kinds & {"Object", "External"}:
        problem = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield field_errors.forbidden("spec.metrics", problem)
    for name in ("scaleUp", "scaleDown"):
        rules = spec.get("behavior", {}).get(name)
        if rules is not None:
            path = f"spec.behavior.{name}"
            window = rules.get("stabilizationWindowSeconds")
            at = f"{path}.stabilizationWindowSeconds"
            if window is not None and window < 0:
                yield field_errors.invalid(at, window, "must be greater than or equal to zero")
            if window is not None and window > _LONGEST_WINDOW:
                yield field_errors.invalid(at, window, f"must be less than or equal to {_LONGEST_WINDOW}")
            if "selectPolicy" in rules:
                yield from one_of(rules["selectPolicy"], ("Disabled", "Max", "Min"), f"{path}.selectPolicy")
            if "policies" in rules:
                yield from require(rules["policies"], f"{path}.policies", "must specify at least one Policy")
            for i, policy in enumerate(rules.get("policies", ())):
                yield from _policy(policy, f"{path}.policies[{i}]")
            if "tolerance" in rules:
                yield from not_negative_amount(rules["tolerance"], f"{path}.tolerance")
    if bounds_last:
        yield from _bounds(spec, to_zero, "")


def horizontal_pod_autoscaler_v1(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a HorizontalPodAutoscaler of autoscaling/v1, whose only metric is cpu."""
    spec = dict(tree.get("spec", {}))
    target = {"type": "Utilization", "averageUtilization": spec.pop("targetCPUUtilizationPercentage", 80)}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    yield from horizontal_pod_autoscaler({**tree, "spec": {**spec, "metrics": metrics}}, context)


def _bounds(spec: Tree, to_zero: bool, missing: str) -> Found:
    lowest, highest = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    bound = 0 if to_zero else 1
    if lowest < bound:
        yield field_errors.invalid("spec.minReplicas", lowest, f"must be greater than or equal to {bound}")
    if not highest:
        yield field_errors.required("spec.maxReplicas", missing)
    elif highest < 0:
        yield field_errors.invalid("spec.maxReplicas", highest, "must be greater than or equal to 1")


def _reference(reference: Tree, path: str, *, core: bool) -> Found:
    for name in ("kind", "name"):
        value = reference.get(name, "")
        yield from require(value, f"{path}.{name}")
        yield from invalid_findings(path_segment_problems(value), value, f"{path}.{name}")
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        problem = f"unexpected GroupVersion string: {version}"
        yield field_errors.invalid(f"{path}.apiVersion", version, problem)
    elif not core and not version.rpartition("/")[0]:
        yield field_errors.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _policy(policy: Tree, path: str) -> Found:
    value, period = policy.get("value", 0), policy.get("periodSeconds", 0)
    yield from one_of(policy.get("type", ""), ("Percent", "Pods"), f"{path}.type")
    if value <= 0:
        yield field_errors.invalid(f"{path}.value", value, "must be greater than zero")
    if period <= 0:
        yield field_errors.invalid(f"{path}.periodSeconds", period, "must be greater than zero")
    if period > _LONGEST_PERIOD:
        problem = f"must be less than or equal to {_LONGEST_PERIOD}"
        yield field_errors.invalid(f"{path}.periodSeconds", period, problem)


def _metric(metric: Tree, path: str) -> Found:
    kind = metric.get("type", "")
    yield from require(kind, f"{path}.type", "must specify a metric source type")
    yield from one_of(kind, _METRICS, f"{path}.type")
    present = [name for name in _FIELDS if name in metric]
    if present:
        yield from _check_metric_source(present[0], metric[present[0]], f"{path}.{present[0]}")
    expected = _FIELD_OF.get(kind)
    if expected is None:
        yield from one_of(kind, _METRICS, f"{path}.type")
    elif expected not in metric:
        problem = "must populate information for the given metric source"
        yield field_errors.required(f"{path}.{expected}", problem)
    if len(present) != 1:
        for name in present:
            if name != expected:
                yield field_errors.forbidden(f"{path}.{name}", "must populate the given metric source only")


def _check_metric_source(name: str, source: Tree, path: str) -> Found:
    target: dict[str, Any] = source.get("target", {})
    at = f"{path}.target"
    if name == "object":
        yield from _reference(source.get("describedObject", {}), f"{path}.describedObject", core=True)
    if name in ("object", "external", "pods"):
        yield from _identifier(source.get("metric", {}).get("name", ""), f"{path}.metric.name")
    else:
        yield from _resource(name, source, path)
    yield from _target(target, at)
    yield from _check_amounts(name, target.keys(), at)


def _identifier(name: str, path: str) -> Found:
    yield from require(name, path, "must specify a metric name")
    yield from invalid_findings(path_segment_problems(name), name, path)


def _resource(name: str, source: Tree, path: str) -> Found:
    resource, container = source.get("name", ""), source.get("container", "")
    yield from require(resource, f"{path}.name", "must specify a resource name")
    if name != "containerResource":
        return
    if resource:
        yield from container_resource_name(resource, f"{path}.name")
    yield from require(container, f"{path}.container", "must specify a container")
    if container:
        yield from label_name(container, f"{path}.container")


def _check_amounts(name: str, target: Any, path: str) -> Found:
    """Yield the problems of missing or conflicting amounts in a metric's target."""
    value, average, share = ("value" in target, "averageValue" in target, "averageUtilization" in target)
    if name in ("object", "external"):
        whose = "averageValue" if name == "object" else "for metric or a per-pod target"
        if not value and not average:
            problem = f"must set either a target value {'or ' if name == 'object' else ''}{whose}"
            yield field_errors.required(f"{path}.averageValue", problem)
        if name == "external" and value and average:
            problem = "may not set both a target value for metric and a per-pod target"
            yield field_errors.forbidden(f"{path}.value", problem)
    elif name == "pods":
        if not average:
            yield field_errors.required(f"{path}.averageValue", "must specify a positive target averageValue")
    elif not share and not average:
        problem = "must set either a target raw value or a target utilization"
        yield field_errors.required(f"{path}.averageUtilization", problem)
    elif share and average:
        problem = "may not set both a target raw value and a target utilization"
        yield field_errors.forbidden(f"{path}.averageValue", problem)


def _target(target: Tree, path: str) -> Found:
    kind = target.get("type", "")
    yield from require(kind, f"{path}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        yield field_errors.invalid(
            f"{path}.type", field_errors.Typed(kind), "must be either Utilization, Value, or AverageValue"
        )
    for name in ("value", "averageValue"):
        if name in target:
            amount = Amount.parse(target[name])
            if amount.nanos <= 0:
                yield field_errors.invalid(f"{path}.{name}", str(amount), "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield field_errors.invalid(f"{path}.averageUtilization", share, "must be greater than 0")
