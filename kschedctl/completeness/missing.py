"""Kinds and objects that a snapshot lacks although the answer for a pod depends on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.api.classes import RuntimeClass
from kschedctl.api.core import Namespace
from kschedctl.api.device import DeviceClass, ResourceClaim, ResourceSlice
from kschedctl.api.kind_names import PERMISSIONS_PAGE, cannot_be_listed, is_namespaced, plural
from kschedctl.api.kinds import KINDS
from kschedctl.api.meta import ApiObject
from kschedctl.api.pod import Pod
from kschedctl.api.pod_group import PodGroup
from kschedctl.api.storage import StorageClass
from kschedctl.api.volume import PersistentVolume, PersistentVolumeClaim
from kschedctl.api.workload import ReplicaSet, ReplicationController, StatefulSet
from kschedctl.cluster.cluster import Cluster
from kschedctl.completeness.required_kinds import (
    ADDITIONS,
    TABLE,
    Part,
    concerns,
    is_unlisted,
    kinds_of,
    names_namespaces,
    others_name_namespaces,
    parts_for_pod,
)
from kschedctl.errors import ClusterError
from kschedctl.findings.finding import Finding, ObjectRef, Severity

#: The kinds that the answer for the claims of a pod depends on.
CLAIM_KINDS: Final = ("PersistentVolumeClaim", *kinds_of(Part.VOLUMES), *kinds_of(Part.PROVISIONING))
_CONTROLLERS: dict[str, type[ApiObject]] = {
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
    "ReplicationController": ReplicationController,
}


@dataclass(frozen=True, slots=True)
class Missing(Finding):
    """A missing kind or object: ``object`` names it, ``problem`` is the reason why the pod needs it.

    Attributes
    ----------
    effect : str
        The consequence for the answer.
    permission : str
        If the kind could not be listed, the permission that is needed, as arguments of ``kubectl auth can-i``.
    decides : bool
        True if the answer is unknown without it; False if it only adds to the answer.
    """

    effect: str = ""
    permission: str = ""
    decides: bool = True

    @property
    def kind(self) -> str:
        """The missing kind, or the kind of the missing object."""
        return self.object.kind if self.object is not None else ""

    @property
    def needed_for(self) -> str:
        """The reason why the pod needs the missing kind or object."""
        return self.problem

    def __str__(self) -> str:
        return f"{self.problem}: {self.effect}"


def _missing(kind: str, needed_for: str, effect: str, *, permission: str = "", decides: bool = True) -> Missing:
    return Missing(
        needed_for,
        object=ObjectRef(kind),
        rule="Missing",
        severity=Severity.WARNING,
        effect=effect,
        permission=permission,
        decides=decides,
    )


def find_missing(
    cluster: Cluster,
    pod: Pod,
    *,
    is_new: bool | None = None,
    preempts: bool = True,
    is_scored: bool = True,
    groups: bool = True,
) -> tuple[Missing, ...]:
    """Return all kinds and objects that are missing for the answer for a pod.

    Parameters
    ----------
    pod : Pod
        The pod to schedule, with defaults applied but not admitted.
    is_new : bool, optional
        True if the pod goes through admission; by default if the cluster does not have it.
    preempts : bool
        True if preemption finds victims, so that PodDisruptionBudgets matter.
    is_scored : bool
        True if the pod fits on nodes, so that kinds matter that only the choice of a node depends on.
    groups : bool
        True if the feature gate of pod groups is on. If it is off, API servers drop the group of new pods.
    """
    if is_new is None:
        is_new = (pod.metadata.namespace, pod.metadata.name) not in cluster.pods.index
    found = (
        *missing_nodes_and_pods(cluster),
        *_classes(cluster, pod),
        *_claims(cluster, pod),
        *_device_claims(cluster, pod),
        *_groups(cluster, pod),
        *(_pod_group(cluster, pod) if groups else ()),
    )
    parts = parts_for_pod(is_new=is_new, preempts=preempts, is_scored=is_scored)
    return (*not_read(cluster), *_not_listed(cluster, parts, pod, pod.metadata.namespace), *_unknown(cluster, found))


#: The consequence for an answer of something that was not read.
NOT_COUNTED: Final = "its contents are ignored"


def not_read(cluster: Cluster) -> tuple[Missing, ...]:
    """Return the input that looks like part of the cluster and was not read; any answer may depend on it."""
    return tuple(_missing(lack.kind, lack.what, NOT_COUNTED) for lack in cluster.unread)


def missing_for_any(cluster: Cluster, *, preempts: bool) -> tuple[Missing, ...]:
    """Return the kinds that could not be listed, for lack of permission, and that any pod's answer depends on.

    Parameters
    ----------
    preempts : bool
        As for `find_missing`.
    """
    if not cluster.not_listed:
        return ()
    parts = parts_for_pod(is_new=False, preempts=preempts, is_scored=True)
    # The class of a pod has neither its group nor its controller.
    specs = {(id(record.spec), record.class_id): index for index, record in enumerate(cluster.pods.records)}
    pods = (cluster.pods.pod(index) for index in specs.values())
    return tuple(
        dict.fromkeys(each for pod in pods for each in _not_listed(cluster, parts, pod, pod.metadata.namespace))
    )


def not_listed(cluster: Cluster, *parts: Part, namespace: str = "") -> Iterator[Missing]:
    """Yield the kinds that could not be listed and that parts of an answer depend on, whatever pod it is about.

    Parameters
    ----------
    namespace : str
        The only namespace that the answer is about; empty for all.
    """
    return _not_listed(cluster, parts, None, namespace)


def _not_listed(cluster: Cluster, parts: Collection[Part], pod: Pod | None, namespace: str) -> Iterator[Missing]:
    """Yield the kinds that could not be listed, with the consequence for the first part that depends on them."""
    for kind, consequences in TABLE.items() if cluster.not_listed else ():
        if is_unlisted(kind, cluster, namespace) and (pod is None or concerns(kind, cluster, pod)):
            needed = [part for part in parts if part in consequences]
            if needed:
                decides = not ADDITIONS.issuperset(needed)
                permission = f"list {permitted(kind)}"
                what = _refusal(cluster.listed, kind)
                yield _missing(kind, what, consequences[needed[0]], permission=permission, decides=decides)


def _refusal(listed: Mapping[str, str], kind: str) -> str:
    """Return the sentence that a kind could not be listed, or not in all namespaces."""
    only = listed.get(kind)
    resource = plural(kind.lower())
    return f"{resource} outside namespace {only} cannot be listed by this user" if only else cannot_be_listed(kind)


def permitted(kind: str) -> str:
    """Return the resource of a kind as an argument of ``kubectl auth can-i``, for all namespaces.

    Examples
    --------
    >>> permitted("Node"), permitted("PodDisruptionBudget")
    ('nodes', 'poddisruptionbudgets.policy -A')
    """
    (group, type_), *_ = ((group, type_) for (group, name), type_ in KINDS.items() if name == kind)
    resource = f"{plural(kind.lower())}.{group}".removesuffix(".")
    return f"{resource} -A" if is_namespaced(type_) else resource


def require_listed(cluster: Cluster, kind: str, namespace: str | None = None, said: str = "") -> None:
    """Require that a kind that the request is about could be listed.

    Parameters
    ----------
    namespace : str, optional
        The only namespace that matters; by default one that was listed is enough.
    said : str
        The facts that are known without the kind, for the hint.

    Raises
    ------
    ClusterError
        If listing the kind was not allowed: no statement about its objects would be reliable.
    """
    if not cluster.is_forbidden(kind, cluster.listed.get(kind, "") if namespace is None else namespace):
        return
    hint = f"permission is required: kubectl auth can-i list {permitted(kind)}; {PERMISSIONS_PAGE}"
    problem = f"{_refusal(cluster.listed, kind)}, and the answer depends on them"
    raise ClusterError(problem, hint=f"{hint}; {said}" if said else hint)


def _unknown(cluster: Cluster, found: Iterable[Missing]) -> Iterator[Missing]:
    """Yield the entries of `found` whose kind the source does not cover.

    The cluster has no objects of a kind that was listed, and for one that could not be listed the reason is reported.
    """
    for each in found:
        if each.kind not in cluster.not_listed and each.kind not in cluster.listed:
            yield each


def _has(cluster: Cluster, kind: type[ApiObject]) -> bool:
    return next(iter(cluster.list(kind)), None) is not None


def missing_for_nodes(cluster: Cluster) -> tuple[Missing, ...]:
    """Return all kinds that are missing for the capacity of nodes."""
    return (*not_listed(cluster, Part.CAPACITY), *_unknown(cluster, missing_nodes_and_pods(cluster)))


def every_unlisted(
    cluster: Cluster, kinds: Collection[str], effect: str = "they are not in the list"
) -> Iterator[Missing]:
    """Yield those of some kinds that could not be listed, for an answer that only counts or lists objects."""
    for kind in sorted(cluster.not_listed.intersection(kinds)):
        if cluster.is_forbidden(kind):
            permission = f"list {permitted(kind)}"
            yield _missing(kind, _refusal(cluster.listed, kind), effect, permission=permission, decides=False)


def refusals(not_listed: Collection[str], listed: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each kind that could not be listed, with the consequence for answers."""
    for kind in not_listed:
        if listed.get(kind) != "":
            effect = next(iter(TABLE.get(kind, {}).values()), "they cannot be named in a request")
            yield f"{_refusal(listed, kind)}: {effect}"


def missing_nodes_and_pods(cluster: Cluster) -> Iterator[Missing]:
    """Yield the lack of nodes, or else of pods."""
    if not len(cluster.nodes):
        yield _missing("Node", "the snapshot has no nodes", "no pod fits on any node")
    elif not len(cluster.pods):
        yield _missing("Pod", "the snapshot has no pods", "all nodes are treated as empty")


def _classes(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    spec = pod.spec
    name = spec.priority_class_name
    if name and spec.priority is None and _lacks_class(cluster, name):
        needed = f"the pod names PriorityClass {name} and the snapshot has no priority classes"
        yield _missing("PriorityClass", needed, "its priority is treated as 0")
    runtime = spec.runtime_class_name
    if runtime and cluster.get(RuntimeClass, runtime) is None and not spec.overhead:
        yield _missing(
            "RuntimeClass",
            f"the pod names RuntimeClass {runtime}, which the snapshot does not have",
            "its overhead, node selector and tolerations are not counted",
        )


def _lacks_class(cluster: Cluster, name: str) -> bool:
    # The pods of a cluster have a priority: its API server knew the class.
    from kschedctl.admission.priority import priority_class

    return priority_class(cluster, name) is None


def _claims(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    names = [v.persistent_volume_claim.claim_name for v in pod.spec.volumes if v.persistent_volume_claim is not None]
    if not names:
        return
    if not _has(cluster, PersistentVolumeClaim):
        yield _missing(
            "PersistentVolumeClaim",
            f"the pod uses PersistentVolumeClaim {', '.join(names)} and the snapshot has no claims",
            "they are treated as not found",
        )
        return
    claims = (cluster.get(PersistentVolumeClaim, name, pod.metadata.namespace) for name in names)
    yield from _volumes(cluster, [claim for claim in claims if claim is not None])


def _device_claims(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    entries = pod.spec.resource_claims
    if not entries:
        return
    names = [entry.resource_claim_name for entry in entries if entry.resource_claim_name]
    if names and not _has(cluster, ResourceClaim):
        yield _missing(
            "ResourceClaim",
            f"the pod uses ResourceClaim {', '.join(names)} and the snapshot has no ResourceClaims",
            "they are treated as not found",
        )
        return
    made = {status.resource_claim_name for status in pod.status.resource_claim_statuses}
    claims = [cluster.get(ResourceClaim, name, pod.metadata.namespace) for name in (*names, *made)]
    yield from _devices(cluster, [claim for claim in claims if claim is not None])


def missing_for_devices(cluster: Cluster, claims: Sequence[ResourceClaim]) -> tuple[Missing, ...]:
    """Return all kinds that are missing for the answer for the given ResourceClaims.

    Parameters
    ----------
    claims : sequence of ResourceClaim
        Claims of the cluster.
    """
    return (*not_listed(cluster, Part.DEVICES), *_unknown(cluster, _devices(cluster, claims)))


def _devices(cluster: Cluster, claims: Sequence[ResourceClaim]) -> Iterator[Missing]:
    waiting = [claim.name for claim in claims if claim.status.allocation is None]
    if not waiting:
        return
    needed_for = f"ResourceClaim {', '.join(waiting)} is not allocated and the snapshot has no"
    if not _has(cluster, ResourceSlice):
        yield _missing("ResourceSlice", f"{needed_for} resource slices", "all nodes are treated as having no devices")
    if not _has(cluster, DeviceClass):
        yield _missing("DeviceClass", f"{needed_for} device classes", "its classes are treated as not existing")


def missing_for_claims(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> tuple[Missing, ...]:
    """Return all kinds that are missing for the answer for the given PersistentVolumeClaims.

    Parameters
    ----------
    claims : sequence of PersistentVolumeClaim
        Claims of the cluster.
    """
    parts = (
        Part.VOLUMES,
        Part.USERS,
        *([] if all(claim.spec.volume_name for claim in claims) else [Part.PROVISIONING]),
    )
    return (*not_listed(cluster, *parts), *_unknown(cluster, _volumes(cluster, claims)))


def _volumes(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> Iterator[Missing]:
    bound = [claim.name for claim in claims if claim.spec.volume_name]
    if bound and not _has(cluster, PersistentVolume):
        yield _missing(
            "PersistentVolume",
            f"PersistentVolumeClaim {', '.join(bound)} is bound and the snapshot has no volumes",
            "the nodes that can use them are unknown",
        )
    waiting = [claim.name for claim in claims if not claim.spec.volume_name]
    if waiting and not _has(cluster, StorageClass):
        yield _missing(
            "StorageClass",
            f"PersistentVolumeClaim {', '.join(waiting)} is not bound and the snapshot has no storage classes",
            "it is unknown if a volume can be provisioned for it",
        )


def _pod_group(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    name = pod.spec.pod_group_name
    if name and not _has(cluster, PodGroup):
        yield _missing(
            "PodGroup",
            f"the pod belongs to PodGroup {name} and the snapshot has no PodGroups",
            "it is treated as not found",
        )


def _groups(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    """Yield the missing kinds that group pods: namespaces, by label, and controllers, for default spreading."""
    if not _has(cluster, Namespace):
        if names_namespaces(pod.spec):
            yield _missing(
                "Namespace",
                "the pod's affinity selects namespaces by label and the snapshot has no namespaces",
                "such terms match no pods",
            )
        if others_name_namespaces(cluster, pod):
            yield _missing(
                "Namespace",
                "pods select namespaces by label in their affinity and the snapshot has no namespaces",
                "it is unknown if they select this pod",
            )
    owner = pod.metadata.controller
    kind = _CONTROLLERS.get(owner.kind) if owner is not None else None
    if owner is not None and kind is not None and not pod.spec.topology_spread_constraints and not _has(cluster, kind):
        yield _missing(
            owner.kind,
            f"the pod belongs to {owner.kind} {owner.name} and the snapshot has no {owner.kind}s",
            "default spreading uses its Services only, so scores can differ",
        )
