"""NodePorts: a host port is used once per node, address and protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kschedctl.api.pod import ContainerPort, Pod
from kschedctl.cluster.labels import Int64
from kschedctl.cluster.overlay import Overlay
from kschedctl.framework.cycle_state import CycleState
from kschedctl.framework.interface import FilterPlugin, PluginError, PreFilterPlugin, PreFilterResult
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


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """The host ports of a pod's containers and sidecars (scheduler/util ``GetHostPorts``)."""
    sidecars = (container for container in pod.spec.init_containers if container.restart_policy == "Always")
    return tuple(
        _host_port(port)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports
        if port.host_port > 0
    )


def _host_port(port: ContainerPort) -> HostPort:
    return HostPort(port.host_ip or _ANY_ADDRESS, port.protocol or "TCP", port.host_port)


@dataclass(frozen=True, slots=True)
class _State:
    """The wanted ports, and per pod class 1 where it uses one of them: int64, shape (n_classes,)."""

    wanted: tuple[HostPort, ...]
    conflicting: Int64


class NodePorts(PreFilterPlugin, FilterPlugin):
    """Upstream: plugins/nodeports."""

    name = "NodePorts"

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Skip pods without host ports; find the pod classes that use one of the wanted."""
        wanted = host_ports(pod)
        if not wanted:
            return PreFilterResult(SKIP)
        conflicting = [
            any(want.conflicts(used) for used in host_ports(pod_class.pod) for want in wanted)
            for pod_class in self.handle.cluster.pods.classes
        ]
        state.write(_State(wanted, np.array(conflicting, dtype=np.int64)))
        return PreFilterResult()

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        """Turn away nodes with a pod that uses a wanted port."""
        ports = state.read(_State)
        if ports is None:
            raise PluginError('reading "PreFilterNodePorts" from cycleState: not found')
        users = self.handle.cluster.pods.sum_per_node(ports.conflicting)[nodes.rows]
        users = users + nodes.delta(self.name, ports.conflicting)

        def details(position: int) -> tuple[Reason, ...]:
            return (self._reason(ports, int(nodes.rows[position])),)

        return Rejections.where(users > 0, Code.UNSCHEDULABLE, REASON, details)

    def _reason(self, ports: _State, row: int) -> Reason:
        """Name a pod of the node that uses a wanted port; one that is only nominated has no name here."""
        pods = self.handle.cluster.pods
        for index in pods.on_node(row):
            if ports.conflicting[pods.class_id[index]]:
                used = host_ports(pods.classes[pods.class_id[index]].pod)
                want = next(want for want in ports.wanted if any(want.conflicts(port) for port in used))
                key = pods.key(int(index))
                return Reason(REASON, f"host port {want} is used by {key}", {"port": str(want), "pod": key})
        return Reason(REASON, "host port is used by a pod nominated to the node")
