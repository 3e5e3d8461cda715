"""Reference of preemption: node by node and pod by pod, on clusters from which the victims are really removed."""

from collections.abc import Sequence

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from tests.builders import decide


def fits(cluster: Cluster, pod: Pod, node: str, gone: Sequence[int]) -> bool:
    """Report whether a pod fits on a node after some pods are removed."""
    return decide(pod, cluster.with_pods(removed=gone)).node(node).feasible


def victims_on_node(cluster: Cluster, pod: Pod, node: str) -> tuple[list[int], int] | None:
    """Return the victims, most important first, and the number of budget violations; ``None`` if none help."""
    pods = cluster.pods

    def importance(index: int) -> tuple[int, int, int]:
        return -int(pods.priority[index]), int(pods.start_time[index]), index

    row = cluster.nodes.row[node]
    lower = [int(i) for i in pods.on_node(row) if pods.priority[i] < (pod.spec.priority or 0)]
    lower.sort(key=importance)
    if not lower or not fits(cluster, pod, node, lower):
        return None
    violating = _violating(cluster, lower)
    gone = list(lower)
    for index in sorted(lower, key=lambda i: (i not in violating, importance(i))):
        rest = [i for i in gone if i != index]
        if fits(cluster, pod, node, rest):
            gone = rest
    return sorted(gone, key=importance), len(violating.intersection(gone))


def _violating(cluster: Cluster, indices: Sequence[int]) -> set[int]:
    """Return the pods that violate a budget; each counts up to the first that it violates, as from 1.37 on."""
    allowed = {b.name: b.status.disruptions_allowed or 0 for b in cluster.list(PodDisruptionBudget)}
    out = set()
    for index in indices:
        metadata = cluster.pods.records[index].metadata
        for budget in cluster.list(PodDisruptionBudget):
            wanted = budget.spec.selector.match_labels if budget.spec.selector is not None else {}
            covers = wanted and all(metadata.labels.get(key) == value for key, value in wanted.items())
            if covers and budget.namespace == metadata.namespace:
                allowed[budget.name] -= 1
                if allowed[budget.name] < 0:
                    out.add(index)
                    break
    return out
