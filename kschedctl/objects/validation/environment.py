"""Validation of the environment variables of containers, and of references to fields of the pod."""

from collections.abc import Iterable, Sequence
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import config_key_problems, env_var_problems, qualified_name_problems, subdomain_problems
from kschedctl.objects.quantity import Amount
from kschedctl.objects.validation.values import (
    Found,
    Tree,
    ValidationContext,
    given_label_name,
    invalid_findings,
    without_backsteps,
)

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


def environment(variables: Sequence[Tree], path: str, context: ValidationContext) -> Found:
    """Yield the problems of environment variables."""
    relaxed = context.on("RelaxedEnvironmentVariableValidation")
    for i, variable in enumerate(variables):
        at = f"{path}[{i}]"
        name = variable.get("name", "")
        if not name:
            yield field_errors.required(f"{at}.name")
        else:
            yield from invalid_findings(env_var_problems(name, relaxed=relaxed), name, f"{at}.name")
        if "valueFrom" in variable:
            yield from _value_from(variable, f"{at}.valueFrom", context)


def _value_from(variable: Tree, path: str, context: ValidationContext) -> Found:
    source = variable["valueFrom"]
    number = 0
    if "fieldRef" in source:
        number += 1
        yield from object_field(source["fieldRef"], _FIELDS, f"{path}.fieldRef")
    if "resourceFieldRef" in source:
        number += 1
        yield from resource_field(source["resourceFieldRef"], f"{path}.resourceFieldRef", of_volume=False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in source:
            number += 1
            yield from _check_key(source[name], f"{path}.{name}")
    files = context.on("EnvFiles")
    if files and "fileKeyRef" in source:
        number += 1
        reference = source["fileKeyRef"]
        at = f"{path}.fileKeyRef"
        key, file = reference.get("key", ""), reference.get("path", "")
        if not key:
            yield field_errors.required(f"{at}.key")
        else:
            yield from invalid_findings(env_var_problems(key, relaxed=True), key, f"{at}.key")
        yield from given_label_name(reference.get("volumeName", ""), f"{at}.volumeName")
        if not file:
            yield field_errors.required(f"{at}.path")
        else:
            yield from without_backsteps(file, f"{at}.path")
    if not number:
        names = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", *(["fileKeyRef"] if files else [])]
        listed = f"{', '.join(f'`{name}`' for name in names[:-1])} or `{names[-1]}`"
        yield field_errors.invalid(path, "", f"must specify one of: {listed}")
    elif variable.get("value"):
        yield field_errors.invalid(path, "", "may not be specified when `value` is not empty")
    elif number > 1:
        yield field_errors.invalid(path, "", "may not have more than one field specified at a time")


def object_field(reference: Tree, fields: Iterable[str], path: str) -> Found:
    """Yield the problems of a reference to a field of the pod."""
    version, field = reference.get("apiVersion") or "v1", reference.get("fieldPath", "")
    if not field:
        yield field_errors.required(f"{path}.fieldPath")
        return
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
        yield field_errors.invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {error}")
    elif subscripted:
        key = key.lower() if name == "metadata.annotations" else key
        yield from invalid_findings(qualified_name_problems(key), key, path)
    else:
        field = "spec.nodeName" if field == "spec.host" else field
        if field not in fields:
            yield field_errors.unsupported(f"{path}.fieldPath", field, fields, plain=True)


def resource_field(reference: Tree, path: str, *, of_volume: bool) -> Found:
    """Yield the problems of a reference to a resource of a container.

    Args:
        of_volume: True for a file of a volume, which must name the container; False for an environment variable.
    """
    resource = reference.get("resource", "")
    huge = resource.startswith(_HUGE_PAGES)
    if of_volume and not reference.get("containerName"):
        yield field_errors.required(f"{path}.containerName")
    elif not resource:
        yield field_errors.required(f"{path}.resource")
    elif resource not in _RESOURCES and not huge:
        yield field_errors.unsupported(f"{path}.resource", resource, _RESOURCES, plain=True)
    divisor = Amount.parse(reference.get("divisor", "0"))
    if not divisor.nanos:
        return
    name = resource.partition(".")[2]
    divisors = _CPU_DIVISORS if name == "cpu" else _BYTE_DIVISORS
    if (resource not in _RESOURCES and not huge) or str(divisor) in divisors:
        return
    if name == "cpu":
        problem = "only divisor's values 1m and 1 are supported with the cpu resource"
    else:
        what = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(name, "hugepages")
        problem = f"only divisor's values {', '.join(divisors)} are supported with the {what} resource"
    yield field_errors.invalid(f"{path}.divisor", resource, problem)


def _check_key(reference: Tree, path: str) -> Found:
    name, key = reference.get("name", ""), reference.get("key", "")
    yield from invalid_findings(subdomain_problems(name), name, f"{path}.name")
    if not key:
        yield field_errors.required(f"{path}.key")
    else:
        yield from invalid_findings(config_key_problems(key), key, f"{path}.key")


def environment_from(sources: Sequence[Tree], path: str, context: ValidationContext) -> Found:
    """Yield the problems of references to ConfigMaps and Secrets whose keys become environment variables."""
    relaxed = context.on("RelaxedEnvironmentVariableValidation")
    for i, source in enumerate(sources):
        at = f"{path}[{i}]"
        if prefix := source.get("prefix", ""):
            yield from invalid_findings(env_var_problems(prefix, relaxed=relaxed), prefix, f"{at}.prefix")
        number = 0
        for kind in ("configMapRef", "secretRef"):
            if kind in source:
                number += 1
                yield from _object_name(source[kind].get("name", ""), f"{at}.{kind}.name")
        if not number:
            yield field_errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif number > 1:
            yield field_errors.invalid(path, "", "may not have more than one field specified at a time")


def _object_name(name: str, path: str) -> Found:
    if not name:
        yield field_errors.required(path)
        return
    masked = f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name
    yield from invalid_findings(subdomain_problems(masked), name, path)
