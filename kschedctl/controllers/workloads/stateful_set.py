"""The pods of a StatefulSet: one per ordinal, each with its own claims (pkg/controller/statefulset)."""

from __future__ import annotations

from dataclasses import replace as dataclass_replace
from typing import Final

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.controllers.workloads.claims import make_claim, without_stored
from kschedctl.controllers.workloads.created_pods import MadePod
from kschedctl.controllers.workloads.replacement import fresh_pod
from kschedctl.controllers.workloads.replicas import wanted_replicas
from kschedctl.controllers.workloads.template import has_template, owner_if_missing, pod_from_template, template_hash
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.objects.volume import ClaimVolumeSource, PersistentVolumeClaim, PersistentVolumeClaimStatus, Volume
from kschedctl.objects.workload import PodTemplateSpec, StatefulSet

REVISION_HASH: Final = "controller-revision-hash"
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"
_ON_DELETE: Final = "OnDelete"

#: The number of ordinals for which pods are created one by one, where each is shown.
MOST_ORDINALS: Final = 1000


def pods_of_stateful_set(
    stateful_set: StatefulSet, template: PodTemplateSpec, cluster: Cluster, most_ordinals: int = MOST_ORDINALS
) -> tuple[MadePod, ...]:
    """Return the pods of a StatefulSet by ordinal; if it is scaled to zero, the first one with 0 replicas.

    Each pod is separate, since its labels and claims differ from the others'. At most `most_ordinals` pods are created;
    the last of them has the number of all further pods in its replicas.
    """
    spec = stateful_set.spec
    count = wanted_replicas(stateful_set)
    revision = update_revision(stateful_set, template, cluster)
    made = []
    n_made = min(max(count, 1), most_ordinals)
    for ordinal in range(spec.ordinals.start, spec.ordinals.start + n_made):
        claims = {claim.name: _claim(stateful_set, claim, ordinal, cluster) for claim in spec.volume_claim_templates}
        objects = (*owner_if_missing(cluster, stateful_set), *without_stored(tuple(claims.values()), cluster))
        pod = _pod(stateful_set, template, ordinal, revision)
        made.append(MadePod(_with_claims(pod, claims), min(count, 1), objects=objects))
    if count > n_made:
        made[-1] = dataclass_replace(made[-1], replicas=count - n_made + 1)
    return tuple(made)


def ordinal_labels(name: str) -> dict[str, str]:
    """Return the labels by which the controller identifies the pod of an ordinal."""
    return {_POD_NAME: name, _POD_INDEX: name.rpartition("-")[2]}


def ordinal_of(name: str) -> int | None:
    """Return the ordinal in the name of a StatefulSet's pod; ``None`` if it has none."""
    ordinal = name.rpartition("-")[2]
    return int(ordinal) if ordinal.isascii() and ordinal.isdigit() else None


def gets_newer_template(stateful_set: StatefulSet, pod: Pod) -> bool:
    """Report whether the controller would create a pod of a StatefulSet from a newer template than the existing one.

    Pods below the partition keep the old revision, whose template the StatefulSet does not contain.
    """
    own, newest = pod.metadata.labels.get(REVISION_HASH, ""), stateful_set.status.update_revision
    if not own or not newest or own == newest:
        return False
    strategy = stateful_set.spec.update_strategy
    partition = strategy.rolling_update.partition if strategy.rolling_update is not None else 0
    ordinal = ordinal_of(pod.name)
    start = stateful_set.spec.ordinals.start
    return strategy.type == _ON_DELETE or (ordinal is not None and ordinal >= start + partition)


def another(pod: Pod, name: str, cluster: Cluster) -> MadePod:
    """Return a copy of a pod under another name; that of a StatefulSet gets unbound copies of the pod's own claims."""
    owner = pod.metadata.controller
    fresh = fresh_pod(pod, name=name)
    if owner is None or owner.kind != StatefulSet.__name__:
        return MadePod(fresh)
    volumes, claims = [], []
    for volume in pod.spec.volumes:
        source = volume.persistent_volume_claim
        if source is not None and source.claim_name == f"{volume.name}-{pod.name}":
            claim_name = f"{volume.name}-{name}"
            claim = cluster.get(PersistentVolumeClaim, source.claim_name, pod.namespace)
            if claim is not None:
                claims.append(_unbound(claim, claim_name))
            volume = replace(volume, persistent_volume_claim=replace(source, claim_name=claim_name))
        volumes.append(volume)
    labels = {key: value for key, value in ordinal_labels(name).items() if key in pod.metadata.labels}
    metadata = replace(fresh.metadata, labels={**fresh.metadata.labels, **labels})
    fresh = replace(fresh, metadata=metadata, spec=replace(fresh.spec, volumes=tuple(volumes)))
    return MadePod(fresh, objects=without_stored(tuple(claims), cluster))


def _unbound(claim: PersistentVolumeClaim, name: str) -> PersistentVolumeClaim:
    return replace(
        claim,
        metadata=ObjectMeta(name=name, namespace=claim.namespace, labels=claim.metadata.labels),
        spec=replace(claim.spec, volume_name=""),
        status=PersistentVolumeClaimStatus(phase="Pending"),
    )


def _pod(stateful_set: StatefulSet, template: PodTemplateSpec, ordinal: int, revision: str) -> Pod:
    name = f"{stateful_set.name}-{ordinal}"
    labels = {**ordinal_labels(name), REVISION_HASH: revision}
    return pod_from_template(template, stateful_set, name=name, labels=labels)


def update_revision(stateful_set: StatefulSet, template: PodTemplateSpec, cluster: Cluster) -> str:
    """Return the update revision that the cluster has stored for the template, or a stand-in."""
    stored = cluster.get(StatefulSet, stateful_set.name, stateful_set.namespace)
    if stored is not None and stored.status.update_revision and has_template(stored, template):
        return stored.status.update_revision
    return f"{stateful_set.name}-{template_hash(template)}"


def _claim(
    stateful_set: StatefulSet, template: PersistentVolumeClaim, ordinal: int, cluster: Cluster
) -> PersistentVolumeClaim:
    selector = stateful_set.spec.selector
    name = f"{template.name}-{stateful_set.name}-{ordinal}"
    labels = selector.match_labels if selector is not None else None
    return make_claim(template, name, stateful_set.namespace, cluster, labels=labels)


def _with_claims(pod: Pod, claims: dict[str, PersistentVolumeClaim]) -> Pod:
    """Return the pod with one volume per claim, which replaces the template's volume of the same name."""
    own = tuple(
        Volume(name=name, persistent_volume_claim=ClaimVolumeSource(claim_name=claim.name))
        for name, claim in claims.items()
    )
    others = tuple(volume for volume in pod.spec.volumes if volume.name not in claims)
    return replace(pod, spec=replace(pod.spec, volumes=(*own, *others)))
