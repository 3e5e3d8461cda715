"""Questions about volumes and devices."""

from __future__ import annotations

from typing import Annotated, TypeVar

from msgspec import Meta

from kschedctl.objects.device import DeviceClass, ResourceClaim
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.selectors import matches, parse_label_query
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.questions.answer import Answer
from kschedctl.questions.devices.analysis import DevicesRequest, devices
from kschedctl.questions.face import SchedulingCluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import PodSubject
from kschedctl.questions.volumes.analysis import ClaimSubject, VolumesRequest, volumes
from kschedctl.questions.volumes.answer import VolumesList
from kschedctl.trials.completeness import require_listed
from kschedctl.web.errors import NotFoundError
from kschedctl.web.questions.asked import Asked, Name, NoParameters, ObjectQuery, Query
from kschedctl.web.questions.pods import pod_of

T = TypeVar("T", bound=ApiObject)


class ClaimsQuery(Query, frozen=True, kw_only=True):
    """The selection of claims."""

    namespace: Annotated[str, Meta(description="The namespace; all without it.")] = ""
    selector: Annotated[str, Meta(description="All claims with matching labels, such as app=web.")] = ""
    limit: Annotated[int, Meta(description="The number of claims to return.", ge=1, le=1000)] = 200


class DeviceClassQuery(Query, frozen=True, kw_only=True):
    """The name of a DeviceClass."""

    name: Name


def show_claims(cluster: SchedulingCluster, asked: Asked[ClaimsQuery], handle: AnalysisHandle) -> Answer:
    """List volume claims, and the volume that each has or would get."""
    changed = asked.over(cluster, handle)
    require_listed(changed.cluster, "PersistentVolumeClaim")
    query = parse_label_query(asked.query.selector) if asked.query.selector else None
    claims = [
        claim
        for claim in changed.cluster.list(PersistentVolumeClaim)
        if asked.query.namespace in ("", claim.namespace) and (query is None or matches(query, claim.metadata.labels))
    ]
    subjects = tuple(map(ClaimSubject, claims[: asked.query.limit]))
    if len(claims) > len(subjects):
        handle.note(f"{len(claims) - len(subjects)} more claims")
    return VolumesList(items=volumes(changed, VolumesRequest(subjects=subjects, by_node=False), handle))


def show_claim(cluster: SchedulingCluster, asked: Asked[ObjectQuery], handle: AnalysisHandle) -> Answer:
    """Show the volume that a claim has or would get, and the nodes from which it can be used."""
    changed = asked.over(cluster, handle)
    subject = ClaimSubject(_object(changed, PersistentVolumeClaim, asked.query.name, asked.query.namespace))
    return volumes(changed, VolumesRequest(subjects=(subject,)), handle)[0]


def show_pod_volumes(cluster: SchedulingCluster, asked: Asked[ObjectQuery], handle: AnalysisHandle) -> Answer:
    """Show the volumes of a pod's claims, and the nodes on which all can be used together."""
    changed = asked.over(cluster, handle)
    subject: PodSubject = pod_of(changed, asked.query.namespace, asked.query.name)
    return volumes(changed, VolumesRequest(subjects=(subject,)), handle)[0]


def show_devices(cluster: SchedulingCluster, asked: Asked[NoParameters], handle: AnalysisHandle) -> Answer:
    """Show all devices, the claims that hold them, and pools that are not used."""
    return devices(asked.over(cluster, handle), DevicesRequest(), handle)[0]


def show_device_claim(cluster: SchedulingCluster, asked: Asked[ObjectQuery], handle: AnalysisHandle) -> Answer:
    """Show the nodes on which a ResourceClaim can be allocated."""
    changed = asked.over(cluster, handle)
    subject = _object(changed, ResourceClaim, asked.query.name, asked.query.namespace)
    return devices(changed, DevicesRequest(subjects=(subject,)), handle)[0]


def show_device_class(cluster: SchedulingCluster, asked: Asked[DeviceClassQuery], handle: AnalysisHandle) -> Answer:
    """Show the nodes on which a device of a DeviceClass can be allocated."""
    changed = asked.over(cluster, handle)
    return devices(changed, DevicesRequest(subjects=(_object(changed, DeviceClass, asked.query.name),)), handle)[0]


def _object(cluster: SchedulingCluster, kind: type[T], name: str, namespace: str = "") -> T:
    require_listed(cluster.cluster, kind.__name__, namespace)
    found = cluster.cluster.get(kind, name, namespace)
    if found is None:
        raise NotFoundError(f"the cluster has no {kind.__name__} {f'{namespace}/' if namespace else ''}{name}")
    return found
