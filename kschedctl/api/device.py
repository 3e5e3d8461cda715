"""Claims for devices (resource.k8s.io/v1), as far as the answer says that they are not modelled."""

from __future__ import annotations

from kschedctl.api.meta import ApiObject, ApiStruct


class ResourceClaim(ApiObject, frozen=True, kw_only=True):
    pass


class ResourceSlice(ApiObject, frozen=True, kw_only=True):
    pass


class DeviceClassSpec(ApiStruct, frozen=True):
    extended_resource_name: str = ""


class DeviceClass(ApiObject, frozen=True, kw_only=True):
    spec: DeviceClassSpec = DeviceClassSpec()
