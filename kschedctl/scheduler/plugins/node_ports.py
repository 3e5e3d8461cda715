"""NodePorts: a host port can be used only once per node, address and protocol."""

from collections.abc import Hashable, Iterator
from typing import Any, Final

import msgspec
import numpy as np

from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.records import PodClass
from kschedctl.common.arrays import Mask
from kschedctl.objects.pod import ContainerPort, Pod
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, is_on_node, registered
from kschedctl.scheduler.framework.interface import FilterPlugin, PreFilterPlugin, PreFilterResult, required_state
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext, remove_operation
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.framework.status import SKIP, Code, Reason, Rejections

REASON: Final = "node(s) didn't have free ports for the requested pod ports"
_ANY_ADDRESS: Final = "0.0.0.0"


class HostPort(msgspec.Struct, frozen=True):
    """A host port requested or used by a container: address, protocol and number."""

    address: str
    protocol: str
    port: int

    def conflicts(self, other: "HostPort") -> bool:
        """Report whether the two ports conflict on one node; the address ``0.0.0.0`` overlaps with every address."""
        return (
            self.port == other.port
            and self.protocol == other.protocol
            and (self.address == other.address or _ANY_ADDRESS in (self.address, other.address))
        )

    def __str__(self) -> str:
        address = "" if self.address == _ANY_ADDRESS else f"{self.address}:"
        return f"{address}{self.port}/{self.protocol}"


class PortInUse(Operands, frozen=True):
    """A pod on the node uses a host port that the pod requests."""

    #: The port requested by the pod to place.
    port: HostPort
    #: ``namespace/name`` of the pod on the node that uses this port or a conflicting one.
    pod: str

    def words(self) -> str:
        return f"host port {self.port} is used by {self.pod}"

    def data(self) -> dict[str, Any]:
        return {"port": str(self.port), "pod": self.pod}

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to remove a host port from the pod, or to delete the pod that uses the port."""
        yield from _without_ports(context)
        yield from context.pod_removed(self.pod)


class PortOfNominatedPod(Operands, frozen=True):
    """A pod nominated to the node would use a host port that the pod requests."""

    def words(self) -> str:
        return "host port is used by a pod nominated to the node"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to remove a host port from the pod."""
        return _without_ports(context)


def _without_ports(context: RemedyContext) -> Iterator[Remedy]:
    """Yield one remedy per host port of the pod: remove it.

    With ``hostNetwork`` the program listens on the node's own port, whether or not the pod declares it.
    """
    spec = context.pod.spec
    if spec.host_network:
        return
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for i, container in enumerate(containers):
            for j, port in enumerate(container.ports):
                if port.host_port <= 0:
                    continue
                at = ("spec", field, i, "ports", j)
                yield context.pod_patch(
                    f"drop host port {_host_port(port)}",
                    remove_operation(*at, "hostPort"),
                    risk=Risk.DROPPED,
                    family=("host port", field, i, j),
                )


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Return the host ports of a pod's containers and sidecars (scheduler/util ``GetHostPorts``)."""
    sidecars = (container for container in pod.spec.init_containers if container.restart_policy == "Always")
    return tuple(
        _host_port(port)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports
        if port.host_port > 0
    )


def _ports_of_class(pod_class: PodClass) -> tuple[HostPort, ...]:
    return host_ports(pod_class.pod)


def _host_port(port: ContainerPort) -> HostPort:
    return HostPort(port.host_ip or _ANY_ADDRESS, port.protocol or "TCP", port.host_port)


class _State(msgspec.Struct, frozen=True):
    """The requested host ports, and the pod classes that use each conflicting port.

    ``users`` has one mask per port in use that conflicts with a requested one: bool, shape (n_classes,).
    """

    wanted: tuple[HostPort, ...]
    users: tuple[Mask, ...]


class NodePorts(PreFilterPlugin, FilterPlugin):
    """Upstream: plugins/nodeports."""

    name = "NodePorts"
    reads = Dependencies(pods=Reach.NODE)

    def reach_of_copies(self, pod: Pod) -> Reach:
        return Reach.NODE if host_ports(pod) else Reach.NOTHING

    def reach_of_pods(self, pod: Pod) -> Reach:
        # The classes of pods with a port are part of what PreFilter prepares.
        return Reach.CLUSTER if host_ports(pod) else Reach.NOTHING

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        wanted = host_ports(pod)
        if not wanted:
            return PreFilterResult(SKIP)
        pods = self.handle.cluster.pods
        users: dict[HostPort, Mask] = {}
        for i, ports in pods.classes_having(_ports_of_class):
            for used in ports:
                if any(want.conflicts(used) for want in wanted):
                    users.setdefault(used, np.zeros(len(pods.classes), dtype=np.bool_))[i] = True
        state.write(_State(wanted, tuple(users.values())))
        return PreFilterResult()

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = self.handle.pods_that_wake(EventResource.ASSIGNED_POD)
        return (registered(pods, ActionType.DELETE, _after_pod_deleted), registered(EventResource.NODE, ActionType.ADD))

    def sign_pod(self, pod: Pod) -> Hashable:
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        return tuple(sorted({port.host_port for c in containers for port in c.ports if port.host_port}))

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        ports = required_state(state, _State, 'reading "PreFilterNodePorts" from cycleState: not found')
        pods = self.handle.cluster.pods
        taken = np.zeros(len(nodes), dtype=np.bool_)
        for users in ports.users:
            held = pods.sum_per_node(users.astype(np.int64))[nodes.rows] > 0
            # Upstream stores a set: removing a pod frees its port even if another pod uses the same port.
            for worlds, changed, sign in nodes.changes():
                held[worlds[users[pods.class_id[changed]]]] = sign > 0
            taken |= held

        def details(position: int) -> tuple[Reason, ...]:
            # A pod on the node that uses a conflicting port is named, nominated pods are not.
            for index in pods.on_node(int(nodes.rows[position])):
                if any(users[pods.class_id[index]] for users in ports.users):
                    used = host_ports(pods.classes[pods.class_id[index]].pod)
                    want = next(want for want in ports.wanted if any(want.conflicts(port) for port in used))
                    return (Reason(REASON, PortInUse(want, pods.key(int(index)))),)
            return (Reason(REASON, PortOfNominatedPod()),)

        return Rejections.where(taken, Code.UNSCHEDULABLE, REASON, details)


def _after_pod_deleted(pod: Pod, old: Pod, new: None) -> bool:
    if not is_on_node(old, or_nominated=True):
        return False
    return any(want.conflicts(used) for want in host_ports(pod) for used in host_ports(old))
