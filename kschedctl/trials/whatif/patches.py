"""JSON patches, creations and deletions of objects, as kubectl performs them, applied to a copy of a cluster."""

import re
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any, Final, TypeVar

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pod_at
from kschedctl.common.errors import InputError
from kschedctl.objects.core import Node
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.kinds import evidence_type, kind_type
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.remedy import Change, Create, ObjectDeletion, ObjectKey, Operation, Patch

# JSON patches (RFC 6902) with the operations that remedies use: add, replace and remove.

#: An index of an array: digits without a leading zero.
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")


class PatchError(ValueError):
    """The error for an operation that cannot be performed."""


def apply_patch(document: Any, patch: Iterable[Operation]) -> Any:
    """Return a document after a patch; the document itself may be modified.

    Args:
        document: The document, as JSON is decoded: dictionaries, lists and values.
        patch: The operations, each with ``op``, ``path`` and, except for ``remove``, ``value``.

    Raises PatchError if an operation is another one, or names a place that the document does not have.

    >>> apply_patch({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}, {"op": "remove", "path": "/a/0"}])
    {'a': [2]}
    """
    for operation in patch:
        op, path = operation["op"], operation["path"]
        if op not in ("add", "replace", "remove"):
            raise PatchError(f"{op} is not an operation that is supported")
        value = deepcopy(operation.get("value"))
        if not path:
            document = value
            continue
        target = document
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        for part in parents:
            target = _member(target, part, path)
        if isinstance(target, list) and op == "add":
            if last != "-" and not (_INDEX.fullmatch(last) and int(last) <= len(target)):
                raise PatchError(f"there is no {path}")
            target.insert(len(target) if last == "-" else int(last), value)
            continue
        if op != "add" or not isinstance(target, dict):
            # Only what exists is replaced or removed.
            _member(target, last, path)
        key: Any = int(last) if isinstance(target, list) else last
        if op == "remove":
            del target[key]
        else:
            target[key] = value
    return document


def _member(target: Any, part: str, path: str) -> Any:
    """Return a member of an object or an array."""
    if isinstance(target, dict) and part in target:
        return target[part]
    if isinstance(target, list) and _INDEX.fullmatch(part) and int(part) < len(target):
        return target[int(part)]
    raise PatchError(f"there is no {path}")


T = TypeVar("T", bound=ApiObject)


class Patched(msgspec.Struct, frozen=True):
    """A cluster and a pod after some changes."""

    cluster: Cluster
    #: The pod that the request is about.
    pod: Pod


def make_changes(cluster: Cluster, pod: Pod, changes: Iterable[Change]) -> Patched:
    """Apply changes in order.

    Args:
        pod: The pod that the request is about. A patch of a pod with its namespace and name applies to this pod,
            even if the cluster has a pod of that name.
        changes: The patches, creations and deletions.

    Raises InputError if a change names an object that the cluster does not have, or its result is not a valid
        object of the kind.
    """
    new: list[ApiObject] = []
    for change in changes:
        if isinstance(change, Create):
            key = ObjectKey(str(change.create.get("apiVersion", "")), str(change.create.get("kind", "")), "")
            try:
                new.append(msgspec.convert(change.create, _known_type(key)))
            except msgspec.ValidationError as error:
                raise InputError(f"{key.kind}: {error}") from None
            continue
        # Successive creations are added to the cluster in one step.
        cluster, new = _with_created(cluster, new), []
        match change:
            case Patch(kind="Pod") if (change.namespace, change.name) == (pod.namespace, pod.name):
                pod = default_pod(_patched(pod, change.patch))
            case Patch():
                cluster = _replaced(cluster, _patched(_object_with_key(cluster, change), change.patch))
            case ObjectDeletion():
                obj = _object_with_key(cluster, change.delete)
                if isinstance(obj, Node):
                    cluster = cluster.with_nodes(node for node in cluster.nodes.objects if node is not obj)
                elif isinstance(obj, Pod):
                    cluster = cluster.with_pods(removed=[cluster.pods.index[obj.namespace, obj.name]])
                else:
                    cluster = cluster.without([obj])
    return Patched(_with_created(cluster, new), pod)


def _known_type(key: ObjectKey) -> type[ApiObject]:
    kind = kind_type(key.api_version, key.kind) or evidence_type(key.api_version, key.kind)
    if kind is None:
        raise InputError(f"{key.kind} of {key.api_version} is not a kind that kschedctl reads")
    return kind


def _object_with_key(cluster: Cluster, key: ObjectKey) -> ApiObject:
    kind = _known_type(key)
    found: ApiObject | None
    if kind is Node:
        row = cluster.nodes.row.get(key.name)
        found = None if row is None else cluster.nodes.objects[row]
    elif kind is Pod:
        index = cluster.pods.index.get((key.namespace, key.name))
        found = None if index is None else pod_at(cluster, index)
    else:
        found = cluster.get(kind, key.name, key.namespace)
    if found is None:
        where = f"{key.namespace}/{key.name}" if key.namespace else key.name
        raise InputError(f"the cluster has no {key.kind} {where}")
    return found


def _patched(obj: T, patch: tuple[Operation, ...]) -> T:
    data = msgspec.json.decode(msgspec.json.encode(obj))
    try:
        return msgspec.convert(apply_patch(data, msgspec.to_builtins(patch)), type(obj))
    except (PatchError, msgspec.ValidationError) as error:
        raise InputError(f"{type(obj).__name__} {obj.name} cannot be patched: {error}") from None


def _replaced(cluster: Cluster, obj: ApiObject) -> Cluster:
    if isinstance(obj, Node):
        return cluster.with_nodes(obj if node.name == obj.name else node for node in cluster.nodes.objects)
    return _with_created(cluster, [obj])


def _with_created(cluster: Cluster, objects: Sequence[ApiObject]) -> Cluster:
    nodes = [obj for obj in objects if isinstance(obj, Node)]
    pods = [default_pod(obj) for obj in objects if isinstance(obj, Pod)]
    others = [obj for obj in objects if not isinstance(obj, Node | Pod)]
    if nodes:
        # Two changes may create the same node.
        new = {node.name: node for node in nodes}
        replaced = {name: new.pop(name) for name in [*new] if name in cluster.nodes.row}
        there = cluster.nodes.objects
        kept = tuple(replaced.get(node.name, node) for node in there) if replaced else there
        cluster = cluster.with_nodes((*kept, *new.values()))
    if others:
        cluster = cluster.with_added(others)
    return cluster.with_pods(added=pods) if pods else cluster
