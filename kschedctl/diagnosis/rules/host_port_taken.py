"""A host port that a pod of another workload uses on every node that could hold the pod.

Two installations of the same agent, such as two node exporters, want the same port of every node. Deleting the pod in
the way does not help, as its controller recreates it. Operators remove one of the two workloads, or give one of them
another port.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import listed
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.rules.obstacles import obstacles_on, together
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.objects.pod import Container, ContainerPort, Pod
from kschedctl.scheduler.framework.remedy import Operation, Remedy, Risk, replace_operation
from kschedctl.scheduler.plugins.node_ports import HostPort, PortInUse, host_ports

_PLUGIN: Final = "NodePorts"
#: The reasons of at most 50 nodes are looked at.
_SAMPLE: Final = 50
#: At most 100 other numbers are looked at for a free one.
_SEARCHED: Final = 100
_LAST_PORT: Final = 65535

Workload = tuple[str, str, str]


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the host port and the workload that uses it, if nodes lack nothing else."""
    if not situation.filtered:
        return
    others = [plugin for plugin in situation.rejected if plugin != _PLUGIN]
    nodes = situation.in_reach & situation.rejected_by(_PLUGIN) & ~situation.rejected_by(*others)
    if not nodes.any():
        return
    holders: Counter[tuple[HostPort, Workload]] = Counter()
    example: dict[Workload, Pod] = {}
    for row in all_rows(nodes)[:_SAMPLE]:
        for one in situation.operands(row, _PLUGIN):
            found = _pod(situation, one.pod) if isinstance(one, PortInUse) else None
            if isinstance(one, PortInUse) and found is not None:
                workload = workload_of(situation.cluster, found.metadata)
                holders[one.port, workload] += 1
                example.setdefault(workload, found)
    if not holders:
        return
    (port, workload), _ = holders.most_common(1)[0]
    # Replicas of the same workload are spread over nodes on purpose: they need more nodes, no other port.
    if workload != situation.workload:
        yield _diagnosis(situation, nodes, port, workload, example[workload])


def _pod(situation: Situation, key: str) -> Pod | None:
    namespace, _, name = key.partition("/")
    index = situation.cluster.pods.index.get((namespace, name))
    return situation.cluster.pods.pod(index) if index is not None else None


def _diagnosis(situation: Situation, nodes: Mask, port: HostPort, workload: Workload, holder: Pod) -> Diagnosis:
    number = int(nodes.sum())
    named = listed(situation.names(nodes)) if number <= 2 else f"{number} nodes"
    where = f"its node {named}" if situation.is_of_daemon_set else named
    rest = situation.in_reach & ~nodes
    cause = f"host port {port} is taken on {where} by {_words(workload)} (pod {holder.key})"
    advice = Advice(
        summary=f"remove one of {_words(situation.workload)} and {_words(workload)}: both want host port {port.port}",
        risk=Risk.MISTAKE if _same_program(situation.pod, holder) else Risk.POD,
        untried="the snapshot does not show which of the two is needed",
        command="# helm list -A; then uninstall or disable one of the two",
    )
    remedy = _other_port(situation, nodes, port, workload)
    return Diagnosis(
        rule="host-port-taken",
        cause=together(situation, cause, obstacles_on(situation, rest)),
        evidence=("both run the same program, by the names of their images",)
        if _same_program(situation.pod, holder)
        else (),
        remedies=(remedy,) if remedy is not None else (),
        advice=(advice,) if _same_program(situation.pod, holder) or situation.is_of_daemon_set else (),
    )


def _words(workload: Workload) -> str:
    kind, namespace, name = workload
    return f"{kind} {namespace}/{name}"


def _same_program(one: Pod, other: Pod) -> bool:
    """Report whether the pods have an image in common, apart from registry and version."""
    return not _programs(one).isdisjoint(_programs(other))


def _programs(pod: Pod) -> set[str]:
    return {_without_version(container) for container in pod.spec.containers} - {""}


def _without_version(container: Container) -> str:
    return container.image.rpartition("/")[2].partition("@")[0].partition(":")[0]


def _other_port(situation: Situation, nodes: Mask, port: HostPort, workload: Workload) -> Remedy | None:
    """Return the next host port that is free on all the nodes; ``None`` if the pod's workload cannot change it."""
    taken = {each.port for row in all_rows(nodes)[:_SAMPLE] for each in _ports_on(situation, row)}
    taken |= {each.port for each in host_ports(situation.pod)}
    last = min(port.port + _SEARCHED, _LAST_PORT)
    other = next((number for number in range(port.port + 1, last) if number not in taken), None)
    patch = list(_patch(situation.pod, port, other)) if other is not None else []
    if not patch:
        return None
    listening = "; the container must listen there, too" if situation.pod.spec.host_network else ""
    return situation.context().pod_patch(
        f"host port {other} instead of {port.port}, which {_words(workload)} uses{listening}",
        *patch,
        risk=Risk.POD,
        family=("other host port", port),
    )


def _ports_on(situation: Situation, row: int) -> Iterator[HostPort]:
    pods = situation.cluster.pods
    for index in pods.on_node(row).tolist():
        yield from host_ports(pods.classes[pods.class_id[index]].pod)


def _patch(pod: Pod, port: HostPort, other: int | None) -> Iterator[Operation]:
    """Yield the operations that change a host port; with the host's network, the container's port is the same."""
    for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for i, container in enumerate(containers):
            for j, each in enumerate(container.ports):
                if _is(each, port):
                    at = ("spec", field, i, "ports", j)
                    yield replace_operation(other, *at, "hostPort")
                    if pod.spec.host_network:
                        yield replace_operation(other, *at, "containerPort")


def _is(each: ContainerPort, port: HostPort) -> bool:
    return each.host_port == port.port and (each.protocol or "TCP") == port.protocol
