"""Time of the best placement of many pods, and its gap to the proven bound: python -m benchmarks.optimum

Twenty workloads are placed on nodes of four sizes in three zones that are partly in use: some workloads are spread over
zones or have anti-affinity between their replicas, some have a higher priority, some select the nodes of one size.
Together they request ``--fill`` percent of the free capacity. The output includes the multi-step simulation of the same
cluster for comparison.
"""

import argparse
import random
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from benchmarks.rows import Row, report
from kschedctl.cluster.builder import ClusterBuilder
from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Namespace, Node
from kschedctl.objects.defaults import default_pod
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.comparison import placement_of, simulate_pending
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.goals import goals_of
from kschedctl.trials.optimum.question import no_evictions, pose
from kschedctl.trials.optimum.search import best
from kschedctl.trials.simulate.timeline import TimelineEvent

N_WORKLOADS: Final = 20
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
#: The sizes of nodes: CPU in milli-CPU, memory in MiB.
SIZES: Final = ((3920, 14_000), (7910, 30_000), (7910, 60_000), (15_890, 60_000))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optimum", description=__doc__)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--pods", type=int, default=500)
    parser.add_argument("--fill", type=int, default=100, help="what the pods want of what is free, in percent")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--goal", choices=[goal.value for goal in FinalGoal], default=FinalGoal.SCORES.value)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prove", action="store_true", help="search on when no better placement comes")
    parser.add_argument("--evicting", action="store_true", help="whether running pods may be evicted")
    report(parser, measure)


def measure(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the wall-clock time of the search, and of the simulation of the same pods; notes have the goals."""
    scheduler = Scheduler(cluster(args.nodes, args.pods, args.fill / 100, args.seed))
    final = FinalGoal(args.goal)
    what = f"{args.pods:,} pods requesting {args.fill} % of what {args.nodes:,} nodes have free"
    begin = time.monotonic()
    simulation = simulate_pending(scheduler)
    simulated = time.monotonic() - begin
    question = pose(scheduler, None if args.evicting else no_evictions)
    known = placement_of(question, simulation)
    goals = "; ".join(f"{goal.name} {goal.value(question, known)}" for goal in goals_of(question, final))
    yield Row(f"simulation of {what}", simulated, "s", goals)
    begin = time.monotonic()
    # A multi-step result with evictions is not a valid start where evictions are not allowed.
    evicted = any(entry.event is TimelineEvent.PREEMPTED for entry in simulation.timeline)
    may_know = args.evicting or not evicted
    found = best(question, seconds=args.seconds, final=final, known=[known] if may_know else [], proves=args.prove)
    seconds = time.monotonic() - begin
    goals = "; ".join(
        f"{each.goal.name} {each.value}" + ("" if each.gap is None else f", gap {each.gap:.2f} %")
        for each in found.standings
    )
    yield Row(f"best placement of {what}", seconds, "s", f"{goals}; {'proven' if found.proven else 'not proven'}")


def cluster(n_nodes: int, n_pods: int, fill: float, seed: int = 1) -> Cluster:
    """Return a cluster with ``n_pods`` pending pods that request the share ``fill`` of its free capacity."""
    draw = random.Random(seed)
    builder = ClusterBuilder()
    builder.add(msgspec.convert({"metadata": {"name": "default"}}, Namespace))
    free = [0, 0]
    for i in range(n_nodes):
        cpu, memory = SIZES[i % len(SIZES)]
        name = f"node-{i:04}"
        offers = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": "58"}
        labels = {HOSTNAME: name, ZONE: f"zone-{'abc'[i // len(SIZES) % 3]}", "size": str(i % len(SIZES))}
        builder.add(
            msgspec.convert({"metadata": {"name": name, "labels": labels}, "status": {"allocatable": offers}}, Node)
        )
        # One of four utilizations, as in autoscaled pools.
        used = draw.choice((0.1, 0.35, 0.5, 0.7))
        requests = {"cpu": f"{int(cpu * used)}m", "memory": f"{int(memory * used)}Mi"}
        free[0] += cpu - int(cpu * used)
        free[1] += memory - int(memory * used)
        builder.add(_pod(f"running-{i}", {"app": "running"}, requests, {"nodeName": name, "priority": 0}))
    for pod in workloads(n_pods, free, fill, draw):
        builder.add(pod)
    return builder.build()


def workloads(n_pods: int, free: list[int], fill: float, draw: random.Random) -> Iterator[Pod]:
    """Yield the pods of twenty workloads."""
    shares = [(draw.uniform(0.4, 2.0), draw.uniform(0.4, 2.0)) for _ in range(N_WORKLOADS)]
    each = n_pods // N_WORKLOADS
    per_cpu = free[0] * fill / sum(cpu for cpu, _ in shares) / each
    per_memory = free[1] * fill / sum(memory for _, memory in shares) / each
    for number, (cpu, memory) in enumerate(shares):
        requests = {"cpu": f"{int(cpu * per_cpu)}m", "memory": f"{int(memory * per_memory)}Mi"}
        spec: dict[str, Any] = {"priority": 100 if number % 5 == 0 else 0}
        selector = {"matchLabels": {"app": f"app-{number}"}}
        if number % 4 == 1:
            spec["topologySpreadConstraints"] = [
                {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
            ]
        if number % 4 == 2:
            term = {"labelSelector": selector, "topologyKey": HOSTNAME}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if number % 7 == 3:
            spec["nodeSelector"] = {"size": str(number % len(SIZES))}
        for i in range(each):
            yield _pod(f"app-{number}-{i}", {"app": f"app-{number}"}, requests, spec)


def _pod(name: str, labels: dict[str, str], requests: dict[str, str], spec: dict[str, Any]) -> Pod:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": labels["app"], "uid": "u", "controller": True}
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels, "ownerReferences": [owner]}
    containers = [{"name": "c", "image": "registry.example/app:1", "resources": {"requests": requests}}]
    return default_pod(msgspec.convert({"metadata": metadata, "spec": {**spec, "containers": containers}}, Pod))


if __name__ == "__main__":
    main()
