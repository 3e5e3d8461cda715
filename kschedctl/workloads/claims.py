"""Claims that controllers make for pods: of a StatefulSet's templates, for ephemeral volumes, and for devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from kschedctl.api.defaults import DEFAULT_NAMESPACE, default_object
from kschedctl.api.device import ResourceClaim, ResourceClaimTemplate
from kschedctl.api.meta import ObjectMeta, OwnerReference
from kschedctl.api.pod import Pod, PodResourceClaimStatus
from kschedctl.api.volume import PersistentVolumeClaim, PersistentVolumeClaimTemplate
from kschedctl.cluster.cluster import Cluster
from kschedctl.workloads.made_pods import MadePod


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


def with_own_claims(made: MadePod, cluster: Cluster) -> MadePod:
    """The pod with the claims that are made for it: for generic ephemeral volumes, and of templates for devices."""
    pod, device_claims = _with_device_claims(made.pod, cluster)
    claims = (*without_stored(_ephemeral_claims(pod), cluster), *device_claims)
    return replace(made, pod=pod, objects=(*made.objects, *claims)) if claims else made


def _with_device_claims(pod: Pod, cluster: Cluster) -> tuple[Pod, tuple[ResourceClaim, ...]]:
    """The claims of the pod's ResourceClaimTemplates, and the pod with their names in its status.

    The controller's names end at random; here they are the pod's and the entry's. An entry that the status knows
    already is left alone, and so is one whose template is not there.
    """
    known = {status.name for status in pod.status.resource_claim_statuses}
    claims, statuses = [], []
    for entry in pod.spec.resource_claims:
        template = cluster.get(
            ResourceClaimTemplate, entry.resource_claim_template_name, pod.namespace or DEFAULT_NAMESPACE
        )
        if entry.name in known or template is None:
            continue
        name = f"{pod.name}-{entry.name}"
        metadata = ObjectMeta(
            name=name,
            namespace=pod.namespace,
            labels=template.spec.metadata.labels,
            annotations=template.spec.metadata.annotations,
            owner_references=(_owner(pod),),
        )
        claims.append(default_object(ResourceClaim(metadata=metadata, spec=template.spec.spec)))
        statuses.append(PodResourceClaimStatus(name=entry.name, resource_claim_name=name))
    if not claims:
        return pod, ()
    all_statuses = (*pod.status.resource_claim_statuses, *statuses)
    status = structs.replace(pod.status, resource_claim_statuses=all_statuses)
    return structs.replace(pod, status=status), tuple(claims)


def _owner(pod: Pod) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.metadata.uid, controller=True)


def renamed(made: MadePod, name: str, cluster: Cluster) -> MadePod:
    """The pod under another name, and the claims that are made for it under theirs: another one of its replicas."""
    own = _ephemeral_claims(made.pod)
    device_claims = {obj.name for obj in made.objects if isinstance(obj, ResourceClaim)}
    others = tuple(obj for obj in made.objects if obj not in own and not isinstance(obj, ResourceClaim))
    statuses = made.pod.status.resource_claim_statuses
    kept = tuple(status for status in statuses if status.resource_claim_name not in device_claims)
    pod = structs.replace(
        made.pod,
        metadata=structs.replace(made.pod.metadata, name=name),
        status=structs.replace(made.pod.status, resource_claim_statuses=kept),
    )
    return with_own_claims(replace(made, pod=pod, objects=others), cluster)


def _ephemeral_claims(pod: Pod) -> tuple[PersistentVolumeClaim, ...]:
    return tuple(
        make_claim(template, f"{pod.name}-{volume.name}", pod.namespace, owner=_owner(pod))
        for volume in pod.spec.volumes
        if volume.ephemeral is not None and (template := volume.ephemeral.volume_claim_template) is not None
    )
