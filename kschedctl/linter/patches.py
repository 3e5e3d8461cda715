"""Patches and field changes of a kustomization, applied to objects as plain data.

No function changes its arguments: a result shares the parts that stay as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kschedctl.linter.values import at, group_of, items, mapping, text

# Strategic merge patches.

#: The keys by which lists of built-in kinds are merged, by the name of the list; other lists are replaced.
_MERGE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("containers", "initContainers", "ephemeralContainers", "volumes", "env"), ("name",)),
    **dict.fromkeys(("imagePullSecrets", "schedulingGates", "resourceClaims", "webhooks", "secrets"), ("name",)),
    "ports": ("containerPort", "port"),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey",),
    "ownerReferences": ("uid",),
}
_DIRECTIVE: Final = "$patch"
#: The suffix of the API groups of Kubernetes itself, besides those without a dot.
_BUILT_IN: Final = ".k8s.io"


class PatchError(Exception):
    """A patch that cannot be applied."""


def is_built_in(api_version: str) -> bool:
    """Report whether an API version is of a group of Kubernetes itself, whose lists have merge keys."""
    group = group_of(api_version)
    return "." not in group or group.endswith(_BUILT_IN)


def merged(value: Any, patch: Any, *, merges_lists: bool = True, field: str = "") -> Any:
    """Return a value with a strategic merge patch applied, of whose directives Kustomize knows ``$patch``.

    Args:
        merges_lists: True if lists with a merge key are merged, as those of built-in kinds.
        field: The name of the field that has the value.

    >>> merged({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": 3}})
    {'b': {'c': 2, 'd': 3}}
    """
    if isinstance(patch, dict):
        return _merged_mapping(mapping(value), patch, merges_lists=merges_lists)
    if isinstance(patch, list):
        key = _merge_key(field, patch) if merges_lists else ""
        return _merged_list(items(value), patch, key) if key else patch
    return patch


def _merged_mapping(value: Mapping[str, Any], patch: Mapping[str, Any], *, merges_lists: bool) -> dict[str, Any]:
    if patch.get(_DIRECTIVE) == "replace":
        return {key: each for key, each in patch.items() if key != _DIRECTIVE}
    out = dict(value)
    for key, each in patch.items():
        if each is None or at(each, _DIRECTIVE) == "delete":
            out.pop(key, None)
        elif key != _DIRECTIVE:
            out[key] = merged(out.get(key), each, merges_lists=merges_lists, field=key)
    return out


def _merge_key(field: str, patch: Sequence[Any]) -> str:
    """Return the key by which a list is merged; empty if the list is replaced."""
    for key in _MERGE_KEYS.get(field, ()):
        if all(isinstance(item, dict) and (key in item or _DIRECTIVE in item) for item in patch):
            return key
    return ""


def _merged_list(value: Sequence[Any], patch: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    if any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return [item for item in patch if item.get(_DIRECTIVE) != "replace"]
    out = list(value)
    for item in patch:
        index = next((i for i, each in enumerate(out) if at(each, key) == item.get(key)), None)
        if item.get(_DIRECTIVE) == "delete":
            if index is not None:
                del out[index]
        elif index is None:
            out.append(merged(None, item))
        else:
            out[index] = merged(out[index], item)
    return out


# JSON patches (RFC 6902). As in Kustomize, ``replace`` adds a field that is absent.


def json_patched(value: Any, operations: Sequence[Any]) -> Any:
    """Return a value with the operations of a JSON patch applied.

    Raises PatchError if an operation cannot be applied.

    >>> json_patched({"spec": {"a": [1, 3]}}, [{"op": "add", "path": "/spec/a/1", "value": 2}])
    {'spec': {'a': [1, 2, 3]}}
    """
    for operation in operations:
        op, path = text(at(operation, "op")), _pointer(at(operation, "path"))
        if op in ("add", "replace"):
            value = _with_pointer(value, path, mapping(operation).get("value"), insert=op == "add")
        elif op == "remove":
            value = _without(value, path)
        elif op in ("copy", "move"):
            source = _pointer(at(operation, "from"))
            taken = _at_pointer(value, source)
            value = _with_pointer(_without(value, source) if op == "move" else value, path, taken, insert=True)
        elif op != "test":
            raise PatchError(f"the operation {op or 'without a name'} is unknown")
    return value


def _pointer(path: Any) -> list[str]:
    if not isinstance(path, str) or not path.startswith("/"):
        raise PatchError(f"{path} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _index(value: Sequence[Any], part: str) -> int:
    if not part.isdigit() or int(part) >= len(value):
        raise PatchError(f"there is no item {part}")
    return int(part)


def _at_pointer(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(value, list):
            value = value[_index(value, part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            raise PatchError(f"there is no field {part}")
    return value


def _with_pointer(value: Any, path: Sequence[str], new: Any, *, insert: bool) -> Any:
    if not path:
        return new
    part, rest = path[0], path[1:]
    if isinstance(value, list):
        if not rest and insert:
            index = len(value) if part == "-" else int(part) if part.isdigit() else -1
            if not 0 <= index <= len(value):
                raise PatchError(f"there is no item {part}")
            return [*value[:index], new, *value[index:]]
        index = _index(value, part)
        return [*value[:index], _with_pointer(value[index], rest, new, insert=insert), *value[index + 1 :]]
    if not isinstance(value, dict) or (rest and part not in value):
        raise PatchError(f"there is no field {part}")
    return {**value, part: _with_pointer(value.get(part), rest, new, insert=insert)}


def _without(value: Any, path: Sequence[str]) -> Any:
    part, rest = path[0], path[1:]
    if isinstance(value, list):
        index = _index(value, part)
        inner = [_without(value[index], rest)] if rest else []
        return [*value[:index], *inner, *value[index + 1 :]]
    if not isinstance(value, dict) or part not in value:
        raise PatchError(f"there is no field {part}")
    if rest:
        return {**value, part: _without(value[part], rest)}
    return {key: each for key, each in value.items() if key != part}


# Field specs: the fields that a transformer changes, by kind.


class FieldSpec(NamedTuple):
    """A field of objects of a kind that a transformer changes."""

    #: The path; lists on the way are walked item by item.
    path: tuple[str, ...]
    #: The kind; empty for all kinds.
    kind: str = ""
    #: The API group; ``None`` for all groups.
    group: str | None = None
    #: True if the field is added where it is absent.
    create: bool = False

    def selects(self, raw: Mapping[str, Any]) -> bool:
        """Report whether the spec is about an object."""
        if self.kind and self.kind != raw.get("kind"):
            return False
        return self.group is None or self.group == group_of(text(raw.get("apiVersion")))


def with_field(value: Any, path: Sequence[str], change: Callable[[Any], Any], *, create: bool) -> Any:
    """Return a value with a field changed, at each item of the lists on the way."""
    if isinstance(value, list):
        return [with_field(each, path, change, create=create) for each in value]
    if not path:
        return change(value)
    if not isinstance(value, dict) and (value is not None or not create):
        return value
    inner = mapping(value)
    if path[0] not in inner and not create:
        return value
    return {**inner, path[0]: with_field(inner.get(path[0]), path[1:], change, create=create)}


_LABELS: Final = ("metadata", "labels")
_ANNOTATIONS: Final = ("metadata", "annotations")
_TEMPLATE: Final = ("spec", "template")
_JOB: Final = ("spec", "jobTemplate")
_CREATED: Final = ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")
_SELECTOR: Final = ("spec", "selector", "matchLabels")
_AFFINITY: Final = (*_TEMPLATE, "spec", "affinity")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_MATCHED: Final = ("labelSelector", "matchLabels")


def _of_templates(*inside: str) -> tuple[FieldSpec, ...]:
    """Return a field of an object and of the templates in it."""
    return (
        FieldSpec(inside, create=True),
        *(FieldSpec((*_TEMPLATE, *inside), kind, create=True) for kind in (*_CREATED, "ReplicationController")),
        FieldSpec((*_TEMPLATE, *inside), "Job", "batch", create=True),
        FieldSpec((*_JOB, *inside), "CronJob", "batch", create=True),
        FieldSpec((*_JOB, *_TEMPLATE, *inside), "CronJob", "batch", create=True),
    )


#: The annotations of objects and templates (commonannotations.go).
ANNOTATIONS: Final = _of_templates(*_ANNOTATIONS)
#: The labels of objects alone, and with those of templates (templatelabels.go).
OBJECT_LABELS: Final = (FieldSpec(_LABELS, create=True),)
TEMPLATE_LABELS: Final = (
    *_of_templates(*_LABELS),
    FieldSpec(("spec", "volumeClaimTemplates", *_LABELS), "StatefulSet", "apps"),
)
#: Labels with the selectors that match them (commonlabels.go).
SELECTOR_LABELS: Final = (
    *TEMPLATE_LABELS,
    FieldSpec(("spec", "selector"), "Service", "", create=True),
    FieldSpec(("spec", "selector"), "ReplicationController", "", create=True),
    *(FieldSpec(_SELECTOR, kind, create=True) for kind in _CREATED),
    FieldSpec(_SELECTOR, "Job", "batch"),
    FieldSpec((*_JOB, *_SELECTOR), "CronJob", "batch"),
    FieldSpec(_SELECTOR, "PodDisruptionBudget", "policy"),
    FieldSpec(("spec", "podSelector", "matchLabels"), "NetworkPolicy", "networking.k8s.io"),
    *(
        FieldSpec(path, kind, "apps")
        for kind in ("Deployment", "StatefulSet")
        for affinity in ("podAffinity", "podAntiAffinity")
        for path in (
            (*_AFFINITY, affinity, _REQUIRED, *_MATCHED),
            (*_AFFINITY, affinity, _PREFERRED, "podAffinityTerm", *_MATCHED),
        )
    ),
    *(
        FieldSpec((*_TEMPLATE, "spec", "topologySpreadConstraints", *_MATCHED), kind, "apps")
        for kind in ("Deployment", "StatefulSet")
    ),
)


def with_pairs(raw: dict[str, Any], pairs: Mapping[str, Any], specs: Sequence[FieldSpec]) -> dict[str, Any]:
    """Return an object with labels or annotations added to the mappings at some fields."""
    out: Any = raw
    for spec in specs:
        if spec.selects(raw):
            out = with_field(out, spec.path, lambda value: {**mapping(value), **pairs}, create=spec.create)
    return dict(out)
