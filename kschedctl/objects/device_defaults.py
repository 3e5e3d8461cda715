"""The defaults that an API server sets on device claims and slices, and the conversion of older versions to v1."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

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
    return replace(obj, spec=replace(obj.spec, devices=tuple(map(_device, obj.spec.devices))))


def _device(device: Device) -> Device:
    if device.basic is None:
        return device
    values = {name: getattr(device.basic, name) for name in DeviceFeatures.__struct_fields__}
    return Device(name=device.name, **values)


def _claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    return replace(spec, devices=replace(spec.devices, requests=tuple(map(_request, spec.devices.requests))))


def _request(request: DeviceRequest) -> DeviceRequest:
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
        tolerations=tuple(map(_toleration, request.tolerations)),
    )


def _toleration(toleration: DeviceToleration) -> DeviceToleration:
    return replace(toleration, operator=toleration.operator or "Equal")
