"""Nodes that could be emptied: the drain gets through, budgets are kept, and no placement needs fewer."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.consolidation import OPTIONS, Consolidation, empty_nodes
from kschedctl.trials.simulate.drain import DrainedNode, drain
from kschedctl.trials.simulate.simulation import Simulation
from tests.builders import make_cluster, make_node, make_pod
from tests.example_counts import scaled

RS = ("apps/v1", "ReplicaSet", "web")


def running(name: str, node: str, cpu: str = "1", owner: tuple[str, str, str] | None = RS) -> Pod:
    return make_pod(name, node=node, requests={"cpu": cpu}, labels={"app": "web"}, owner=owner)


def budget(allowed: int, n_pods: int) -> ApiObject:
    counts = {
        "disruptionsAllowed": allowed,
        "currentHealthy": n_pods,
        "desiredHealthy": n_pods - allowed,
        "expectedPods": n_pods,
    }
    spec = {"selector": {"matchLabels": {"app": "web"}}}
    return msgspec.convert(
        {"metadata": {"name": "web", "namespace": "default"}, "spec": spec, "status": counts}, PodDisruptionBudget
    )


def empty(cluster: Cluster) -> Consolidation:
    return empty_nodes(Scheduler(cluster), seconds=600)


def nodes(found: Consolidation) -> list[str]:
    return [node.node for node in found.nodes]


def test_two_half_empty_nodes_are_one() -> None:
    pods = [running("p", "a"), running("q", "b"), running("r", "b")]
    found = empty(make_cluster([make_node("a"), make_node("b")], pods))
    assert (nodes(found), found.n_used, found.n_used_after, found.standing.bound) == (["a"], 2, 1, 1)
    assert set(found.placed.values()) == {"b"}


def test_nothing_can_go_where_nothing_fits() -> None:
    found = empty(make_cluster([make_node("a"), make_node("b")], [running("p", "a", "3"), running("q", "b", "3")]))
    assert (nodes(found), found.n_used_after, found.standing.bound) == ([], 2, 2)


def test_pods_that_nobody_makes_again_stay() -> None:
    found = empty(make_cluster([make_node("a"), make_node("b")], [running("p", "a", owner=None), running("q", "b")]))
    assert (nodes(found), found.fixed) == (["b"], ("a",))


def test_pods_of_daemon_sets_do_not_count() -> None:
    agent = ("apps/v1", "DaemonSet", "agent")
    pods = [running("p", "a"), *(running(f"agent-{node}", node, "100m", agent) for node in "ab")]
    found = empty(make_cluster([make_node("a"), make_node("b")], pods))
    assert (found.n_used, nodes(found)) == (1, [])


def test_a_budget_holds_the_drain_up_and_is_kept() -> None:
    pods = [running("p", "a"), running("q", "a"), running("r", "b")]
    found = empty(make_cluster([make_node("a"), make_node("b")], pods, budget(1, 3)))
    assert (nodes(found), found.n_used_after) == (["b"], 1)
    blocked = empty(make_cluster([make_node("a"), make_node("b")], pods, budget(0, 3)))
    assert nodes(blocked) == []
    assert blocked.given_up == ("b",)


def test_nodes_that_nobody_is_on_stay_empty() -> None:
    cluster = make_cluster(
        [make_node("a", cpu="4"), make_node("b", cpu="4"), make_node("c", cpu="64"), make_node("d", cpu="64")],
        [running("p", "a", "3"), running("q", "b", "3")],
    )
    found = empty(cluster)
    assert (found.n_used_after, found.standing.bound, found.closed) == (1, 1, ("d",))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Three or four nodes with a few pods each."""
    names = [f"n{i}" for i in range(draw(st.integers(3, 4)))]
    made = [make_node(name, cpu=draw(st.sampled_from(["2", "4"]))) for name in names]
    pods: list[Pod] = []
    for node in made:
        left = 2 if node.status.allocatable["cpu"] == "2" else 4
        for _ in range(draw(st.integers(0, 2))):
            cpu = draw(st.integers(1, 2))
            if cpu <= left:
                left -= cpu
                pods.append(running(f"p{len(pods)}", node.name, str(cpu), draw(st.sampled_from([RS, RS, None]))))
    more = [budget(draw(st.integers(0, 2)), len(pods))] if draw(st.booleans()) else []
    return make_cluster(made, pods, *more)


@settings(max_examples=scaled(40), deadline=None)
@given(clusters())
def test_the_drain_that_is_shown_gets_through(cluster: Cluster) -> None:
    found = empty(cluster)
    assert found.standing.bound is not None
    assert found.n_used_after >= found.standing.bound
    assert not set(nodes(found)) & set(found.fixed)
    simulation = Simulation(Scheduler(cluster))
    simulation.enqueue_pending()
    steps = [step for step in drain(simulation, nodes(found), OPTIONS) if isinstance(step, DrainedNode)]
    if not found.closed:
        assert all(step.drained for step in steps)
        assert not (simulation.cluster.pods.node_row == -1).any()
