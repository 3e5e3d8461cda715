"""Access to manifests as plain data of any shape: lookups never fail, and unfilled placeholders are recognised."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from kschedctl.common.text.tree import Step
from kschedctl.objects.kinds import KINDS
from kschedctl.objects.quantity import QuantityError, parse_quantity

T = TypeVar("T")
#: The path from an object to a value in it: keys and indices.
Steps: TypeAlias = tuple[Step, ...]

#: A placeholder in braces, as of Python. Without quotes, YAML reads it as a mapping.
IN_BRACES: Final = r"\{[A-Za-z][\w .-]*\}"
#: Placeholders of Helm, Jinja, envsubst, Kustomize (``$(VAR)``, which the kubelet expands only in commands and in
#: variables), Python (``{var}``) and of people, also as ``__VAR__``.
_PLACEHOLDER: Final = re.compile(
    rf"\{{\{{|\{{%|\$[{{(]|<[A-Za-z][^<>]*>|\$[A-Za-z_]|{IN_BRACES}"
    r"|(?<![A-Za-z0-9])__[A-Za-z]\w*?__(?![A-Za-z0-9])"
)
#: The fields of decoded objects on which no verdict depends, so that a placeholder in them does not matter.
_WITHOUT_EFFECT: Final = frozenset(("annotations", "image"))
#: The end of a sentence about a field with a placeholder.
NOT_FILLED_IN: Final = "has a placeholder that is not filled in"


def is_rendered(value: Any) -> bool:
    """Report whether a value contains no unfilled placeholder.

    >>> [is_rendered(value) for value in ("web", "{{ .Values.name }}", "${ZONE}", "<your zone>", "$ZONE", "$(NODE)")]
    [True, False, False, False, False, False]
    >>> [is_rendered(value) for value in ("__ZONE__", "zone-__ZONE__", "a__b__c", "eu-{zone}", '{"a": 1}')]
    [False, False, True, False, True]
    >>> is_rendered({"replicas": 3, "labels": ["$APP"]})
    False
    """
    if isinstance(value, str):
        return _PLACEHOLDER.search(value) is None
    if isinstance(value, dict):
        return all(is_rendered(key) and is_rendered(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_rendered, value))
    return True


def unfilled(value: Any, steps: Steps = ()) -> Steps | None:
    """Return the path of the first field of a decoded object that has a placeholder; ``None`` if there is none.

    Images and annotations are left out, as no verdict depends on them.

    >>> unfilled({"spec": {"containers": [{"name": "web", "image": "web:${TAG}"}], "nodeName": "${NODE}"}})
    ('spec', 'nodeName')
    """
    if isinstance(value, dict):
        pairs: Iterable[tuple[Step, Any]] = value.items()
    elif isinstance(value, list | tuple):
        pairs = enumerate(value)
    else:
        return None if is_rendered(value) else steps
    for step, each in pairs:
        if step in _WITHOUT_EFFECT:
            continue
        if not is_rendered(step):
            return (*steps, step)
        if (found := unfilled(each, (*steps, step))) is not None:
            return found
    return None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a mapping, else an empty mapping."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """Return `value` if it is a list, else an empty sequence."""
    return value if isinstance(value, list) else ()


def text(value: Any) -> str:
    """Return `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """Return `value` if it is a whole number, else ``None``; a boolean is not a number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def at(value: Any, *steps: Step) -> Any:
    """Return the value at some keys and indices; ``None`` if there is none.

    >>> at({"spec": {"ports": [80]}}, "spec", "ports", 0), at({"spec": None}, "spec", "ports", 0)
    (80, None)
    """
    for step in steps:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and -1 < step < len(value) else None
    return value


def group_of(api_version: str) -> str:
    """Return the API group of an API version; empty for the core group."""
    return api_version.rpartition("/")[0]


def numbered(value: Any, steps: Steps) -> Iterator[tuple[Steps, Any]]:
    """Yield the items of a list, each with its path; nothing if `value` is not a list."""
    for index, item in enumerate(items(value)):
        yield (*steps, index), item


def nano_units(written: Any) -> int | None:
    """Return a quantity in billionths of its unit; ``None`` if it is malformed or has placeholders."""
    if not isinstance(written, str | int | float) or isinstance(written, bool) or not is_rendered(written):
        return None
    try:
        return parse_quantity(written)
    except QuantityError:
        return None


def converted(value: Any, type_: type[T]) -> T | None:
    """Return a value as an API type; ``None`` if it is not of that type or has placeholders."""
    if not is_rendered(value):
        return None
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError:
        return None


# Conversion of a field's path as text to keys and indices, with the object's help: a key can contain dots.

_INDEX: Final = re.compile(r"\[(\d+)\]")
_NEXT: Final = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")


def steps_of(value: Any, path: str) -> Steps:
    """Return the keys and indices of the field at `path`; the part that does not exist in `value` is split as written.

    >>> steps_of({"limits": {"nvidia.com/gpu": 1}}, "limits[nvidia.com/gpu]")
    ('limits', 'nvidia.com/gpu')
    >>> steps_of({"limits": {"nvidia.com/gpu": 1}}, "limits.nvidia.com/gpu"), steps_of({"spec": {}}, "spec.ports[0]")
    (('limits', 'nvidia.com/gpu'), ('spec', 'ports', 0))
    """
    steps, rest = _reached_field(value, path)
    written = ((found[1], found[2]) for found in _NEXT.finditer(rest))
    return (*steps, *(key if key is not None else int(index) if index.isdigit() else index for key, index in written))


def _reached_field(value: Any, path: str) -> tuple[Steps, str]:
    best: tuple[Steps, str] = ((), path)
    for step, inner, rest in _branches(value, path) if path else ():
        steps, left = _reached_field(inner, rest)
        if not left:
            return (step, *steps), ""
        if len(left) < len(best[1]):
            best = (step, *steps), left
    return best


def _branches(value: Any, path: str) -> Iterator[tuple[Step, Any, str]]:
    if isinstance(value, list):
        index = _INDEX.match(path)
        if index is not None and int(index[1]) < len(value):
            yield int(index[1]), value[int(index[1])], path[index.end() :]
    elif isinstance(value, dict):
        bare = path.removeprefix(".")
        # Try the longest key first: one key may be the beginning of another.
        for key in sorted((key for key in value if isinstance(key, str)), key=len, reverse=True):
            if path.startswith(f"[{key}]"):
                yield key, value[key], path[len(key) + 2 :]
            elif bare.startswith(key) and bare[len(key) : len(key) + 1] in ("", ".", "["):
                yield key, value[key], bare[len(key) :]


# Detection of partial objects, such as Kustomize patches, and of objects read from a cluster.

#: The path of the pod template, by group and kind; empty if the object itself is the template.
TEMPLATES: Final[Mapping[str, Steps]] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "ReplicationController": ("spec", "template"),
    "apps/Deployment": ("spec", "template"),
    "apps/StatefulSet": ("spec", "template"),
    "apps/DaemonSet": ("spec", "template"),
    "apps/ReplicaSet": ("spec", "template"),
    "batch/Job": ("spec", "template"),
    "batch/CronJob": ("spec", "jobTemplate", "spec", "template"),
    "argoproj.io/Rollout": ("spec", "template"),
    "apps.openshift.io/DeploymentConfig": ("spec", "template"),
}
#: The kinds among them that are custom resources: Argo Rollouts and OpenShift.
CUSTOM_KINDS: Final = frozenset(("argoproj.io/Rollout", "apps.openshift.io/DeploymentConfig"))
_SELECTED: Final = frozenset(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"))
#: The reason why an object with a patch directive is partial.
DIRECTIVE: Final = "it has a patch directive"
_PATCH_KEYS: Final = frozenset(("$patch", "$retainKeys"))


def why_partial(raw: Mapping[str, Any], group: str, api_version: str, kind: str, *, may_patch: bool = True) -> str:
    """Return the reason why an object is partial; empty if it is complete.

    Args:
        may_patch: False if the object is known to contain no patch directive (``$patch``, ``$retainKeys``).

    >>> why_partial({"spec": {"replicas": 3}, "metadata": {"name": "web"}}, "apps", "apps/v1", "Deployment")
    'it has no selector'
    """
    if may_patch and _has_directive(raw):
        return DIRECTIVE
    metadata = mapping(raw.get("metadata"))
    if ((group, kind) in KINDS) and not metadata.get("name") and not metadata.get("generateName"):
        return "it has no name"
    spec = mapping(raw.get("spec"))
    template = TEMPLATES.get(f"{group}/{kind}" if group else kind)
    if template is not None:
        if api_version == "apps/v1" and kind in _SELECTED:
            if not spec.get("selector"):
                return "it has no selector"
            if not mapping(at(raw, *template, "metadata", "labels")):
                return "its template has no labels"
        if group != "argoproj.io" or not spec.get("workloadRef"):
            place = at(raw, *template, "spec")
            containers = items(at(place, "containers"))
            if not containers:
                return "it has no containers"
            every = (*containers, *items(at(place, "initContainers")))
            # A trigger of a DeploymentConfig sets the image.
            has_trigger = any(at(each, "type") == "ImageChange" for each in items(spec.get("triggers")))
            return "" if has_trigger or all(at(each, "image") for each in every) else "a container has no image"
    if kind == "PersistentVolumeClaim" and not group and not spec.get("accessModes"):
        return "it has no access modes"
    if kind == "PodDisruptionBudget" and group == "policy" and "selector" not in spec and len(spec) < 2:
        return "it has one field only"
    return ""


def _has_directive(value: Any) -> bool:
    if isinstance(value, dict):
        return not _PATCH_KEYS.isdisjoint(value) or any(map(_has_directive, value.values()))
    return isinstance(value, list) and any(map(_has_directive, value))


def is_live(raw: Mapping[str, Any]) -> bool:
    """Report whether an object was read from a cluster: it has a uid, a resource version or a non-empty status."""
    metadata = mapping(raw.get("metadata"))
    told = text(metadata.get("uid")) or metadata.get("resourceVersion")
    return bool(told) or _says_something(raw.get("status"))


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_says_something, value.values()))
    if isinstance(value, list):
        return any(map(_says_something, value))
    return value not in (None, "", 0, False)
