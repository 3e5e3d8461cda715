"""The operands of a reason, and remedies: changes, as data, that may resolve a plugin's rejection."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.pod_groups import pod_group_of
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.objects.core import Node
from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.kinds import api_version_of
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.framework.risk import RemedyScope, Risk

#: The beginning of a side that is a zone: several of them are reported together.
IN_ZONE: Final = "in zone "

#: A JSON Patch operation (RFC 6902): add, replace or remove.
Operation: TypeAlias = dict[str, Any]


class ObjectKey(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The identity of an object."""

    #: As in the object's manifest; ``namespace`` is empty for cluster-scoped kinds.
    api_version: str
    kind: str
    name: str
    namespace: str = ""

    @classmethod
    def of(cls, obj: ApiObject) -> "ObjectKey":
        kind = type(obj)
        return cls(api_version_of(kind), kind.__name__, obj.name, obj.namespace)


class Patch(ObjectKey, frozen=True, kw_only=True):
    """A patch of an object's fields."""

    #: The JSON Patch operations (RFC 6902), in order.
    patch: tuple[Operation, ...]


class Create(msgspec.Struct, frozen=True):
    """The creation of an object."""

    #: The object's manifest.
    create: dict[str, Any]


class ObjectDeletion(msgspec.Struct, frozen=True):
    """The deletion of an object."""

    delete: ObjectKey


Change: TypeAlias = Patch | Create | ObjectDeletion


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Changes that are made together.

    Attributes
    ----------
    summary : str
        A short instruction, in the imperative.
    scope : RemedyScope
        The kind of object that is changed.
    changes : tuple of Change
        The changes as data.
    risk : Risk
        The risk of the changes.
    within : float
        The rank among remedies of the same risk and family; lower values are tried first.
    family : hashable
        The family of the remedy. Remedies of one family are variants of each other; each family is reported
        once before any family's second remedy.
    once : bool
        True if further remedies of the family add nothing once one is proven, such as requests below the largest that
        fits.
    evicts : tuple of str
        The pods that it removes, ``namespace/name``.
    resource : str
        The resource whose request is reduced; empty for other remedies.
    model : str
        The node that added nodes are copies of; empty for other remedies.
    command : str
        The equivalent kubectl command, if one is clearer than a patch; else empty.
    follows : tuple of Change
        Changes that controllers then make by themselves, such as the DaemonSet pods of a new node.
    side_of : hashable
        The change of which this is one way, such as a toleration and the removal of the taint; ways of one change are
        reported as one suggestion. ``None`` for a remedy without other ways.
    side : str
        The words that tell this way from the others, such as ``in zone b``.
    """

    summary: str
    scope: RemedyScope
    changes: tuple[Change, ...]
    risk: Risk
    family: Hashable
    within: float = 0.0
    once: bool = False
    evicts: tuple[str, ...] = ()
    resource: str = ""
    model: str = ""
    command: str = ""
    follows: tuple[Change, ...] = ()
    side_of: Hashable = None
    side: str = ""


class RemedyContext(msgspec.Struct, frozen=True):
    """The data that a reason may use to propose remedies."""

    #: The pod that was rejected.
    pod: Pod
    cluster: Cluster
    #: The release whose rules apply.
    release: Release
    #: The row of the node that was filtered out; -1 if the pod was rejected before any node was considered.
    row: int = -1

    @property
    def node(self) -> Node:
        return self.cluster.nodes.objects[self.row]

    def pod_patch(
        self,
        summary: str,
        *patch: Operation,
        risk: Risk,
        family: Hashable,
        within: float = 0.0,
        once: bool = False,
        resource: str = "",
        side_of: Hashable = None,
    ) -> Remedy:
        return Remedy(
            summary=summary,
            scope=RemedyScope.POD,
            changes=(patched(self.pod, *patch),),
            risk=risk,
            family=family,
            within=within,
            once=once,
            resource=resource,
            side_of=side_of,
        )

    def node_patch(
        self,
        summary: str,
        *patch: Operation,
        family: Hashable,
        command: str,
        risk: Risk = Risk.SHARED,
        within: float = 0.0,
        once: bool = False,
        side_of: Hashable = None,
        side: str = "",
    ) -> Remedy:
        """Return a remedy that patches the node; ``command`` is the part after ``kubectl``."""
        return Remedy(
            summary=summary,
            scope=RemedyScope.NODE,
            changes=(patched(self.node, *patch),),
            risk=risk,
            family=family,
            within=within,
            once=once,
            command=f"kubectl {command}",
            side_of=side_of,
            side=side,
        )

    def pod_removed(self, key: str, *, within: float = 0.0) -> Iterator[Remedy]:
        """Yield a remedy that deletes another pod, given as ``namespace/name``.

        Yield nothing if the pod does not exist, or if it is not to make way for the pod (see `can_make_way`).
        A pod that is being deleted is waited for instead, unless it is stuck.
        """
        namespace, _, name = key.partition("/")
        index = self.cluster.pods.index.get((namespace, name))
        if index is None:
            return
        if self.cluster.pods.records[index].metadata.deletion_timestamp is not None:
            if ends_soon(self.cluster, index):
                yield ending_awaited(self.cluster, (key,), self.cluster.pods.records[index].node_name)
            return
        if not can_make_way(self.cluster, index, self.pod):
            return
        yield Remedy(
            summary=f"delete pod {key}",
            scope=RemedyScope.CLUSTER,
            changes=tuple(pod_deleted(self.cluster, key)),
            risk=Risk.EVICTION,
            family="delete a pod",
            within=within,
            evicts=(key,),
            command=delete_command((key,)),
            side_of="delete a pod",
            side=key,
        )


def can_make_way(cluster: Cluster, index: int, pod: Pod) -> bool:
    """Report whether a pod of the cluster can be deleted so that another pod takes its place on the node.

    A pod of higher priority cannot: it is more important, and a new pod in its place preempts the other one. DaemonSet
    pods and the mirror pods of static pods are recreated there at once. A pod with the same controller as ``pod`` is
    replaced by one that competes with it. A member of a group that can only be evicted as a whole would take all others
    with it.
    """
    if cluster.pods.priority[index] > (pod.spec.priority or 0):
        return False
    group = pod_group_of(cluster, index)
    if group is not None and group.spec.disrupts_all:
        return False
    owner = cluster.pods.owner(index)
    if owner is None:
        return True
    if owner.kind in NODE_BOUND:
        return False
    other = cluster.pods.records[index].metadata
    return pod.metadata.controller is None or workload_of(cluster, other) != workload_of(cluster, pod.metadata)


#: The seconds after the end of its grace period from which a pod counts as stuck.
_PATIENCE: Final = 300


def ends_soon(cluster: Cluster, index: int) -> bool:
    """Report whether a pod that is being deleted makes room: its grace period is not long over, and it stays away."""
    metadata, now = cluster.pods.records[index].metadata, cluster.taken_at
    ends, owner = metadata.deletion_timestamp, metadata.controller
    if owner is not None and owner.kind in NODE_BOUND:
        return False
    return ends is not None and (now is None or (now - ends).total_seconds() <= _PATIENCE)


def ending_awaited(cluster: Cluster, keys: Sequence[str], node: str) -> Remedy:
    """Return the wait for the end of pods of a node that are being deleted, given as ``namespace/name``."""
    return Remedy(
        summary=f"wait until {pods_text(keys)} {'has' if len(keys) == 1 else 'have'} ended on {node}",
        scope=RemedyScope.NODE,
        changes=tuple(change for key in keys for change in pod_deleted(cluster, key)),
        risk=Risk.WAIT,
        family="end",
        within=len(keys),
        command=wait_command(keys),
    )


def pods_text(keys: Iterable[str]) -> str:
    """Return pods in words: the names of at most 3, else their number."""
    names = list(keys)
    return listed(names) if len(names) < 4 else counted(len(names), "pod")


def delete_command(keys: Sequence[str]) -> str:
    """Return the kubectl command that deletes pods, given as ``namespace/name``.

    >>> delete_command(["shop/web-1", "shop/web-2", "batch/job"])
    'kubectl delete pod -n shop web-1 web-2 && kubectl delete pod -n batch job'
    """
    return _for_pods("delete pod", keys)


def wait_command(keys: Sequence[str]) -> str:
    """Return the kubectl command that waits until pods are gone, given as ``namespace/name``.

    >>> wait_command(["shop/web-1"])
    'kubectl wait --for=delete --timeout=5m pod -n shop web-1'
    """
    return _for_pods("wait --for=delete --timeout=5m pod", keys)


def _for_pods(verb: str, keys: Sequence[str]) -> str:
    by_namespace: dict[str, list[str]] = {}
    for key in keys:
        namespace, _, name = key.partition("/")
        by_namespace.setdefault(namespace, []).append(name)
    return " && ".join(f"kubectl {verb} -n {namespace} {' '.join(of)}" for namespace, of in by_namespace.items())


def pod_deleted(cluster: Cluster, key: str) -> Iterator[ObjectDeletion]:
    """Yield the deletion of a pod, given as ``namespace/name``, and of the ResourceClaims that the pod owns."""
    namespace, _, name = key.partition("/")
    yield ObjectDeletion(ObjectKey(api_version_of(Pod), Pod.__name__, name, namespace))
    for claim in cluster.list(ResourceClaim):
        owner = claim.metadata.controller
        if owner is not None and (owner.kind, owner.name, claim.namespace) == (Pod.__name__, name, namespace):
            yield deleted(claim)


def patched(obj: ApiObject, *patch: Operation) -> Patch:
    """Return a patch of an object."""
    key = ObjectKey.of(obj)
    return Patch(key.api_version, key.kind, key.name, key.namespace, patch=patch)


def created(obj: ApiObject) -> Create:
    """Return the creation of an object."""
    key = ObjectKey.of(obj)
    return Create({"apiVersion": key.api_version, "kind": key.kind, **msgspec.to_builtins(obj)})


def deleted(obj: ApiObject) -> ObjectDeletion:
    """Return the deletion of an object."""
    return ObjectDeletion(ObjectKey.of(obj))


def pointer(*parts: str | int) -> str:
    """Return the JSON pointer (RFC 6901) made of the given parts.

    >>> pointer("metadata", "labels", "topology.kubernetes.io/zone")
    '/metadata/labels/topology.kubernetes.io~1zone'
    """
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in parts)


def min_count_lowered(group: PodGroup | CompositePodGroup, least: int) -> Remedy:
    """Return the remedy that lowers ``minCount`` or ``minGroupCount``, which can be changed since Kubernetes 1.37."""
    name = "minCount" if isinstance(group, PodGroup) else "minGroupCount"
    return Remedy(
        summary=f"{name} {least} instead of {group.spec.least} in {type(group).__name__} {group.name}",
        scope=RemedyScope.CLUSTER,
        changes=(patched(group, add_operation(least, "spec", "schedulingPolicy", "gang", name)),),
        risk=Risk.REDUCED,
        family="minCount",
    )


def add_operation(value: object, *path: str | int) -> Operation:
    """Return the operation that sets a field, whether or not it exists."""
    return {"op": "add", "path": pointer(*path), "value": msgspec.to_builtins(value)}


def replace_operation(value: object, *path: str | int) -> Operation:
    """Return the operation that replaces the value of an existing field."""
    return {"op": "replace", "path": pointer(*path), "value": msgspec.to_builtins(value)}


def remove_operation(*path: str | int) -> Operation:
    """Return the operation that removes a field."""
    return {"op": "remove", "path": pointer(*path)}
