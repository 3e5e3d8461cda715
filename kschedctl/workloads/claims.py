"""Claims that controllers make for pods: of a StatefulSet's templates, and for generic ephemeral volumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from kschedctl.api.defaults import default_object
from kschedctl.api.meta import ObjectMeta, OwnerReference
from kschedctl.api.pod import Pod
from kschedctl.api.volume import PersistentVolumeClaim, PersistentVolumeClaimTemplate
from kschedctl.cluster.cluster import Cluster
from kschedctl.workloads.made import MadePod


def make_claim(
    template: PersistentVolumeClaim | PersistentVolumeClaimTemplate,
    name: str,
    namespace: str,
    *,
    labels: Mapping[str, str] | None = None,
    owner: OwnerReference | None = None,
) -> PersistentVolumeClaim:
    """The claim of a template, with defaults.

    Parameters
    ----------
    template : PersistentVolumeClaim or PersistentVolumeClaimTemplate
        What the claim is like.
    name, namespace : str
        What it is called.
    labels : mapping, optional
        Labels besides those of the template.
    owner : OwnerReference, optional
        What it goes away with.
    """
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        labels={**template.metadata.labels, **(labels or {})},
        annotations=template.metadata.annotations,
        owner_references=() if owner is None else (owner,),
    )
    return default_object(PersistentVolumeClaim(metadata=metadata, spec=template.spec))


def without_stored(claims: tuple[PersistentVolumeClaim, ...], cluster: Cluster) -> tuple[PersistentVolumeClaim, ...]:
    """Those claims that the cluster does not have yet; a claim that is there is used as it is."""
    return tuple(c for c in claims if cluster.get(PersistentVolumeClaim, c.name, c.namespace) is None)


def with_ephemeral_claims(made: MadePod, cluster: Cluster) -> MadePod:
    """The pod with the claims that are made for its generic ephemeral volumes."""
    claims = without_stored(_ephemeral_claims(made.pod), cluster)
    return replace(made, objects=(*made.objects, *claims)) if claims else made


def renamed(made: MadePod, name: str, cluster: Cluster) -> MadePod:
    """The pod under another name, and the claims of its ephemeral volumes under theirs: another one of its replicas."""
    own = _ephemeral_claims(made.pod)
    pod = structs.replace(made.pod, metadata=structs.replace(made.pod.metadata, name=name))
    others = tuple(obj for obj in made.objects if obj not in own)
    return with_ephemeral_claims(replace(made, pod=pod, objects=others), cluster)


def _ephemeral_claims(pod: Pod) -> tuple[PersistentVolumeClaim, ...]:
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.metadata.uid, controller=True)
    return tuple(
        make_claim(template, f"{pod.name}-{volume.name}", pod.namespace, owner=owner)
        for volume in pod.spec.volumes
        if volume.ephemeral is not None and (template := volume.ephemeral.volume_claim_template) is not None
    )
