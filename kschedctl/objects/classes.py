"""The classes that pod admission reads: PriorityClass (scheduling.k8s.io) and RuntimeClass (node.k8s.io)."""

from __future__ import annotations

from typing import Final

from kschedctl.objects.core import ResourceList
from kschedctl.objects.meta import ApiObject, ApiStruct, Int32, ObjectMeta
from kschedctl.objects.pod import Toleration


class PriorityClass(ApiObject, frozen=True, kw_only=True):
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = ""
    description: str = ""


#: The classes built into every API server.
SYSTEM_CLASSES: Final = (
    PriorityClass(metadata=ObjectMeta(name="system-cluster-critical"), value=2_000_000_000),
    PriorityClass(metadata=ObjectMeta(name="system-node-critical"), value=2_000_001_000),
)


class RuntimeClassScheduling(ApiStruct, frozen=True):
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClassOverhead(ApiStruct, frozen=True):
    pod_fixed: ResourceList = {}


class RuntimeClass(ApiObject, frozen=True, kw_only=True):
    handler: str = ""
    overhead: RuntimeClassOverhead | None = None
    scheduling: RuntimeClassScheduling | None = None
