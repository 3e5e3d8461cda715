"""The defaults that an API server sets on objects, limited to fields that scheduling reads."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar, cast

from msgspec.structs import replace

from kschedctl.objects.coordination import ConfigMap, Endpoints, Lease, LeaseCandidate
from kschedctl.objects.core import Namespace, Service
from kschedctl.objects.custom_resources import NAMESPACED_CUSTOM_RESOURCES
from kschedctl.objects.device import (
    EXACT_COUNT,
    Device,
    DeviceFeatures,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceSlice,
)
from kschedctl.objects.event import Event
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Container, Pod, PodSpec, ResourceRequirements
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup, Workload
from kschedctl.objects.policies import LimitRange, LimitRangeSpec, ResourceQuota
from kschedctl.objects.quantity import Amount, QuantityFormat, forms
from kschedctl.objects.resources import (
    HUGEPAGES_PREFIX,
    RequestRules,
    container_limits,
    container_requests,
    is_pod_level_resource,
)
from kschedctl.objects.volume import (
    CSIStorageCapacity,
    EphemeralVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    Volume,
)
from kschedctl.objects.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodDisruptionBudget,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

# The defaults that an API server sets on device claims and slices, and the conversion of older versions to v1.

R = TypeVar("R", ExactDeviceRequest, DeviceSubRequest)


def default_resource_claim(obj: ResourceClaim) -> ResourceClaim:
    """Return a ResourceClaim with the defaults that an API server sets."""
    return replace(obj, spec=_claim_spec(obj.spec))


def default_resource_claim_template(obj: ResourceClaimTemplate) -> ResourceClaimTemplate:
    """Return a ResourceClaimTemplate with the defaults that an API server sets."""
    return replace(obj, spec=replace(obj.spec, spec=_claim_spec(obj.spec.spec)))


def default_resource_slice(obj: ResourceSlice) -> ResourceSlice:
    """Return a ResourceSlice converted to v1."""
    if all(device.basic is None for device in obj.spec.devices):
        return obj
    return replace(obj, spec=replace(obj.spec, devices=tuple(map(_default_device, obj.spec.devices))))


def _default_device(device: Device) -> Device:
    if device.basic is None:
        return device
    values = {name: getattr(device.basic, name) for name in DeviceFeatures.__struct_fields__}
    return Device(name=device.name, **values)


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    return replace(spec, devices=replace(spec.devices, requests=tuple(map(_default_request, spec.devices.requests))))


def _default_request(request: DeviceRequest) -> DeviceRequest:
    exactly = request.exactly
    if exactly is None and request.device_class_name:
        values = {name: getattr(request, name) for name in ExactDeviceRequest.__struct_fields__}
        exactly = ExactDeviceRequest(**values)
    return DeviceRequest(
        name=request.name,
        exactly=None if exactly is None else _amount(exactly),
        first_available=tuple(map(_amount, request.first_available)),
    )


def _amount(request: R) -> R:
    mode = request.allocation_mode or EXACT_COUNT
    return replace(
        request,
        allocation_mode=mode,
        count=1 if mode == EXACT_COUNT and request.count == 0 else request.count,
        tolerations=tuple(map(_default_device_toleration, request.tolerations)),
    )


def _default_device_toleration(toleration: DeviceToleration) -> DeviceToleration:
    return replace(toleration, operator=toleration.operator or "Equal")


DEFAULT_NAMESPACE: Final = "default"
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
FILESYSTEM: Final = "Filesystem"
_NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_AGGREGATE: Final = RequestRules(pod_level=False, status=False, pod_level_status=False)

T = TypeVar("T", bound=ApiObject)


def default_pod_spec(spec: PodSpec) -> PodSpec:
    """Return a pod spec with the defaults that an API server sets.

    Raises QuantityError if a value is not a quantity; the error has the field's path.
    """
    spec = replace(
        spec,
        containers=_default_containers(spec.containers, spec.host_network),
        init_containers=_default_containers(spec.init_containers, spec.host_network),
        volumes=tuple(_default_source(v) if v.rbd is not None or v.ephemeral is not None else v for v in spec.volumes),
        scheduler_name=spec.scheduler_name or DEFAULT_SCHEDULER_NAME,
        termination_grace_period_seconds=(
            30 if spec.termination_grace_period_seconds is None else spec.termination_grace_period_seconds
        ),
    )
    if spec.resources.requests or spec.resources.limits:
        spec = _default_pod_level(spec)
    return spec


def default_pod(pod: Pod) -> Pod:
    """Return a pod with API defaults: those of ``default_pod_spec``, and the namespace ``default`` if it has none."""
    metadata = pod.metadata if pod.namespace else replace(pod.metadata, namespace=DEFAULT_NAMESPACE)
    return replace(pod, metadata=metadata, spec=default_pod_spec(pod.spec))


def default_object(obj: T) -> T:
    """Return an object of any kind except Pod with the defaults that an API server sets."""
    if type(obj) in NAMESPACED and not obj.namespace:
        obj = replace(obj, metadata=replace(obj.metadata, namespace=DEFAULT_NAMESPACE))
    default = _DEFAULTS.get(type(obj))
    return obj if default is None else cast("T", default(obj))


def _default_containers(containers: Iterable[Container], host_network: bool) -> tuple[Container, ...]:
    out = []
    for container in containers:
        resources = container.resources
        if resources.limits:
            resources = replace(resources, requests={**resources.limits, **resources.requests})
        ports = tuple(
            replace(
                port,
                protocol=port.protocol or "TCP",
                host_port=port.container_port if host_network and not port.host_port else port.host_port,
            )
            for port in container.ports
        )
        out.append(replace(container, resources=resources, ports=ports))
    return tuple(out)


def _default_source(volume: Volume) -> Volume:
    if volume.rbd is not None:
        volume = replace(volume, rbd=replace(volume.rbd, pool=volume.rbd.pool or "rbd"))
    template = volume.ephemeral.volume_claim_template if volume.ephemeral is not None else None
    if template is None:
        return volume
    spec = replace(template.spec, volume_mode=template.spec.volume_mode or FILESYSTEM)
    return replace(volume, ephemeral=EphemeralVolumeSource(volume_claim_template=replace(template, spec=spec)))


def _default_pod_level(spec: PodSpec) -> PodSpec:
    """Fill in pod-level limits and requests from each other and from the containers' (KEP-2837)."""
    pod = Pod(spec=spec)
    every = [container.resources for container in (*spec.containers, *spec.init_containers)]
    written = forms([*(r.requests for r in every), *(r.limits for r in every)])
    limits = dict(spec.resources.limits)
    requests = dict(spec.resources.requests)
    for name, amount in container_limits(pod).items():
        if name.startswith(HUGEPAGES_PREFIX) and name not in requests:
            limits.setdefault(name, str(Amount(amount, written.get(name, QuantityFormat.DECIMAL))))
    if limits:
        for name, amount in container_requests(pod, _AGGREGATE).items():
            if is_pod_level_resource(name) and not name.startswith(HUGEPAGES_PREFIX):
                requests.setdefault(name, str(Amount(amount, written.get(name, QuantityFormat.DECIMAL))))
        for name, text in limits.items():
            if is_pod_level_resource(name):
                requests.setdefault(name, text)
    return replace(spec, resources=ResourceRequirements(requests=requests, limits=limits))


def _default_namespace(obj: Namespace) -> Namespace:
    if not obj.name or _NAMESPACE_NAME_LABEL in obj.metadata.labels:
        return obj
    labels = {**obj.metadata.labels, _NAMESPACE_NAME_LABEL: obj.name}
    return replace(obj, metadata=replace(obj.metadata, labels=labels))


_ClaimOrVolume = TypeVar("_ClaimOrVolume", PersistentVolumeClaim, PersistentVolume)


def _default_volume(obj: _ClaimOrVolume) -> _ClaimOrVolume:
    return replace(
        obj,
        spec=replace(obj.spec, volume_mode=obj.spec.volume_mode or FILESYSTEM),
        status=replace(obj.status, phase=obj.status.phase or "Pending"),
    )


def _default_storage_class(obj: StorageClass) -> StorageClass:
    return replace(obj, volume_binding_mode=obj.volume_binding_mode or "Immediate")


def _default_limit_range(obj: LimitRange) -> LimitRange:
    items = []
    for item in obj.spec.limits:
        if item.type == "Container":
            limits = {**item.max, **item.default}
            item = replace(item, default=limits, default_request={**item.min, **limits, **item.default_request})
        items.append(item)
    return replace(obj, spec=LimitRangeSpec(limits=tuple(items)))


NAMESPACED: Final = frozenset(
    {
        Service,
        LimitRange,
        ResourceQuota,
        ReplicationController,
        PodTemplate,
        Deployment,
        ReplicaSet,
        StatefulSet,
        DaemonSet,
        Job,
        CronJob,
        PodDisruptionBudget,
        PodGroup,
        Workload,
        CompositePodGroup,
        PersistentVolumeClaim,
        CSIStorageCapacity,
        ResourceClaim,
        ResourceClaimTemplate,
        Lease,
        LeaseCandidate,
        ConfigMap,
        Endpoints,
        Event,
        *NAMESPACED_CUSTOM_RESOURCES,
    }
)
_DEFAULTS: Final[Mapping[type, Callable[..., ApiObject]]] = {
    Namespace: _default_namespace,
    LimitRange: _default_limit_range,
    PersistentVolumeClaim: _default_volume,
    PersistentVolume: _default_volume,
    StorageClass: _default_storage_class,
    ResourceClaim: default_resource_claim,
    ResourceClaimTemplate: default_resource_claim_template,
    ResourceSlice: default_resource_slice,
}
