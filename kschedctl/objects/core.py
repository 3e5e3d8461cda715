"""Nodes, namespaces and services (core/v1); pods are in ``pod``, volumes in ``volume``, controllers in ``workload``."""

from msgspec import field

from kschedctl.objects.meta import ApiObject, ApiStruct, Int64, Labels, Time

#: A quantity as written, parsed by ``kschedctl.objects.quantity``. API servers never store a quantity as a number, and
#: numbers that clients send are at most an int64.
QuantityText = str | Int64 | float
ResourceList = dict[str, QuantityText]


class Taint(ApiStruct, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class NodeSpec(ApiStruct, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = field(default="", name="providerID")


class ContainerImage(ApiStruct, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class AttachedVolume(ApiStruct, frozen=True):
    name: str = ""


class NodeSystemInfo(ApiStruct, frozen=True):
    kubelet_version: str = ""


class Condition(ApiStruct, frozen=True):
    """A condition of a node or a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class NodeStatus(ApiStruct, frozen=True):
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    images: tuple[ContainerImage, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    conditions: tuple[Condition, ...] = ()
    declared_features: tuple[str, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()


class Node(ApiObject, frozen=True, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(ApiObject, frozen=True, kw_only=True):
    pass


class ServiceSpec(ApiStruct, frozen=True):
    """The spec of a Service; its selector is a plain map of labels."""

    selector: Labels = {}


class Service(ApiObject, frozen=True, kw_only=True):
    spec: ServiceSpec = ServiceSpec()
