"""Effect of ``--set-replicas``: scales a workload up or down.

A smaller ReplicaSet, or a smaller Deployment through its ReplicaSets, loses nearly the pods that the controller would
delete (upstream ``ActivePodsWithRanks``): first pods without a node, then pods that do not run yet, then pods on the
nodes with most of the workload's pods, then the youngest pods. Readiness, restarts and the deletion cost of pods are
ignored, and the ReplicaSets of a rollout count as one. For a StatefulSet the ordinals are exact.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kschedctl.api.meta import ObjectMeta
from kschedctl.api.pod import Pod
from kschedctl.api.volume import PersistentVolumeClaim, PersistentVolumeClaimStatus
from kschedctl.api.wording import counted
from kschedctl.api.workload import StatefulSet
from kschedctl.cluster.cluster import Cluster
from kschedctl.errors import InputError
from kschedctl.releases.release import Release
from kschedctl.whatif.pods import PodChanges, move_pods
from kschedctl.whatif.targets import find_kind, not_found
from kschedctl.whatif.workload_pods import fresh_names, with_pods_of
from kschedctl.workloads.created_pods import MOST_MADE
from kschedctl.workloads.ownership import pods_made_by, workloads
from kschedctl.workloads.replacement import fresh_pod
from kschedctl.workloads.replicas import SCALABLE, with_replicas

if TYPE_CHECKING:
    from kschedctl.whatif.edit import Changed

_PHASES: Final = {"Pending": 0, "Unknown": 1}
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"


def set_replicas(cluster: Cluster, kind_name: str, key: tuple[str, str], replicas: int, *, release: Release) -> Changed:
    """Scale a workload: add pending pods or remove pods.

    Parameters
    ----------
    kind_name : str
        The kind, in any form that kubectl accepts.
    key : tuple of (str, str)
        The namespace and the name of the workload.
    replicas : int
        The new number of replicas.
    release : Release
        The Kubernetes release whose API server admits new pods.

    Raises
    ------
    InputError
        If the workload does not exist or its kind has no replicas, or if there is neither a pod that could be copied
        nor a template.
    """
    kind = find_kind(kind_name)
    if not issubclass(kind, SCALABLE):
        kinds = ", ".join(each.__name__ for each in SCALABLE)
        raise InputError(f"a {kind.__name__} has no replicas", hint=f"kinds with replicas: {kinds}")
    stored = cluster.get(kind, key[1], key[0])
    if stored is None and key not in (known := workloads(cluster, kind)):
        raise not_found(cluster, kind, key, known)
    shown = f"{kind.__name__} {'/'.join(key)}"
    every = pods_made_by(cluster, kind, *key)
    # Controllers do not count terminating pods; a StatefulSet recreates a pod only when its name is free.
    active = [i for i in every if cluster.pods.records[i].metadata.deletion_timestamp is None]
    cluster = cluster.with_objects(
        kind, [with_replicas(obj, replicas) if (obj.namespace, obj.name) == key else obj for obj in cluster.list(kind)]
    )
    n_removed = 0
    moved = PodChanges(cluster)
    if not active and stored is not None and stored.spec.template is not None:
        cluster, n_added = with_pods_of(cluster, with_replicas(stored, replicas), release=release, created=False)
    elif not active and replicas:
        hint = f"add the {kind.__name__} or its pods with --apply"
        raise InputError(f"the cluster has no pod of {'/'.join(key)} to copy and no pod template", hint=hint)
    elif kind is StatefulSet:
        moved, n_added, n_removed = _ordinals(cluster, key, every, replicas)
        cluster = moved.cluster
    else:
        moved, n_added, n_removed = _any(cluster, active, replicas)
        cluster = moved.cluster
    before = counted(len(active), "replica")
    change = f"{shown} has {replicas} instead of {before}"
    if n_added:
        like = "like the newest" if active else "from the pod template"
        change += f": {counted(n_added, 'new pod')} {'is' if n_added == 1 else 'are'} pending, {like}"
        if n_added >= MOST_MADE:
            change += ", and no more are added"
    elif n_removed:
        order = (
            "the highest ordinals"
            if kind is StatefulSet
            else "pending pods first, then pods that share a node, then the youngest"
        )
        change += f": {counted(n_removed, 'pod')} {'is' if n_removed == 1 else 'are'} removed ({order})"
    return cluster, (change, *moved.told)


def _any(cluster: Cluster, active: list[int], replicas: int) -> tuple[PodChanges, int, int]:
    """Scale a workload with interchangeable pods; return the result, and the numbers of added and removed pods."""
    surplus = len(active) - replicas
    if surplus >= 0:
        order = _removal_order(cluster, active)
        return move_pods(cluster, removed=order[:surplus]), 0, surplus
    newest = _newest(cluster, active)
    owner = newest.metadata.controller
    stem = owner.name if owner is not None else newest.name
    like = replace(newest, metadata=replace(newest.metadata, generate_name=f"{stem}-"))
    names = fresh_names(like, -surplus, cluster.pods.index)
    return move_pods(cluster, added=[fresh_pod(newest, name=name) for name in names]), len(names), 0


def _removal_order(cluster: Cluster, active: list[int]) -> list[int]:
    pods = cluster.pods
    rows = pods.node_row[active].tolist()
    per_node = Counter(rows)

    def rank(position: int) -> tuple[bool, int, int, float]:
        record = pods.records[active[position]]
        created = record.metadata.creation_timestamp
        together = per_node[rows[position]] if record.node_name else 0
        age = -created.timestamp() if created is not None else 0.0
        return bool(record.node_name), _PHASES.get(record.status.phase, 2), -together, age

    return [active[position] for position in sorted(range(len(active)), key=rank)]


def _newest(cluster: Cluster, active: list[int]) -> Pod:
    def age(index: int) -> float:
        created = cluster.pods.records[index].metadata.creation_timestamp
        return created.timestamp() if created is not None else 0.0

    return cluster.pods.pod(max(active, key=age))


def _ordinals(cluster: Cluster, key: tuple[str, str], every: list[int], replicas: int) -> tuple[PodChanges, int, int]:
    """Scale a StatefulSet to the ordinals from its first one on, each with its PersistentVolumeClaims."""
    namespace, name = key
    stateful_set = cluster.get(StatefulSet, name, namespace)
    start = stateful_set.spec.ordinals.start if stateful_set is not None else 0
    wanted = {f"{name}-{i}": str(i) for i in range(start, start + min(replicas, len(every) + MOST_MADE))}
    have = {cluster.pods.records[i].metadata.name: i for i in every}
    removed = [index for own, index in have.items() if own not in wanted]
    missing = [own for own in wanted if own not in have]
    added: list[Pod] = []
    if missing:
        newest = _newest(cluster, every)
        claims = {(claim.namespace, claim.name): claim for claim in cluster.list(PersistentVolumeClaim)}
        for own in missing:
            pod, made = _with_ordinal(newest, own, wanted[own], cluster)
            added.append(pod)
            claims = {(claim.namespace, claim.name): claim for claim in made} | claims
        cluster = cluster.with_objects(PersistentVolumeClaim, claims.values())
    return move_pods(cluster, removed=removed, added=added), len(missing), len(removed)


def _with_ordinal(pod: Pod, name: str, ordinal: str, cluster: Cluster) -> tuple[Pod, list[PersistentVolumeClaim]]:
    """Return a copy of a pod for another ordinal, with unbound copies of the pod's PersistentVolumeClaims."""
    old = pod.name
    volumes, claims = [], []
    for volume in pod.spec.volumes:
        source = volume.persistent_volume_claim
        if source is not None and source.claim_name == f"{volume.name}-{old}":
            claim_name = f"{volume.name}-{name}"
            claim = cluster.get(PersistentVolumeClaim, source.claim_name, pod.namespace)
            if claim is not None:
                claims.append(_unbound(claim, claim_name))
            volume = replace(volume, persistent_volume_claim=replace(source, claim_name=claim_name))
        volumes.append(volume)
    new = {_POD_NAME: name, _POD_INDEX: ordinal}
    labels = {key: new.get(key, value) for key, value in pod.metadata.labels.items()}
    fresh = fresh_pod(pod, name=name)
    return (
        replace(
            fresh,
            metadata=replace(fresh.metadata, labels=labels),
            spec=replace(fresh.spec, volumes=tuple(volumes)),
        ),
        claims,
    )


def _unbound(claim: PersistentVolumeClaim, name: str) -> PersistentVolumeClaim:
    return replace(
        claim,
        metadata=ObjectMeta(name=name, namespace=claim.namespace, labels=claim.metadata.labels),
        spec=replace(claim.spec, volume_name=""),
        status=PersistentVolumeClaimStatus(phase="Pending"),
    )
