"""The usage of pods (metrics.k8s.io), as far as suggestions read it."""

from __future__ import annotations

from kschedctl.objects.core import ResourceList
from kschedctl.objects.meta import ApiObject, ApiStruct


class ContainerMetrics(ApiStruct, frozen=True):
    name: str = ""
    usage: ResourceList = {}


class PodMetrics(ApiObject, frozen=True, kw_only=True):
    """The usage of a pod over a short time, by container."""

    containers: tuple[ContainerMetrics, ...] = ()
