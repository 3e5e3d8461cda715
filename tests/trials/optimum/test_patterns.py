"""Patterns: their bound is one, and what they find is a placement."""

import time

from hypothesis import given, settings

from kschedctl.cluster.cluster import Cluster
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.goals import Goal, Opened, goals_of
from kschedctl.trials.optimum.patterns import Patterns
from kschedctl.trials.optimum.question import no_evictions, pose
from kschedctl.trials.optimum.search import best
from kschedctl.trials.optimum.sites import PodCapacities, grouped_sites, single_node_sites
from tests.builders import make_cluster, make_node, make_pod
from tests.trials.optimum.test_exhaustive import clusters


@settings(deadline=None)
@given(clusters("ports", "anti-affinity", "spread", waiting=4))
def test_no_placement_is_beyond_the_bound(cluster: Cluster) -> None:
    question = pose(Scheduler(cluster), no_evictions)
    goals = goals_of(question, FinalGoal.SCORES)
    found = best(question, seconds=600)
    assert found.proven
    capacity = PodCapacities(question)
    reached: list[tuple[Goal, int]] = []
    for standing in found.standings:
        patterns = Patterns(capacity, single_node_sites(capacity))
        patterns.take(found.placement)
        bound = patterns.bound(standing.goal, reached, time.monotonic() + 600)
        assert bound is not None
        assert bound >= standing.value - 1e-6
        reached.append((standing.goal, standing.value))
    assert [goal.name for goal, _ in reached] == [goal.name for goal in goals]


def test_nodes_are_filled_without_parts_of_pods() -> None:
    # Three pods of 3 CPU would be 2.25 nodes of 4 in parts; each takes a node of its own.
    cluster = make_cluster(
        [make_node(f"n{i}") for i in range(4)], [make_pod(f"w{i}", requests={"cpu": "3"}) for i in range(3)]
    )
    question = pose(Scheduler(cluster), no_evictions)
    capacity = PodCapacities(question)
    (site,) = grouped_sites(capacity)
    assert site.n_nodes == 4
    patterns = Patterns(capacity, [site])
    placed, opened = goals_of(question, FinalGoal.NODES)
    assert isinstance(opened, Opened)
    bound = patterns.bound(placed, [], time.monotonic() + 600)
    assert bound is not None
    assert round(bound, 3) == 3
    fewest = patterns.bound(opened, [(placed, 3)], time.monotonic() + 600)
    assert fewest is not None
    assert round(fewest, 3) == 3
    found = patterns.best(opened, [(placed, 3)], 10)
    assert found is not None
    assert sorted(found.placed.values()) == [1, 1, 1]


def test_an_overcommitted_node_is_filled_with_pods_that_request_none_of_the_resource() -> None:
    cluster = make_cluster(
        [make_node("n0", cpu="4", memory="1Gi")],
        [
            make_pod("large", node="n0", requests={"memory": "2Gi"}),
            *(make_pod(f"w{i}", requests={"cpu": "1"}) for i in range(2)),
            make_pod("m", requests={"memory": "1Gi"}),
        ],
    )
    question = pose(Scheduler(cluster), no_evictions)
    capacity = PodCapacities(question)
    placed, *_ = goals_of(question, FinalGoal.NODES)
    bound = Patterns(capacity, single_node_sites(capacity)).bound(placed, [], time.monotonic() + 600)
    assert bound is not None
    assert round(bound, 3) == 2
