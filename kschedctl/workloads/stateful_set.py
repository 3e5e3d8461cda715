"""The pods of a StatefulSet: one per ordinal, each with its own claims (pkg/controller/statefulset)."""

from __future__ import annotations

from dataclasses import replace as dataclass_replace
from typing import Final

from msgspec.structs import replace

from kschedctl.api.pod import Pod
from kschedctl.api.volume import ClaimVolumeSource, PersistentVolumeClaim, Volume
from kschedctl.api.workload import PodTemplateSpec, StatefulSet
from kschedctl.cluster.cluster import Cluster
from kschedctl.workloads.claims import make_claim, without_stored
from kschedctl.workloads.created_pods import MadePod
from kschedctl.workloads.replicas import wanted_replicas
from kschedctl.workloads.template import has_template, owner_if_missing, pod_from_template, template_hash

REVISION_HASH: Final = "controller-revision-hash"
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"

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
    revision = _revision(stateful_set, template, cluster)
    made = []
    n_made = min(max(count, 1), most_ordinals)
    for ordinal in range(spec.ordinals.start, spec.ordinals.start + n_made):
        claims = {claim.name: _claim(stateful_set, claim, ordinal) for claim in spec.volume_claim_templates}
        objects = (*owner_if_missing(cluster, stateful_set), *without_stored(tuple(claims.values()), cluster))
        pod = _pod(stateful_set, template, ordinal, revision)
        made.append(MadePod(_with_claims(pod, claims), min(count, 1), objects=objects))
    if count > n_made:
        made[-1] = dataclass_replace(made[-1], replicas=count - n_made + 1)
    return tuple(made)


def _pod(stateful_set: StatefulSet, template: PodTemplateSpec, ordinal: int, revision: str) -> Pod:
    name = f"{stateful_set.name}-{ordinal}"
    labels = {_POD_NAME: name, _POD_INDEX: str(ordinal), REVISION_HASH: revision}
    return pod_from_template(template, stateful_set, name=name, labels=labels)


def _revision(stateful_set: StatefulSet, template: PodTemplateSpec, cluster: Cluster) -> str:
    """Return the update revision that the cluster has stored for the template, or a stand-in."""
    stored = cluster.get(StatefulSet, stateful_set.name, stateful_set.namespace)
    if stored is not None and stored.status.update_revision and has_template(stored, template):
        return stored.status.update_revision
    return f"{stateful_set.name}-{template_hash(template)}"


def _claim(stateful_set: StatefulSet, template: PersistentVolumeClaim, ordinal: int) -> PersistentVolumeClaim:
    selector = stateful_set.spec.selector
    name = f"{template.name}-{stateful_set.name}-{ordinal}"
    labels = selector.match_labels if selector is not None else None
    return make_claim(template, name, stateful_set.namespace, labels=labels)


def _with_claims(pod: Pod, claims: dict[str, PersistentVolumeClaim]) -> Pod:
    """Return the pod with one volume per claim, which replaces the template's volume of the same name."""
    own = tuple(
        Volume(name=name, persistent_volume_claim=ClaimVolumeSource(claim_name=claim.name))
        for name, claim in claims.items()
    )
    others = tuple(volume for volume in pod.spec.volumes if volume.name not in claims)
    return replace(pod, spec=replace(pod.spec, volumes=(*own, *others)))
