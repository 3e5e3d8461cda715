"""NodePorts: a host port is used once per node, address and protocol."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kschedctl.api.pod import ContainerPort, Pod
from kschedctl.arrays import Mask
from kschedctl.cluster.overlay import Overlay
from kschedctl.cluster.records import PodClass
from kschedctl.framework.checks import FilterCheck
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.dependencies import Reach, Reads
from kschedctl.framework.events import ActionType, ClusterEventWithHint, EventResource, is_on_node, registered
from kschedctl.framework.interface import FilterPlugin, PluginError, PreFilterPlugin, PreFilterResult
from kschedctl.framework.operands import Operands
from kschedctl.framework.remedy import Remedy, RemedyContext, Size, removed
from kschedctl.framework.status import SKIP, Code, Reason, Rejections

REASON: Final = "node(s) didn't have free ports for the requested pod ports"
_ANY_ADDRESS: Final = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a container uses."""

    address: str
    protocol: str
    port: int

    def conflicts(self, other: HostPort) -> bool:
        """Whether both cannot be used on one node; an unset address stands for all."""
        return (
            self.port == other.port
            and self.protocol == other.protocol
            and (self.address == other.address or _ANY_ADDRESS in (self.address, other.address))
        )

    def __str__(self) -> str:
        address = "" if self.address == _ANY_ADDRESS else f"{self.address}:"
        return f"{address}{self.port}/{self.protocol}"


class PortInUse(Operands, frozen=True):
    """A pod of the node uses a port that is wanted.

    Attributes
    ----------
    port : HostPort
        The port as the pod to place wants it.
    pod : str
        ``namespace/name`` of the pod that uses it, or one that conflicts with it.
    """

    port: HostPort
    pod: str

    def words(self) -> str:
        """Which port, and who uses it."""
        return f"host port {self.port} is used by {self.pod}"

    def data(self) -> dict[str, Any]:
        """The port as text."""
        return {"port": str(self.port), "pod": self.pod}

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Do without the port, or without the pod that uses it."""
        yield from _without_ports(context)
        yield from context.pod_removed(self.pod)


class PortOfNominatedPod(Operands, frozen=True):
    """A pod that is only nominated to the node would use a port that is wanted."""

    def words(self) -> str:
        """That it is a nominated pod's."""
        return "host port is used by a pod nominated to the node"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Do without the port."""
        return _without_ports(context)


def _without_ports(context: RemedyContext) -> Iterator[Remedy]:
    """Take one host port of the pod away, whichever that is."""
    spec = context.pod.spec
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for i, container in enumerate(containers):
            for j, port in enumerate(container.ports):
                if port.host_port <= 0:
                    continue
                at = ("spec", field, i, "ports", j)
                # With hostNetwork every port of a container is one of the host.
                gone = removed(*at) if spec.host_network else removed(*at, "hostPort")
                yield context.pod_patch(
                    f"do without host port {_host_port(port)}",
                    gone,
                    size=Size.DROPPED,
                    family=("host port", field, i, j),
                )


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The host ports of a pod's containers and sidecars (scheduler/util ``GetHostPorts``)."""
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


@dataclass(frozen=True, slots=True)
class _State:
    """The wanted ports, and per port in use that conflicts with one, which pod classes use it.

    The masks are bool, shape (n_classes,).
    """

    wanted: tuple[HostPort, ...]
    users: tuple[Mask, ...]


class NodePorts(PreFilterPlugin, FilterPlugin):
    """Upstream: plugins/nodeports."""

    name = "NodePorts"
    reads = Reads(pods=Reach.NODE)

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Skip pods without host ports; find the pod classes that use one of the wanted."""
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
        """Pods that go and leave a wanted port; new nodes."""
        pods = self.handle.pods_that_wake(EventResource.ASSIGNED_POD)
        return (
            registered(pods, ActionType.DELETE, _after_pod_deleted),
            registered(EventResource.NODE, ActionType.ADD),
        )

    def sign_pod(self, pod: Pod) -> Hashable:
        """The numbers of its host ports."""
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        return tuple(sorted({port.host_port for c in containers for port in c.ports if port.host_port}))

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Turn away nodes with a pod that uses a wanted port."""
        ports = state.read(_State)
        if ports is None:
            raise PluginError('reading "PreFilterNodePorts" from cycleState: not found')
        pods = self.handle.cluster.pods
        taken = np.zeros(len(nodes), dtype=np.bool_)
        for users in ports.users:
            held = pods.sum_per_node(users.astype(np.int64))[nodes.rows] > 0
            # Upstream keeps a set: a pod that goes takes its port along, also where another pod has the same.
            for worlds, changed, sign in nodes.changes():
                held[worlds[users[pods.class_id[changed]]]] = sign > 0
            taken |= held

        def details(position: int) -> tuple[Reason, ...]:
            return (self._reason(ports, int(nodes.rows[position])),)

        return Rejections.where(taken, Code.UNSCHEDULABLE, REASON, details)

    def _reason(self, ports: _State, row: int) -> Reason:
        """Name a pod of the node that uses a wanted port; one that is only nominated has no name here."""
        pods = self.handle.cluster.pods
        for index in pods.on_node(row):
            if any(users[pods.class_id[index]] for users in ports.users):
                used = host_ports(pods.classes[pods.class_id[index]].pod)
                want = next(want for want in ports.wanted if any(want.conflicts(port) for port in used))
                return Reason(REASON, PortInUse(want, pods.key(int(index))))
        return Reason(REASON, PortOfNominatedPod())

    def explain_filter(self, state: CycleState, pod: Pod, row: int) -> tuple[FilterCheck, ...]:
        """Every host port against the pods of the node."""
        pods = self.handle.cluster.pods
        used = [
            (port, pods.key(index))
            for index in pods.on_node(row).tolist()
            for port in host_ports(pods.classes[pods.class_id[index]].pod)
        ]
        checks = []
        for want in host_ports(pod):
            user = next((key for port, key in used if want.conflicts(port)), None)
            found = "nobody uses it" if user is None else f"used by {user}"
            checks.append(FilterCheck(f"host port {want}", found, user is None))
        return tuple(checks)


def _after_pod_deleted(pod: Pod, old: Pod, new: None) -> bool:
    if not is_on_node(old, or_nominated=True):
        return False
    return any(want.conflicts(used) for want in host_ports(pod) for used in host_ports(old))
