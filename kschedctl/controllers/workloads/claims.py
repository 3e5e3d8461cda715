"""The claims that controllers create for pods: from StatefulSet templates, for ephemeral volumes, for devices."""

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.default_storage_class import with_default_class
from kschedctl.controllers.workloads.template import MadePod
from kschedctl.objects.defaults import DEFAULT_NAMESPACE, default_object
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate
from kschedctl.objects.meta import ObjectMeta, OwnerReference
from kschedctl.objects.pod import Pod, PodResourceClaimStatus
from kschedctl.objects.volume import PersistentVolumeClaim, PersistentVolumeClaimTemplate


def make_claim(
    template: PersistentVolumeClaim | PersistentVolumeClaimTemplate,
    name: str,
    namespace: str,
    cluster: Cluster,
    *,
    labels: Mapping[str, str] | None = None,
    owner: OwnerReference | None = None,
) -> PersistentVolumeClaim:
    """Create a claim from a template, with API defaults and the default StorageClass.

    Args:
        template: The template, which provides the spec, labels and annotations.
        labels: Labels added to the template's labels.
        owner: The owner, with which the claim is garbage-collected.
    """
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        labels={**template.metadata.labels, **(labels or {})},
        annotations=template.metadata.annotations,
        owner_references=() if owner is None else (owner,),
    )
    return with_default_class(default_object(PersistentVolumeClaim(metadata=metadata, spec=template.spec)), cluster)


def without_stored(claims: tuple[PersistentVolumeClaim, ...], cluster: Cluster) -> tuple[PersistentVolumeClaim, ...]:
    """Return the claims that the cluster does not have yet; an existing claim is used as it is."""
    return tuple(c for c in claims if cluster.get(PersistentVolumeClaim, c.name, c.namespace) is None)


def with_own_claims(made: MadePod, cluster: Cluster) -> MadePod:
    """Return the pod with the claims created for it: for generic ephemeral volumes, and from device claim templates."""
    pod, device_claims = _with_device_claims(made.pod, cluster)
    claims = (*without_stored(_ephemeral_claims(pod, cluster), cluster), *device_claims)
    return replace(made, pod=pod, objects=(*made.objects, *claims)) if claims else made


def _with_device_claims(pod: Pod, cluster: Cluster) -> tuple[Pod, tuple[ResourceClaim, ...]]:
    """Return the pod with its device claims in its status, and the claims created from its ResourceClaimTemplates.

    The controller adds a random suffix to the names of claims; here the name is the pod's name and the entry's name.
    Entries that the status already contains, or whose template does not exist, are skipped.
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
            owner_references=(_pod_as_owner(pod),),
        )
        claims.append(default_object(ResourceClaim(metadata=metadata, spec=template.spec.spec)))
        statuses.append(PodResourceClaimStatus(name=entry.name, resource_claim_name=name))
    if not claims:
        return pod, ()
    all_statuses = (*pod.status.resource_claim_statuses, *statuses)
    status = structs.replace(pod.status, resource_claim_statuses=all_statuses)
    return structs.replace(pod, status=status), tuple(claims)


def _pod_as_owner(pod: Pod) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.metadata.uid, controller=True)


def replica_named(made: MadePod, name: str, cluster: Cluster) -> MadePod:
    """Return another replica of the pod: with the name `name`, and with claims that have the matching names."""
    own = _ephemeral_claims(made.pod, cluster)
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


def _ephemeral_claims(pod: Pod, cluster: Cluster) -> tuple[PersistentVolumeClaim, ...]:
    return tuple(
        make_claim(template, f"{pod.name}-{volume.name}", pod.namespace, cluster, owner=_pod_as_owner(pod))
        for volume in pod.spec.volumes
        if volume.ephemeral is not None and (template := volume.ephemeral.volume_claim_template) is not None
    )
