"""Clusters of more than 100 nodes, in which kube-scheduler looks at a sample, and pods scheduled one after another."""

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.sampling import nodes_to_find, samples
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import HOSTNAME, ZONE, make_cluster, make_node, make_pod


def many_nodes(number: int = 150) -> list[Node]:
    """Return nodes of different sizes in three zones, ``n000`` and so on."""
    sizes = [(4 + i * 13 % 12, 8 + i * 37 % 101) for i in range(number)]
    return [
        make_node(name, cpu=str(cpu), memory=f"{memory}Gi", labels={ZONE: f"z{i % 3}", HOSTNAME: name})
        for i, (cpu, memory) in enumerate(sizes)
        for name in [f"n{i:03d}"]
    ]


def scheduled_in_turn(nodes: list[Node], number: int, start: int = 0) -> Cluster:
    """Return a cluster with pods that a scheduler with samples has bound, one per second."""
    scheduler = Scheduler(make_cluster(nodes))
    bound: list[Pod] = []
    for i in range(number):
        decision = scheduler.decide(pod_of_turn(i))
        found = samples(decision, nodes_to_find(decision, 0))
        sample = next(each for each in found if (start - each.first_start) % len(nodes) < each.n_starts)
        start = sample.next_start
        bound.append(pod_of_turn(i, scheduler.cluster.nodes.names[sample.best[0]]))
        scheduler = scheduler.moved(scheduler.cluster.with_pods(added=bound[-1:]))
    return make_cluster(nodes, bound)


def pod_of_turn(number: int, node: str = "") -> Pod:
    """Return a pod; if it has a node, the pod was bound in the second of its number."""
    moment = f"2026-03-01T12:00:{number:02d}Z"
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": moment}
    status = {"phase": "Running", "startTime": moment, "conditions": [condition]} if node else {}
    return make_pod(f"p{number:02d}", node=node, requests={"cpu": "1", "memory": "1Gi"}, status=status)
