"""The optimum is what exhaustive search over all placements finds, and never worse than the multi-step answer."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any
from unittest.mock import patch

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.placed_pods import pod_at
from kschedctl.controllers.workloads.template import fresh_pod
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import matches, parse_label_selector
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum import program, search
from kschedctl.trials.optimum.comparison import placement_of, simulate_pending
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.goals import goal_values, goals_of
from kschedctl.trials.optimum.question import pose
from kschedctl.trials.optimum.search import best
from kschedctl.trials.optimum.trial import place
from kschedctl.trials.whatif.pods import move_pods
from tests.builders import HOSTNAME, ZONE, make_cluster, make_container, make_node, make_pod
from tests.strategies import worlds

_KEYS = st.sampled_from([ZONE, HOSTNAME])
_SELECTORS = st.sampled_from([{"matchLabels": {"app": "a"}}, {"matchLabels": {"app": "b"}}])
_TERMS = st.fixed_dictionaries({"topologyKey": _KEYS, "labelSelector": _SELECTORS})


def _required(terms: list[Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms}


@st.composite
def _pod(draw: st.DrawFn, name: str, aspects: tuple[str, ...], node: str = "", least: int = 0) -> Pod:
    spec: dict[str, Any] = {}
    container = make_container(requests={"cpu": draw(st.sampled_from(["500m", "1", "1500m", "2"]))})
    if "ports" in aspects and draw(st.booleans()):
        container["ports"] = [{"containerPort": 80, "hostPort": draw(st.sampled_from([80, 81]))}]
    affinity = {}
    if "affinity" in aspects and draw(st.booleans()):
        affinity["podAffinity"] = _required([draw(_TERMS)])
    if "anti-affinity" in aspects and draw(st.booleans()):
        affinity["podAntiAffinity"] = _required([draw(_TERMS)])
    if "spread" in aspects and draw(st.booleans()):
        skew = {"maxSkew": draw(st.integers(1, 2)), "whenUnsatisfiable": "DoNotSchedule"}
        more: dict[str, Any] = draw(st.sampled_from([{}, {"minDomains": 2}, {"nodeTaintsPolicy": "Honor"}]))
        spec["topologySpreadConstraints"] = [{**draw(_TERMS), **skew, **more}]
    if draw(st.booleans()):
        spec["preemptionPolicy"] = draw(st.sampled_from(["Never", "PreemptLowerPriority"]))
    return make_pod(
        name,
        labels={"app": draw(st.sampled_from(["a", "b"]))},
        containers=[container],
        affinity=affinity,
        node=node,
        priority=draw(st.sampled_from([0, 10, 20])) if "priority" in aspects else least,
        owner=draw(st.sampled_from([None, ("apps/v1", "ReplicaSet", "some")])) if node else None,
        **spec,
    )


@st.composite
def clusters(draw: st.DrawFn, *aspects: str, waiting: int = 3, running: int = 2) -> Cluster:
    """Two or three small nodes with a few pods, and some that wait for what is left."""
    nodes: list[Node] = [
        make_node(
            f"n{i}",
            cpu=draw(st.sampled_from(["1", "2", "3"])),
            pods=draw(st.sampled_from([2, 9])),
            zone=draw(st.sampled_from(["z1", "z2", ""])),
            taints=draw(st.sampled_from([(), (), ("t:NoSchedule",)])),
        )
        for i in range(draw(st.integers(2, 3)))
    ]
    names = st.sampled_from([node.name for node in nodes])
    pods = [draw(_pod(f"p{i}", aspects, draw(names))) for i in range(draw(st.integers(0, running)))]
    pods += [draw(_pod(f"w{i}", aspects)) for i in range(draw(st.integers(2, waiting)))]
    budgets = []
    if "priority" in aspects and draw(st.booleans()):
        status = {"disruptionsAllowed": draw(st.integers(0, 1))}
        budget = {"metadata": {"name": "b", "namespace": "default"}, "spec": {"selector": draw(_SELECTORS)}}
        budgets.append(msgspec.convert({**budget, "status": status}, PodDisruptionBudget))
    return make_cluster(nodes, pods, *budgets)


def compare(cluster: Cluster) -> None:
    scheduler = Scheduler(cluster)
    question = pose(scheduler)
    goals = goals_of(question, FinalGoal.NODES)
    simulation = simulate_pending(scheduler)
    multi_step = placement_of(question, simulation)
    found = best(question, seconds=600, final=FinalGoal.NODES, known=[multi_step])
    expected = best_value(question.start, budgets=bool(question.budgets))
    # Pods that were evicted for one that went elsewhere then leave room that no placement at once may make.
    assert goal_values(question, goals, found.placement) == max(expected, goal_values(question, goals, multi_step))
    if goal_values(question, goals, multi_step) <= expected:
        assert found.proven
        assert found.proof is not None


@settings(deadline=None)
@given(clusters("ports", "anti-affinity"))
def test_who_cannot_be_together(cluster: Cluster) -> None:
    compare(cluster)


@settings(deadline=None)
@given(clusters("affinity", "anti-affinity"))
def test_who_must_be_together(cluster: Cluster) -> None:
    compare(cluster)


@settings(deadline=None)
@given(clusters("spread", "affinity"))
def test_who_is_spread(cluster: Cluster) -> None:
    compare(cluster)


@settings(deadline=None)
@given(clusters("priority", "ports", waiting=2, running=3))
def test_who_is_evicted(cluster: Cluster) -> None:
    compare(cluster)


@settings(deadline=None)
@given(clusters("priority", "spread", "affinity", "anti-affinity", waiting=2, running=2))
def test_who_is_evicted_among_constraints(cluster: Cluster) -> None:
    compare(cluster)


@settings(deadline=None)
@given(clusters("priority", "affinity", "anti-affinity", waiting=2, running=3))
def test_who_is_evicted_as_in_a_large_cluster(cluster: Cluster) -> None:
    with patch.object(search, "_MANY", 0), patch.object(program, "_MANY_VARIABLES", 0):
        compare(cluster)


_EVERY = ("requests", "ports", "tolerations", "nodeAffinity", "spread", "podAffinity")


@settings(deadline=None)
@given(worlds(*_EVERY, of_nodes=("labels", "offers", "taints"), pending=3).map(lambda world: world.cluster))
def test_whatever_nodes_and_pods_say(cluster: Cluster) -> None:
    compare(cluster)


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
