"""The slow reference: every placement that the real filters accept, in any order, with every allowed set of victims."""

from collections.abc import Iterator
from itertools import combinations

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pod_at
from kschedctl.controllers.workloads.template import fresh_pod
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import matches, parse_label_selector
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.trial import place
from kschedctl.trials.whatif.pods import move_pods

#: A placement: pairs of a pod's key and its node.
Where = frozenset[tuple[str, str]]


def best_value(scheduler: Scheduler, *, budgets: bool) -> tuple[int, ...]:
    """Return the value of the best placement: pods placed by priority, budget violations, evictions, nodes in use.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler of the cluster.
    budgets : bool
        True if a budget covers a pod, so that budgets are a goal.
    """
    return max(values(scheduler, budgets=budgets))


def values(scheduler: Scheduler, *, budgets: bool) -> Iterator[tuple[int, ...]]:
    """Yield the value of every placement; the better of two placements has the greater value."""
    cluster = scheduler.cluster
    pods = cluster.pods
    indices = range(len(pods))
    waiting = [pods.pod(i) for i in indices if pods.node_row[i] == -1]
    preempting = [pod for pod in waiting if pod.spec.preemption_policy != "Never"]
    highest = max((priority(pod) for pod in preempting), default=-(2**31))
    running = [pod_at(cluster, i) for i in indices if pods.node_row[i] >= 0]
    may_go = [pod for pod in running if priority(pod) < highest and pod.metadata.deletion_timestamp is None]
    evictable = sorted({priority(pod) for pod in may_go}, reverse=True)
    priorities = sorted({priority(pod) for pod in (*waiting, *may_go)}, reverse=True)
    for n in range(len(may_go) + 1):
        for gone in combinations(may_go, n):
            again = [fresh_pod(replace(p, spec=replace(p.spec, node_name=""))) for p in gone if p.metadata.controller]
            left = move_pods(cluster, removed=[pods.index[p.namespace, p.name] for p in gone]).cluster
            left = move_pods(left, added=again).cluster
            wanted = {pod.key: pod for pod in (*waiting, *again)}
            for where in reachable(scheduler.moved(left), wanted):
                placed = [(wanted[key], node) for key, node in where]
                if all(may_be_evicted(victim, placed) for victim in gone):
                    yield (
                        *(count(priorities, [pod for pod, _ in placed], gone)),
                        *((-violations(cluster, gone),) if budgets else ()),
                        *(-sum(priority(pod) == each for pod in gone) for each in evictable),
                        -len({node for _, node in placed} - in_use(running)),
                    )


def reachable(scheduler: Scheduler, wanted: dict[str, Pod]) -> Iterator[Where]:
    """Yield all placements that result from placing pods one after another, possibly some of them not at all."""
    seen: set[Where] = set()
    todo: list[tuple[Where, Scheduler]] = [(frozenset(), scheduler)]
    while todo:
        where, current = todo.pop()
        if where in seen:
            continue
        seen.add(where)
        yield where
        done = {key for key, _ in where}
        for key in wanted.keys() - done:
            cluster = current.cluster
            pod = cluster.pods.pod(cluster.pods.index[wanted[key].namespace, wanted[key].name])
            for node in cluster.nodes.names:
                if where | {(key, node)} in seen:
                    continue
                said = place(current, pod, node)
                if isinstance(said, Scheduler):
                    todo.append((where | {(key, node)}, said))


def priority(pod: Pod) -> int:
    """Return a pod's priority."""
    return pod.spec.priority or 0


def count(priorities: list[int], placed: list[Pod], gone: tuple[Pod, ...]) -> Iterator[int]:
    """Yield the number of pods on nodes by priority, compared with the start."""
    for each in priorities:
        yield sum(priority(pod) == each for pod in placed) - sum(priority(pod) == each for pod in gone)


def may_be_evicted(victim: Pod, placed: list[tuple[Pod, str]]) -> bool:
    """Report whether a preempting pod of higher priority is placed on the victim's node."""
    return any(
        node == victim.spec.node_name and priority(pod) > priority(victim) and pod.spec.preemption_policy != "Never"
        for pod, node in placed
    )


def violations(cluster: Cluster, gone: tuple[Pod, ...]) -> int:
    """Return the number of evictions that violate budgets."""
    out = 0
    for budget in cluster.list(PodDisruptionBudget):
        assert budget.spec.selector is not None
        selector = parse_label_selector(budget.spec.selector)
        covered = [p for p in gone if p.namespace == budget.namespace and matches(selector, p.metadata.labels)]
        out += max(len(covered) - max(budget.status.disruptions_allowed or 0, 0), 0)
    return out


def in_use(running: list[Pod]) -> set[str]:
    """Return the nodes with pods other than DaemonSet pods and static pods."""
    return {
        pod.spec.node_name
        for pod in running
        if pod.metadata.controller is None or pod.metadata.controller.kind not in ("DaemonSet", "Node")
    }
