"""The parts common to all Kubernetes objects (meta/v1): metadata, owners and label selectors.

All API types contain only the fields that scheduling reads; other fields are skipped during decoding. If Kubernetes
treats absent, empty and null alike, the field's default is the empty value, so that no reader tests for ``None``.
"""

from datetime import datetime
from typing import Annotated

import msgspec

from kschedctl.common.findings import ObjectRef

Labels = dict[str, str]
#: A meta/v1 Time: RFC 3339, always with a time zone.
Time = Annotated[datetime, msgspec.Meta(tz=True)]
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ApiStruct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """The base of all API types: immutable, camelCase in JSON, unknown fields ignored."""


class OwnerReference(ApiStruct, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool = False


class ObjectMeta(ApiStruct, frozen=True):
    name: str = ""
    namespace: str = ""
    generate_name: str = ""
    uid: str = ""
    labels: Labels = {}
    annotations: Labels = {}
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    resource_version: str = ""

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the object, or ``None`` (metav1.GetControllerOf)."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class LabelSelectorRequirement(ApiStruct, frozen=True):
    key: str
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(ApiStruct, frozen=True):
    """A meta/v1 LabelSelector. An empty one matches everything; ``None`` in its place matches nothing."""

    match_labels: Labels = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class ApiObject(ApiStruct, frozen=True, kw_only=True):
    """A top-level object, as an API server lists it."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        """The object's name."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for cluster-scoped kinds."""
        return self.metadata.namespace

    @property
    def ref(self) -> ObjectRef:
        """The reference to the object in findings; it does not contain the API version."""
        return ObjectRef(type(self).__name__, self.name, self.namespace)
