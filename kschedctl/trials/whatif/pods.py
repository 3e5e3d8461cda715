"""Removal and addition of pods in a what-if, with the ResourceClaims that are removed or added with them."""

import dataclasses
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import count
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import SnapshotError
from kschedctl.common.findings import Where
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.claims import replica_named, with_own_claims
from kschedctl.controllers.workloads.ownership import MAKERS, SCALABLE, Scalable, pods_made_by, wanted_replicas
from kschedctl.controllers.workloads.pods import (
    MOST_ORDINALS,
    another,
    gets_newer_template,
    node_of,
    ordinal_of,
    pods_of,
)
from kschedctl.controllers.workloads.template import (
    MOST_MADE,
    NODE_BOUND,
    MadePod,
    as_in_template,
    check_number,
    fresh_pod,
    generated_name,
)
from kschedctl.objects.defaults import default_object
from kschedctl.objects.device import ResourceClaim, ResourceClaimConsumerReference, ResourceClaimStatus
from kschedctl.objects.kinds import kind_by_name
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod, PodSpec
from kschedctl.objects.quantity import QUANTITY_HINT, QuantityError
from kschedctl.objects.releases.release import Release
from kschedctl.objects.workload import (
    DaemonSet,
    Deployment,
    PodTemplateSpec,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    StatefulSetOrdinals,
)

_POD: Final = "Pod"
_PODS: Final = "pods"


class PodChanges(msgspec.Struct, frozen=True):
    """A cluster after pods were removed and added."""

    cluster: Cluster
    #: The ResourceClaims that lost their allocation or were deleted, as ``namespace/name``.
    freed: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """A description of the freed claims: one line, or none if no claim was freed."""
        return freed_in_words(self.freed)


def freed_in_words(freed: Sequence[str]) -> tuple[str, ...]:
    """Describe the claims that released their devices, in one line; return no line if there are none."""
    if not freed:
        return ()
    if len(freed) == 1:
        return (f"ResourceClaim {freed[0]} releases its devices",)
    return (f"{counted(len(freed), 'ResourceClaim')} ({listed(freed)}) release their devices",)


def move_pods(cluster: Cluster, *, removed: Iterable[int] = (), added: Iterable[Pod] = ()) -> PodChanges:
    """Remove pods from the cluster and add pods to it, with their ResourceClaims.

    A ResourceClaim that was generated for a removed pod is deleted with the pod. Any other ResourceClaim is deallocated
    when the last pod that it is reserved for is removed, as the resource claim controller does. Added pods get the
    claims of their ResourceClaimTemplates.

    Args:
        removed: The pods to remove, as indices into ``Cluster.pods``.
        added: New pods. A new pod replaces an existing pod of the same namespace and name.
    """
    gone = list(removed)
    cluster, freed = _without_claims(cluster, gone)
    made = [with_own_claims(MadePod(pod), cluster) for pod in added]
    objects: list[ApiObject] = [obj for one in made for obj in one.objects]
    if objects:
        cluster = cluster.with_added(objects)
    return PodChanges(cluster.with_pods(removed=gone, added=[one.pod for one in made]), freed)


class _Leaving(msgspec.Struct):
    """The removed pods, by uid or by namespace and name."""

    uids: set[str] = msgspec.field(default_factory=set)
    #: Namespaces and names, for references without a uid: those in manifests that no API server has processed.
    names: set[tuple[str, str]] = msgspec.field(default_factory=set)

    def has(self, namespace: str, name: str, uid: str) -> bool:
        return uid in self.uids if uid else (namespace, name) in self.names


def _without_claims(cluster: Cluster, removed: Sequence[int]) -> tuple[Cluster, tuple[str, ...]]:
    """Release the claims of removed pods; return the cluster and the keys of the freed claims."""
    claims = list(cluster.list(ResourceClaim))
    if not claims or not removed:
        return cluster, ()
    from kschedctl.scheduler.devices.inventory import with_claims

    leaving = _Leaving()
    for index in removed:
        metadata = cluster.pods.records[index].metadata
        leaving.uids |= {metadata.uid} - {""}
        leaving.names.add((metadata.namespace, metadata.name))
    kept, freed = [], []
    for claim in claims:
        after = _after_removal(claim, leaving)
        if claim.status.allocation is not None and (after is None or after.status.allocation is None):
            freed.append(claim.key)
        if after is not None:
            kept.append(after)
    if len(kept) == len(claims) and all(after is claim for after, claim in zip(kept, claims, strict=True)):
        return cluster, ()
    return with_claims(cluster, kept), tuple(freed)


def _after_removal(claim: ResourceClaim, leaving: _Leaving) -> ResourceClaim | None:
    """Return a claim as it is after the removal of pods, or ``None`` if it is deleted with its owner."""
    owner = claim.metadata.controller
    if owner is not None and owner.kind == _POD and leaving.has(claim.namespace, owner.name, owner.uid):
        return None

    def goes(user: ResourceClaimConsumerReference) -> bool:
        return user.resource == _PODS and not user.api_group and leaving.has(claim.namespace, user.name, user.uid)

    remaining = tuple(user for user in claim.status.reserved_for if not goes(user))
    if len(remaining) == len(claim.status.reserved_for):
        return claim
    status = replace(claim.status, reserved_for=remaining) if remaining else ResourceClaimStatus()
    return replace(claim, status=status)


# The pods of a workload: those that exist, and those that its controller creates next.
#
# A future pod is made from the workload's template. What the template does not say, because webhooks add it, is as in
# an existing pod of the same template. Without a template in the snapshot, an existing pod is copied.


class WorkloadPods(msgspec.Struct, frozen=True):
    """The pods of a workload."""

    #: The pods that have a node and are not being deleted, as indices into ``Cluster.pods``.
    running: list[int]
    #: The pods that have no node and are not being deleted, in the same form.
    pending: list[int]
    #: The pods that the controller has yet to create; pods that differ only in their names are one element.
    missing: tuple[MadePod, ...]
    #: The number of all these pods, without additional ones.
    wanted: int


def workload_pods(
    cluster: Cluster,
    workload: ApiObject,
    *,
    where: Where = "",
    more: int = 0,
    new: bool = False,
    most_ordinals: int = MOST_ORDINALS,
) -> WorkloadPods:
    """Return the pods of a workload.

    Args:
        where: The source of the workload, for error messages.
        more: The number of additional missing pods, as if the workload had more replicas.
        new: True if the template is new, so that the existing pods do not show what webhooks add.
        most_ordinals: The number of ordinals of a StatefulSet that are created one by one; the last stands for all
            further ones.

    Raises ManifestError as ``pods_of``; a workload without a template is accepted if there is a pod to copy.
    """
    workload = default_object(workload)
    kind = type(workload)
    pods = cluster.pods
    own = pods_made_by(cluster, kind, workload.namespace, workload.name) if kind in MAKERS else []
    # A controller does not count terminating pods.
    active = [i for i in own if pods.records[i].metadata.deletion_timestamp is None]
    newest_first = sorted(active, key=lambda i: _created(pods.pod(i)), reverse=True)
    existing = [pods.pod(i) for i in newest_first] if not new else []
    made: Iterator[MadePod]
    if isinstance(workload, StatefulSet):
        # A terminating pod keeps its ordinal until it is gone.
        taken = {pods.records[i].metadata.name for i in own}
        made = _ordinals(cluster, workload, taken, existing, where, more, most_ordinals)
    elif isinstance(workload, DaemonSet):
        there = {pods.records[i].node_name or node_of(pods.records[i].spec) for i in own}
        made = (one for one in pods_of(workload, cluster, where=where) if one.node not in there)
    else:
        made = _replicas(cluster, workload, len(active), existing, where, more)
    missing = tuple(made)
    return WorkloadPods(
        running=[i for i in active if pods.node_row[i] != PENDING],
        pending=[i for i in active if pods.node_row[i] == PENDING],
        missing=missing,
        wanted=len(active) + sum(one.replicas for one in missing) - (more if missing else 0),
    )


def _created(pod: Pod) -> float:
    created = pod.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0


def _replicas(
    cluster: Cluster, workload: ApiObject, n_active: int, existing: Sequence[Pod], where: Where, more: int
) -> Iterator[MadePod]:
    """Yield the missing pod of a workload whose pods differ only in their names, with the number of missing pods."""
    if isinstance(workload, SCALABLE) and existing and not _knows_template(cluster, workload, existing[0]):
        pod = existing[0]
        owner, template = pod.metadata.controller, workload.spec.template
        prefix = f"{owner.name if owner is not None else workload.name}-"
        fresh = fresh_pod(pod, name=generated_name(prefix))
        spec = as_in_template(pod, template) if template is not None else fresh.spec
        one = MadePod(
            replace(fresh, metadata=replace(fresh.metadata, generate_name=prefix), spec=spec), wanted_replicas(workload)
        )
    else:
        (one,) = pods_of(workload, cluster, where=where)
        owner = one.pod.metadata.controller
        owners = ((pod, pod.metadata.controller) for pod in existing if owner is not None)
        same = (pod for pod, own in owners if own and owner and (own.kind, own.name) == (owner.kind, owner.name))
        # The template of a Deployment's ReplicaSet and of a Job never changes. That of another owner may have.
        like = next(same, None) if not isinstance(workload, ReplicaSet | ReplicationController) else None
        one = _completed(one, like, cluster)
    lacking = max(one.replicas - n_active, 0) + more
    if lacking:
        yield dataclasses.replace(one, replicas=lacking)


def _knows_template(cluster: Cluster, workload: Scalable, pod: Pod) -> bool:
    """Report whether the snapshot shows the template of an existing pod's owner."""
    owner = pod.metadata.controller
    if not isinstance(workload, Deployment) or owner is None:
        return workload.spec.template is not None
    replica_set = cluster.get(ReplicaSet, owner.name, pod.namespace)
    return replica_set is not None and replica_set.spec.template is not None


def _ordinals(
    cluster: Cluster,
    workload: StatefulSet,
    taken: set[str],
    existing: Sequence[Pod],
    where: Where,
    more: int,
    most: int,
) -> Iterator[MadePod]:
    """Yield the missing pods of a StatefulSet with their claims; at most ``most`` are created one by one."""
    spec, start = workload.spec, workload.spec.ordinals.start
    first = next(ordinal for ordinal in count(start) if f"{workload.name}-{ordinal}" not in taken)
    end = start + wanted_replicas(workload)
    if more:
        end = max(end, first) + more
    if first >= end:
        return
    if spec.template is None and existing:
        for ordinal in range(first, min(end, first + MOST_MADE + 1)):
            if (name := f"{workload.name}-{ordinal}") not in taken:
                yield another(existing[0], name, cluster)
        return
    rest = replace(spec, replicas=end - first, ordinals=StatefulSetOrdinals(start=first))
    like = next((pod for pod in existing if not gets_newer_template(workload, pod)), None)
    for one in pods_of(replace(workload, spec=rest), cluster, where=where, most_ordinals=most):
        if one.pod.name not in taken or one.replicas > 1:
            yield _completed(one, like, cluster)


def _completed(made: MadePod, like: Pod | None, cluster: Cluster) -> MadePod:
    """Return a future pod with what webhooks have added to an existing pod of the same template."""
    if like is None:
        return made
    spec = as_in_template(like, PodTemplateSpec(metadata=made.pod.metadata, spec=made.pod.spec))
    own = {volume.name: volume for volume in made.pod.spec.volumes if volume.persistent_volume_claim is not None}
    volumes = tuple(own.get(volume.name, volume) for volume in spec.volumes)
    if volumes != spec.volumes:
        spec = replace(spec, volumes=volumes)
    made = dataclasses.replace(made, pod=replace(made.pod, spec=spec))
    return replica_named(made, made.pod.name, cluster)


def with_pods_of(
    cluster: Cluster, workload: ApiObject, *, release: Release, where: Where = "", n_before: int = 0, new: bool = True
) -> tuple[Cluster, int]:
    """Add the missing pods of a workload to the cluster as pending pods.

    Args:
        release: The Kubernetes release whose API server admits the pods.
        where: The source of the workload, for error messages.
        n_before: The number of pods that were added for other workloads, which count for the limit.
        new: True if the workload is new; False if an API server has already resolved its PriorityClass and
            RuntimeClass.

    Returns: The cluster with the pods, their claims and the other objects that the controller creates for them. The
        number of pods that were added.

    Raises ManifestError if an API server would refuse the workload or its pods, or more than ``MOST_MADE`` (10,000)
        pods are missing.
    """
    from kschedctl.controllers.admission.chain import admit

    added: list[Pod] = []
    objects: list[ApiObject] = []
    taken = set(cluster.pods.index)
    is_copied = isinstance(workload, SCALABLE) and workload.spec.template is None
    missing = workload_pods(cluster, workload, where=where, new=new, most_ordinals=MOST_MADE).missing
    check_number(n_before + sum(made.replicas for made in missing if not made.node), where)
    for made in missing:
        for name in fresh_names(made.pod, made.replicas, taken):
            one = replica_named(made, name, cluster)
            pod = one.pod
            if not is_copied:
                pod = admit(pod, cluster, release=release, where=where or pod.ref, created=new).pod
            objects += one.objects
            taken.add((pod.namespace, name))
            added.append(pod)
    return cluster.with_added(objects).with_pods(added=added), len(added)


def fresh_names(pod: Pod, number: int, taken: Container[tuple[str, str]]) -> list[str]:
    """Return names for new pods.

    Args:
        pod: The template. With a ``generateName`` the names are generated. Otherwise, and for an ordinal of a
            StatefulSet, the template's name is the only one.

    Returns: The names. The list is empty if the template has a fixed name that is taken.

    Raises ManifestError if more than ``MOST_MADE`` (10,000) names would be generated.
    """
    namespace, prefix, owner = pod.metadata.namespace, pod.metadata.generate_name, pod.metadata.controller
    if not prefix or (owner is not None and owner.kind == StatefulSet.__name__):
        return [pod.name][:number] if (namespace, pod.name) not in taken else []
    check_number(number, pod.ref)
    names: list[str] = []
    for i in count():
        if len(names) >= number:
            break
        if (namespace, name := generated_name(prefix, i)) not in taken:
            names.append(name)
    return names


def successor(pod: Pod, cluster: Cluster, *, release: Release) -> Pod:
    """Return the pod that a controller creates in place of an existing one, under the same name.

    Args:
        release: The Kubernetes release whose API server admits the new pod.

    Raises ManifestError if an API server would refuse a pod of the newest template.
    Raises SnapshotError if the template has an invalid quantity.
    """
    fresh = fresh_pod(pod)
    reference = pod.metadata.controller
    kind = kind_by_name(reference.kind) if reference is not None else None
    if reference is None or kind is None or kind not in MAKERS:
        return replace(fresh, spec=_unbound(fresh.spec))
    owner = cluster.get(kind, reference.name, pod.namespace)
    template = getattr(getattr(owner, "spec", None), "template", None)
    if owner is None or not isinstance(template, PodTemplateSpec):
        return replace(fresh, spec=_unbound(fresh.spec))
    if isinstance(owner, StatefulSet) and gets_newer_template(owner, pod):
        from kschedctl.controllers.admission.chain import admit

        ordinals = StatefulSetOrdinals(start=ordinal_of(pod.name) or 0)
        (made,) = pods_of(replace(owner, spec=replace(owner.spec, replicas=1, ordinals=ordinals)), cluster)
        return fresh_pod(admit(made.pod, cluster, release=release, where=owner.ref, created=False).pod)
    try:
        return replace(fresh, spec=as_in_template(pod, template))
    except QuantityError as error:
        raise SnapshotError(
            str(error), where=owner.ref, path=f"spec.template.{error.path}", hint=QUANTITY_HINT
        ) from None


def _unbound(spec: PodSpec) -> PodSpec:
    return replace(spec, node_name="") if spec.node_name else spec


# Eviction in a what-if: pods that lose their node are recreated as pending pods by their controller, or removed.

_STATEFUL_SET: Final = "StatefulSet"


class Evicted(msgspec.Struct, frozen=True):
    """A cluster after an eviction."""

    cluster: Cluster
    #: The number of pods that their controller recreates; the new pods are pending.
    n_pending: int = 0
    #: The number of pods that are removed without replacement.
    n_gone: int = 0
    n_staying: int = 0
    #: The number of ResourceSlices that were removed with the nodes.
    n_slices: int = 0
    #: The ResourceClaims that lost their allocation or were deleted, as ``namespace/name``.
    freed: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = (
            (self.n_pending, "is pending again", "are pending again"),
            (self.n_gone, "is removed", "are removed"),
            (self.n_staying, "stays", "stay"),
        )
        parts = [f"{counted(n, 'pod')} {one if n == 1 else several}" for n, one, several in said if n]
        parts = parts or ["no pod is on it"]
        if self.n_slices:
            parts.append(f"{counted(self.n_slices, 'ResourceSlice')} {'is' if self.n_slices == 1 else 'are'} removed")
        return ", ".join(parts)


def evict(cluster: Cluster, indices: Iterable[int], *, release: Release, node_bound_stay: bool) -> Evicted:
    """Evict pods from their nodes.

    Args:
        indices: The pods, as indices into ``Cluster.pods``.
        release: The Kubernetes release whose API server admits the new pods.
        node_bound_stay: True to leave pods of DaemonSets and mirror pods on their node; False to remove them
            without replacement.
    """
    pods = cluster.pods
    removed, made_anew, n_staying = [], [], 0
    for index in indices:
        owner = pods.owner(index)
        node_bound = owner is not None and owner.kind in NODE_BOUND
        if node_bound and node_bound_stay:
            n_staying += 1
            continue
        removed.append(index)
        # A controller replaces a pod as soon as the pod is terminating; a StatefulSet waits until the pod is deleted.
        is_ending = pods.records[index].metadata.deletion_timestamp is not None
        if owner is not None and not node_bound and (not is_ending or owner.kind == _STATEFUL_SET):
            made_anew.append(successor(pods.pod(index), cluster, release=release))
    moved = move_pods(cluster, removed=removed, added=made_anew) if removed else PodChanges(cluster)
    return Evicted(moved.cluster, len(made_anew), len(removed) - len(made_anew), n_staying, freed=moved.freed)
