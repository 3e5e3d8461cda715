"""Validation of HorizontalPodAutoscalers."""

from typing import Final

from kschedctl.objects.names import label_problems, path_segment_problems, subdomain_problems
from kschedctl.objects.quantity import Amount
from kschedctl.objects.validation.metadata import object_metadata
from kschedctl.objects.validation.part import NOT_NEGATIVE, NOT_POSITIVE, Part
from kschedctl.objects.validation.resources import container_resource_problems
from kschedctl.objects.validation.values import ValidationContext

_LONGEST_WINDOW: Final = 3600
_LONGEST_PERIOD: Final = 1800
_METRICS: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_FIELDS: Final = ("object", "external", "pods", "resource", "containerResource")
_FIELD_OF: Final = {f"{name[:1].upper()}{name[1:]}": name for name in _FIELDS}


def horizontal_pod_autoscaler(tree: Part, context: ValidationContext) -> None:
    """Check a HorizontalPodAutoscaler of autoscaling/v2."""
    spec = tree["spec"]
    to_zero = context.on("HPAScaleToZero")
    object_metadata(tree["metadata"], subdomain_problems, namespaced=True)
    bounds_last = context.rules.bounds_are_last
    if not bounds_last:
        _check_bounds(spec, to_zero, "must be set and greater than 0")
    lowest, highest = spec.get("minReplicas", 1), spec.at("maxReplicas", 0)
    if highest.value < lowest:
        highest.invalid("must be greater than or equal to `minReplicas`")
    target = spec["scaleTargetRef"]
    # ReplicationController is the only kind without an API group that can be scaled.
    needed_last = context.rules.more_is_declared
    _check_reference(target, core=target.get("kind") == "ReplicationController", needed_last=needed_last)
    for metric in spec["metrics"]:
        _check_metric(metric)
    if lowest == 0 and not {metric.get("type") for metric in spec["metrics"]} & {"Object", "External"}:
        problem = "must specify at least one Object or External metric to support scaling to zero replicas"
        spec["metrics"].forbidden(problem)
    for rules in (spec["behavior"]["scaleUp"], spec["behavior"]["scaleDown"]):
        _check_scaling(rules)
    if needed_last:
        for name in _NEEDED:
            target[name].require()
    if bounds_last:
        _check_bounds(spec, to_zero, "")


def horizontal_pod_autoscaler_v1(tree: Part, context: ValidationContext) -> None:
    """Check a HorizontalPodAutoscaler of autoscaling/v1, whose only metric is cpu."""
    spec = dict(tree.get("spec", {}))
    target = {"type": "Utilization", "averageUtilization": spec.pop("targetCPUUtilizationPercentage", 80)}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    horizontal_pod_autoscaler(tree.with_value({**tree.value, "spec": {**spec, "metrics": metrics}}), context)


def _check_bounds(spec: Part, to_zero: bool, missing: str) -> None:
    lowest, highest = spec.at("minReplicas", 1), spec["maxReplicas"]
    bound = 0 if to_zero else 1
    if lowest.value < bound:
        lowest.invalid(f"must be greater than or equal to {bound}")
    highest.require(missing)
    if highest and highest.value < 0:
        highest.invalid("must be greater than or equal to 1")


#: The fields that a reference must have.
_NEEDED: Final = ("kind", "name")


def _check_reference(reference: Part, *, core: bool, needed_last: bool = False) -> None:
    for name in (reference.at(name, "") for name in _NEEDED):
        if not needed_last:
            name.require()
        name.check(path_segment_problems)
    version = reference.at("apiVersion", "")
    if version.value.count("/") > 1:
        version.invalid(f"unexpected GroupVersion string: {version.value}")
    elif not core and not version.value.rpartition("/")[0]:
        version.invalid("apiVersion must specify API group")


def _check_scaling(rules: Part) -> None:
    window = rules.at("stabilizationWindowSeconds", 0)
    if window.value < 0:
        window.invalid("must be greater than or equal to zero")
    if window.value > _LONGEST_WINDOW:
        window.invalid(f"must be less than or equal to {_LONGEST_WINDOW}")
    rules["selectPolicy"].one_of("Disabled", "Max", "Min")
    if "policies" in rules:
        rules["policies"].require("must specify at least one Policy")
    for policy in rules["policies"]:
        policy.at("type", "").one_of("Percent", "Pods")
        period = policy.at("periodSeconds", 0)
        for number in (policy.at("value", 0), period):
            if number.value <= 0:
                number.invalid(NOT_POSITIVE)
        if period.value > _LONGEST_PERIOD:
            period.invalid(f"must be less than or equal to {_LONGEST_PERIOD}")
    if "tolerance" in rules and (amount := Amount.parse(rules.get("tolerance"))).nanos < 0:
        rules["tolerance"].invalid(NOT_NEGATIVE, str(amount))


def _check_metric(metric: Part) -> None:
    kind = metric.at("type", "")
    kind.require("must specify a metric source type")
    kind.one_of(*_METRICS)
    present = [name for name in _FIELDS if name in metric]
    if present:
        _check_metric_source(present[0], metric[present[0]])
    expected = _FIELD_OF.get(kind.value)
    if expected is None:
        kind.one_of(*_METRICS)
    elif expected not in metric:
        metric[expected].required("must populate information for the given metric source")
    for name in present if len(present) != 1 else ():
        if name != expected:
            metric[name].forbidden("must populate the given metric source only")


def _check_metric_source(kind: str, source: Part) -> None:
    if kind == "object":
        _check_reference(source["describedObject"], core=True)
    if kind in ("object", "external", "pods"):
        name = source["metric"].at("name", "")
        name.require("must specify a metric name")
        name.check(path_segment_problems)
    else:
        source["name"].require("must specify a resource name")
    if kind == "containerResource":
        source["name"].nonempty.typed.check(container_resource_problems)
        source["container"].require("must specify a container", label_problems)
    target = source["target"]
    form = target.at("type", "")
    form.require("must specify a metric target type")
    if form.value not in ("Utilization", "Value", "AverageValue"):
        form.typed.invalid("must be either Utilization, Value, or AverageValue")
    for part in (target["value"], target["averageValue"]):
        if part.given and (amount := Amount.parse(part.value)).nanos <= 0:
            part.invalid("must be positive", str(amount))
    if target.get("averageUtilization", 1) < 1:
        target["averageUtilization"].invalid("must be greater than 0")
    _check_amounts(kind, target["value"], target["averageValue"], target["averageUtilization"])


def _check_amounts(kind: str, value: Part, average: Part, share: Part) -> None:
    """Check that no amount in a metric's target is missing, and that they do not conflict."""
    if kind in ("object", "external"):
        if not value.given and not average.given:
            whose = "or averageValue" if kind == "object" else "for metric or a per-pod target"
            average.required(f"must set either a target value {whose}")
        if kind == "external" and value.given and average.given:
            value.forbidden("may not set both a target value for metric and a per-pod target")
    elif kind == "pods":
        if not average.given:
            average.required("must specify a positive target averageValue")
    elif not share.given and not average.given:
        share.required("must set either a target raw value or a target utilization")
    elif share.given and average.given:
        average.forbidden("may not set both a target raw value and a target utilization")
