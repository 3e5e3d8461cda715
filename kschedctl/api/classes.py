"""Classes that a pod's admission reads: PriorityClass (scheduling.k8s.io) and RuntimeClass (node.k8s.io)."""

from __future__ import annotations

from kschedctl.api.core import ResourceList
from kschedctl.api.meta import ApiObject, ApiStruct, Int32
from kschedctl.api.pod import Toleration


class PriorityClass(ApiObject, frozen=True, kw_only=True):
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = ""
    description: str = ""


class RuntimeClassScheduling(ApiStruct, frozen=True):
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClassOverhead(ApiStruct, frozen=True):
    pod_fixed: ResourceList = {}


class RuntimeClass(ApiObject, frozen=True, kw_only=True):
    handler: str = ""
    overhead: RuntimeClassOverhead | None = None
    scheduling: RuntimeClassScheduling | None = None
