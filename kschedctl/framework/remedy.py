"""Remedies: changes that may cure what a plugin said, as data. A reason proposes them; nobody believes them untried.

A change is what ``kubectl patch --type=json``, ``create`` and ``delete`` are given. It is made to the objects that were
decided over, and the pod is decided for again: what is proven is exactly what is told.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import msgspec

from kschedctl.api.core import Node
from kschedctl.api.device import ResourceClaim
from kschedctl.api.kind_names import api_version_of
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.cluster.cluster import Cluster
from kschedctl.framework.remedy_scope import Scope
from kschedctl.releases.release import Release
from kschedctl.workloads.replacement import NODE_BOUND

#: An operation of RFC 6902.
Operation: TypeAlias = dict[str, Any]


class ObjectKey(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Which object.

    Attributes
    ----------
    api_version, kind, namespace, name : str
        As in its manifest; without a namespace for kinds that have none.
    """

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    @classmethod
    def of(cls, obj: ApiObject) -> ObjectKey:
        """The key of an object."""
        kind = type(obj)
        return cls(api_version_of(kind), kind.__name__, obj.name, obj.namespace)


class Patch(ObjectKey, frozen=True, kw_only=True):
    """An object gets other fields.

    Attributes
    ----------
    patch : tuple of dict
        The operations of RFC 6902, in their order.
    """

    patch: tuple[Operation, ...]


class Create(msgspec.Struct, frozen=True):
    """An object comes.

    Attributes
    ----------
    create : dict
        Its manifest.
    """

    create: dict[str, Any]


class Delete(msgspec.Struct, frozen=True):
    """An object goes.

    Attributes
    ----------
    delete : ObjectKey
        Which.
    """

    delete: ObjectKey


Change: TypeAlias = Patch | Create | Delete


class Size(IntEnum):
    """How much a remedy changes: what is smaller is told first."""

    TUNED = 1
    LOOSENED = 2
    DROPPED = 3
    NODE_CHANGED = 4
    REPLACED = 5
    NODE_ADDED = 6
    DONE_WITHOUT = 7
    POD_REMOVED = 8
    PRIORITY_RAISED = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Changes that are made together.

    Attributes
    ----------
    summary : str
        What to do, in the imperative and in a few words.
    scope : Scope
        What is changed.
    changes : tuple of Change
        The same as data.
    size : Size
        How much that is.
    within : float
        How remedies of one size and family compare; what is smaller is tried first.
    family : hashable
        Remedies of one family are variants of each other: one of them is told before a second.
    once : bool
        Whether a second of the family says nothing new once one is proven: a lower request than the largest that fits.
    evicts : tuple of str
        The pods that it removes, ``namespace/name``.
    resource : str
        The resource of which less is requested; empty for other remedies.
    model : str
        The node that new ones are like; empty for other remedies.
    command : str
        The kubectl command that does it, where there is one that says it better than a patch.
    follows : tuple of Change
        What controllers make of it by themselves, such as the pods of DaemonSets on a new node.
    """

    summary: str
    scope: Scope
    changes: tuple[Change, ...]
    size: Size
    family: Hashable
    within: float = 0.0
    once: bool = False
    evicts: tuple[str, ...] = ()
    resource: str = ""
    model: str = ""
    command: str = ""
    follows: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class RemedyContext:
    """What a reason may look at to say what could cure it.

    Attributes
    ----------
    pod : Pod
        The pod that was turned away.
    cluster : Cluster
        The cluster.
    release : Release
        The rules that apply.
    row : int
        The node that turned it away; -1 where it was turned away before any node was looked at.
    """

    pod: Pod
    cluster: Cluster
    release: Release
    row: int = -1

    @property
    def node(self) -> Node:
        """The node."""
        return self.cluster.nodes.objects[self.row]

    def pod_patch(
        self,
        summary: str,
        *patch: Operation,
        size: Size,
        family: Hashable,
        within: float = 0.0,
        once: bool = False,
        resource: str = "",
    ) -> Remedy:
        """A remedy that patches the pod."""
        change = patched(self.pod, *patch)
        return Remedy(
            summary=summary,
            scope=Scope.POD,
            changes=(change,),
            size=size,
            family=family,
            within=within,
            once=once,
            resource=resource,
        )

    def node_patch(
        self,
        summary: str,
        *patch: Operation,
        family: Hashable,
        command: str,
        within: float = 0.0,
        once: bool = False,
    ) -> Remedy:
        """A remedy that patches the node; the command is what comes after ``kubectl``."""
        return Remedy(
            summary=summary,
            scope=Scope.NODE,
            changes=(patched(self.node, *patch),),
            size=Size.NODE_CHANGED,
            family=family,
            within=within,
            once=once,
            command=f"kubectl {command}",
        )

    def pod_removed(self, key: str, *, within: float = 0.0) -> Iterator[Remedy]:
        """A remedy that deletes another pod, given as ``namespace/name``; none for one that comes back at once."""
        namespace, _, name = key.partition("/")
        index = self.cluster.pods.index.get((namespace, name))
        if index is None or not leaves_for_good(self.cluster, index):
            return
        yield Remedy(
            summary=f"delete pod {key}",
            scope=Scope.CLUSTER,
            changes=tuple(pod_deleted(self.cluster, key)),
            size=Size.POD_REMOVED,
            family="delete a pod",
            within=within,
            evicts=(key,),
            command=delete_command((key,)),
        )


def leaves_for_good(cluster: Cluster, index: int) -> bool:
    """Whether a pod that is deleted leaves its node: a DaemonSet's comes back at once, as a static one does."""
    owner = cluster.pods.owner(index)
    return owner is None or owner.kind not in NODE_BOUND


def delete_command(keys: Sequence[str]) -> str:
    """The command that deletes pods, given as ``namespace/name``.

    Examples
    --------
    >>> delete_command(["shop/web-1", "shop/web-2", "batch/job"])
    'kubectl delete pod -n shop web-1 web-2 && kubectl delete pod -n batch job'
    """
    by_namespace: dict[str, list[str]] = {}
    for key in keys:
        namespace, _, name = key.partition("/")
        by_namespace.setdefault(namespace, []).append(name)
    return " && ".join(f"kubectl delete pod -n {namespace} {' '.join(of)}" for namespace, of in by_namespace.items())


def pod_deleted(cluster: Cluster, key: str) -> Iterator[Delete]:
    """The deletion of a pod, given as ``namespace/name``, and of the claims for devices that go with it."""
    namespace, _, name = key.partition("/")
    yield Delete(ObjectKey(api_version_of(Pod), Pod.__name__, name, namespace))
    for claim in cluster.list(ResourceClaim):
        owner = claim.metadata.controller
        if owner is not None and (owner.kind, owner.name, claim.namespace) == (Pod.__name__, name, namespace):
            yield deleted(claim)


def patched(obj: ApiObject, *patch: Operation) -> Patch:
    """A patch of an object."""
    key = ObjectKey.of(obj)
    return Patch(key.api_version, key.kind, key.name, key.namespace, patch=patch)


def created(obj: ApiObject) -> Create:
    """The creation of an object."""
    key = ObjectKey.of(obj)
    return Create({"apiVersion": key.api_version, "kind": key.kind, **msgspec.to_builtins(obj)})


def deleted(obj: ApiObject) -> Delete:
    """The deletion of an object."""
    return Delete(ObjectKey.of(obj))


def pointer(*parts: str | int) -> str:
    """A JSON pointer (RFC 6901).

    Examples
    --------
    >>> pointer("metadata", "labels", "topology.kubernetes.io/zone")
    '/metadata/labels/topology.kubernetes.io~1zone'
    """
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


def added(value: object, *path: str | int) -> Operation:
    """The operation that sets a field, there or not."""
    return {"op": "add", "path": pointer(*path), "value": msgspec.to_builtins(value)}


def replaced(value: object, *path: str | int) -> Operation:
    """The operation that gives a field that is there another value."""
    return {"op": "replace", "path": pointer(*path), "value": msgspec.to_builtins(value)}


def removed(*path: str | int) -> Operation:
    """The operation that takes a field away."""
    return {"op": "remove", "path": pointer(*path)}
