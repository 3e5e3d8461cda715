"""Validation of the environment variables of containers, and of references to fields of the pod."""

from typing import Final

from kschedctl.objects.names import (
    config_key_problems,
    env_var_problems,
    label_problems,
    qualified_name_problems,
    subdomain_problems,
)
from kschedctl.objects.quantity import Amount
from kschedctl.objects.validation.part import Part
from kschedctl.objects.validation.values import ValidationContext, without_backsteps

_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
#: The fields that files of a downward API volume can contain.
VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS: Final = frozenset(
    {*_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
)
_RESOURCES: Final = tuple(
    f"{prefix}.{name}" for prefix in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES: Final = ("requests.hugepages-", "limits.hugepages-")
_CPU_DIVISORS: Final = ("1m", "1")
_BYTE_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def environment(variables: Part, context: ValidationContext) -> None:
    """Check environment variables."""
    for variable in variables:
        name = variable["name"]
        name.require()
        name.nonempty.check(env_var_problems, relaxed=context.on("RelaxedEnvironmentVariableValidation"))
        if "valueFrom" in variable:
            _check_source(variable, variable["valueFrom"], context)


def _check_source(variable: Part, source: Part, context: ValidationContext) -> None:
    names = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef"]
    if context.on("EnvFiles"):
        names.append("fileKeyRef")
    given = [source[name] for name in names if name in source]
    if "fieldRef" in source:
        object_field(source["fieldRef"], _FIELDS)
    if "resourceFieldRef" in source:
        resource_field(source["resourceFieldRef"], of_volume=False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in source:
            source[name].at("name", "").check(subdomain_problems)
            source[name]["key"].require(rule=config_key_problems)
    if "fileKeyRef" in source and "fileKeyRef" in names:
        reference = source["fileKeyRef"]
        reference["key"].require()
        reference["key"].nonempty.check(env_var_problems, relaxed=True)
        reference["volumeName"].require(rule=label_problems)
        reference["path"].require()
        without_backsteps(reference["path"])
    if not given:
        listed = f"{', '.join(f'`{name}`' for name in names[:-1])} or `{names[-1]}`"
        source.invalid(f"must specify one of: {listed}", "")
    elif variable["value"]:
        source.invalid("may not be specified when `value` is not empty", "")
    elif len(given) > 1:
        source.invalid("may not have more than one field specified at a time", "")


def object_field(reference: Part, fields: tuple[str, ...]) -> None:
    """Check a reference to a field of the pod."""
    version, at = reference.get("apiVersion") or "v1", reference["fieldPath"]
    if not at:
        at.required()
        return
    field = at.value
    name, bracket, key = field.removesuffix("']").partition("['")
    subscripted = bool(field.endswith("']") and bracket and name)
    error = ""
    if version != "v1":
        error = f"unsupported pod version: {version}"
    elif subscripted and name not in ("metadata.annotations", "metadata.labels"):
        error = f"field label does not support subscript: {field}"
    elif not subscripted and field not in _KNOWN_FIELDS:
        error = f"field label not supported: {field}"
    if error:
        at.invalid(f"error converting fieldPath: {error}")
    elif subscripted:
        key = key.lower() if name == "metadata.annotations" else key
        reference.with_value(key).check(qualified_name_problems)
    else:
        field = "spec.nodeName" if field == "spec.host" else field
        if field not in fields:
            at.unsupported(fields, field, plain=True)


def resource_field(reference: Part, *, of_volume: bool) -> None:
    """Check a reference to a resource of a container.

    Args:
        of_volume: True for a file of a volume, which must name the container; False for an environment variable.
    """
    at = reference.at("resource", "")
    resource = at.value
    known = resource in _RESOURCES or resource.startswith(_HUGE_PAGES)
    if of_volume and not reference["containerName"]:
        reference["containerName"].required()
    elif not resource:
        at.required()
    elif not known:
        at.unsupported(_RESOURCES, plain=True)
    divisor = Amount.parse(reference.get("divisor", "0"))
    name = resource.partition(".")[2]
    divisors = _CPU_DIVISORS if name == "cpu" else _BYTE_DIVISORS
    if not divisor.nanos or not known or str(divisor) in divisors:
        return
    what = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(name, "hugepages")
    problem = f"only divisor's values {', '.join(divisors)} are supported with the {what} resource"
    if name == "cpu":
        problem = "only divisor's values 1m and 1 are supported with the cpu resource"
    reference["divisor"].invalid(problem, resource)


def environment_from(sources: Part, context: ValidationContext) -> None:
    """Check references to ConfigMaps and Secrets whose keys become environment variables."""
    for source in sources:
        source["prefix"].nonempty.check(env_var_problems, relaxed=context.on("RelaxedEnvironmentVariableValidation"))
        given = [source[kind] for kind in ("configMapRef", "secretRef") if kind in source]
        for reference in given:
            reference["name"].require(rule=_prefix_problems)
        if not given:
            sources.invalid("must specify one of: `configMapRef` or `secretRef`", "")
        elif len(given) > 1:
            sources.invalid("may not have more than one field specified at a time", "")


def _prefix_problems(name: str) -> tuple[str, ...]:
    return subdomain_problems(f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name)
