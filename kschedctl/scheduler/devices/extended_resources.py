"""Extended resources backed by a DeviceClass: devices satisfy the resource requests of containers.

Upstream: ``extendeddynamicresources.go`` and ``deviceclass/extendedresourcecache``.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.device import (
    EXACT_COUNT,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from kschedctl.objects.meta import ObjectMeta
from kschedctl.objects.pod import Container, Pod
from kschedctl.objects.quantity import NANO, parse_quantity
from kschedctl.objects.resources import is_extended_resource

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.inventory import Inventory

CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
CLAIM_ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
#: The placeholder name of the claim for a pod's extended resources, until the scheduler writes it.
CLAIM_NAME: Final = "<extended-resources>"
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


def can_be_backed(resource: str) -> bool:
    """Report whether a DeviceClass can back a resource."""
    return is_extended_resource(resource) or resource.startswith(CLASS_PREFIX)


def backing_classes(cluster: Cluster) -> dict[str, DeviceClass]:
    """Return the DeviceClass that backs each resource.

    If two classes name the same resource, the newer one counts, or the first by name if both have the same age.
    """
    out: dict[str, DeviceClass] = {}
    # The class that counts comes last, so names sort in reverse order, character by character.
    for device_class in sorted(
        cluster.list(DeviceClass),
        key=lambda one: (one.metadata.creation_timestamp or _NEVER, [-ord(c) for c in one.name] + [1]),
    ):
        if device_class.spec.extended_resource_name:
            out[device_class.spec.extended_resource_name] = device_class
        out[CLASS_PREFIX + device_class.name] = device_class
    return out


def leftover_claim(cluster: Cluster, pod: Pod) -> ResourceClaim | None:
    """Return the claim that an earlier attempt to schedule the pod has written, or ``None``."""
    for claim in cluster.list(ResourceClaim):
        if not is_extended_claim(claim):
            continue
        for owner in claim.metadata.owner_references:
            if owner.name == pod.name and owner.controller and owner.uid == pod.metadata.uid:
                return claim
    return None


def is_extended_claim(claim: ResourceClaim) -> bool:
    """Report whether the scheduler created a claim for the extended resources of a pod."""
    return claim.metadata.annotations.get(CLAIM_ANNOTATION) == "true"


def without_extended_claim(cluster: Cluster, pod: Pod) -> Cluster:
    """Return the cluster without the claim for a pod's extended resources, as if the pod were new."""
    own = leftover_claim(cluster, pod)
    if own is None:
        return cluster
    # Few clusters have devices.
    from kschedctl.scheduler.devices.inventory import with_claims

    return with_claims(cluster, [claim for claim in cluster.list(ResourceClaim) if claim is not own])


def new_claim(pod: Pod, resources: Sequence[str], classes: Mapping[str, DeviceClass]) -> ResourceClaim:
    """Return the claim for the devices behind some of a pod's resources.

    Args:
        resources: The resources that devices of a node provide.
    """
    requests = [
        request for resource in sorted(resources) for request in _requests(pod, resource, classes[resource].name)
    ]
    requests.sort(key=lambda request: request.name)
    return ResourceClaim(
        metadata=ObjectMeta(name=CLAIM_NAME, namespace=pod.namespace),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests))),
    )


def _requests(pod: Pod, resource: str, class_name: str) -> list[DeviceRequest]:
    """Return the requests of the long-lived containers, and the largest of the others.

    An init container that ends reuses the devices of the long-lived containers from its position on. Only the largest
    number of devices beyond these becomes a request.
    """
    n_init = len(pod.spec.init_containers)
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    lasting: dict[int, DeviceRequest] = {}
    for i, container in enumerate(containers):
        if i >= n_init or container.restart_policy == "Always":
            wanted = _whole_amount(container, resource)
            if wanted:
                lasting[i] = _device_request(i, container, resource, class_name, wanted)
    largest: DeviceRequest | None = None
    for i, container in enumerate(containers[:n_init]):
        if container.restart_policy == "Always":
            continue
        reusable = sum(_requested_count(request) for position, request in lasting.items() if position >= i)
        missing = _whole_amount(container, resource) - reusable
        if missing > 0 and (largest is None or missing > _requested_count(largest)):
            largest = _device_request(i, container, resource, class_name, missing)
    return [*([largest] if largest is not None else []), *lasting.values()]


def _whole_amount(container: Container, resource: str) -> int:
    nanos = parse_quantity(container.resources.requests.get(resource, 0))
    return nanos // NANO if nanos % NANO == 0 else 0


def _requested_count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0


def _device_request(index: int, container: Container, resource: str, class_name: str, count: int) -> DeviceRequest:
    place = sorted(container.resources.requests).index(resource)
    exactly = ExactDeviceRequest(device_class_name=class_name, allocation_mode=EXACT_COUNT, count=count)
    return DeviceRequest(name=f"container-{index}-request-{place}", exactly=exactly)


def device_totals(inventory: "Inventory", device_class: DeviceClass) -> tuple[Int64Array, Int64Array]:
    """Return the numbers of devices of a class on each node, and of those in use, for scoring.

    All slices for a node count, regardless of generation and completeness. If a selector fails with an error on a
    device, both numbers are 0 on the nodes of the device.
    """
    from kschedctl.scheduler.devices.inventory import reach

    cluster = inventory.cluster
    everywhere = np.ones(len(cluster.nodes), dtype=np.bool_)
    totals = np.zeros((2, len(cluster.nodes)), dtype=np.int64)
    verdict, _ = inventory.matches(device_class.spec.selectors, "")
    wrong = np.zeros(len(cluster.nodes), dtype=np.bool_)
    number = 0
    for one in inventory.slices:
        spec, whole = one.spec, None
        if not spec.per_device_node_selection:
            of_all = spec.all_nodes or (not spec.node_name and spec.node_selector is None)
            whole = everywhere if of_all else reach(spec, cluster.nodes)
        for device in spec.devices:
            here = whole
            if here is None:
                here = everywhere if device.all_nodes else reach(device, cluster.nodes)
            if verdict[number] > 1:
                wrong |= here
            elif verdict[number]:
                totals[0] += here
                totals[1] += here & inventory.usage.allocated(inventory.ids[number])
            number += 1
    totals[:, wrong] = 0
    return totals[0], totals[1]


def resources_with_class(resources: Iterable[str], classes: Mapping[str, DeviceClass]) -> list[str]:
    """Return the resources that a DeviceClass backs."""
    return [name for name in resources if can_be_backed(name) and name in classes]
