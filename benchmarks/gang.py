"""CPU time of the decision for a gang of GPU pods, all nodes searched for every member: python -m benchmarks.gang"""

import argparse
import statistics
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from benchmarks import synthetic
from benchmarks.cycle import with_other_request
from benchmarks.rows import Row, profiled, report, timed
from benchmarks.synthetic import Object
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.defaults import DEFAULT_SCHEDULER_NAME
from kschedctl.objects.pod import Pod, PodSchedulingGroup
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD, TOPOLOGY_AWARE
from kschedctl.scheduler.cycle.pod_group_cycle import schedule_pod_group
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.runtime import Framework

KINDS: Final = {"nodes": "any node", "racks": "one of the racks", "preempt": "nodes full of pods of low priority"}
GPU: Final = "nvidia.com/gpu"
RACK: Final = "example.com/rack"
GPUS_PER_NODE: Final = 8
GPUS_PER_POD: Final = 2
PRIORITY: Final = 1000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gang", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000, help="pods that run already")
    parser.add_argument("--members", type=int, default=256, help="pods of the gang, all of them needed")
    parser.add_argument("--racks", type=int, default=40)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS, help="the kinds of gangs")
    parser.add_argument("--repeat", type=int, default=5, help="the median of so many is shown")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="show the N most expensive functions")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the CPU time of the decision for a gang of each kind; notes have the first one."""
    release = LATEST.with_features({GENERIC_WORKLOAD: True, TOPOLOGY_AWARE: True})
    free = with_gpus(synthetic.cluster(args.nodes, args.pods), args.racks)
    for kind in args.kind:
        gangs = [members(f"gang-{number}", number, args.members) for number in range(args.repeat + 1)]
        cluster = (full(free) if kind == "preempt" else free).with_added(group(kind, gang) for gang in gangs)
        cluster = cluster.with_pods(added=[pod for gang in gangs for pod in gang])
        framework = Scheduler(cluster, release).framework(DEFAULT_SCHEDULER_NAME)
        last, first = timed(decide, framework, gangs[0])
        with profiled(args.profile):
            times = [timed(decide, framework, gang)[1] for gang in gangs[1:]]
        fitting = sum(member.fits for member in last.members)
        note = f"{len(last.placements)} placements, {fitting} members find a node, {len(last.victims)} victims"
        what = f"a gang of {args.members} pods, {args.nodes:,} nodes: {KINDS[kind]}"
        yield Row(what, statistics.median(times), "ms", f"first {first:.0f} ms; {note}")


def decide(framework: Framework, gang: Sequence[Pod]) -> PodGroupDecision:
    """Decide for a gang."""
    return schedule_pod_group(framework, gang)


def with_gpus(cluster: Cluster, n_racks: int) -> Cluster:
    """Return the cluster whose nodes have GPUs and are in racks, in turn."""

    def changed(row: int, node: Node) -> Node:
        labels = {**node.metadata.labels, RACK: f"rack-{row % n_racks:02}"}
        amounts = {**node.status.allocatable, GPU: str(GPUS_PER_NODE)}
        status = replace(node.status, allocatable=amounts, capacity=amounts)
        return replace(node, metadata=replace(node.metadata, labels=labels), status=status)

    return cluster.with_nodes([changed(row, node) for row, node in enumerate(cluster.nodes.objects)])


def full(cluster: Cluster) -> Cluster:
    """Return the cluster with a pod of low priority per node that uses all of its GPUs."""
    return cluster.with_pods(added=[gpu_pod(f"low-{name}", GPUS_PER_NODE, node=name) for name in cluster.nodes.names])


def group(kind: str, gang: Sequence[Pod]) -> PodGroup:
    """Return the PodGroup of a gang that needs all of its members; with the kind ``racks`` all of them in one rack."""
    spec: Object = {"schedulingPolicy": {"gang": {"minCount": len(gang)}}, "priority": PRIORITY}
    if kind == "racks":
        spec["schedulingConstraints"] = {"topology": [{"key": RACK}]}
    first = gang[0]
    metadata = {"name": first.spec.pod_group_name, "namespace": first.namespace}
    return msgspec.convert({"metadata": metadata, "spec": spec}, PodGroup)


def members(name: str, number: int, n_members: int) -> list[Pod]:
    """Return the pods of a gang. Their memory request is that of no other gang, so that no cache knows their spec."""
    pod = with_other_request(gpu_pod(name, GPUS_PER_POD), number)
    spec = replace(pod.spec, priority=PRIORITY, scheduling_group=PodSchedulingGroup(pod_group_name=name))
    return [
        replace(pod, metadata=replace(pod.metadata, name=f"{name}-{i}", uid=f"{name}-{i}"), spec=spec)
        for i in range(n_members)
    ]


def gpu_pod(name: str, n_gpus: int, *, node: str = "") -> Pod:
    """Return a pod of the synthetic cluster that requests GPUs."""
    pod = synthetic.pod_to_place("plain")
    container = pod.spec.containers[0]
    requests = {**container.resources.requests, GPU: str(n_gpus)}
    container = replace(container, resources=replace(container.resources, requests=requests))
    spec = replace(pod.spec, containers=(container,), node_name=node)
    return replace(pod, metadata=replace(pod.metadata, name=name, uid=name), spec=spec)


if __name__ == "__main__":
    main()
