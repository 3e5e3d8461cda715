"""In a large question, the nodes that the solution over fractions uses suffice for the best placement."""

from unittest.mock import patch

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum import search
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.question import pose
from kschedctl.trials.optimum.search import best
from tests.builders import make_cluster, make_node, make_pod


def cluster(n_nodes: int, waiting: dict[str, int], at: dict[int, list[str]]) -> Cluster:
    """Nodes with four pods of priority 0 and 1 CPU each, except some nodes; what waits has priority 10."""
    nodes = [make_node(f"n{i}", cpu="4") for i in range(n_nodes)]
    running = [
        make_pod(f"r{i}-{j}", requests={"cpu": cpu}, node=f"n{i}", owner=("apps/v1", "ReplicaSet", "r"))
        for i in range(n_nodes)
        for j, cpu in enumerate(at.get(i, ["1"] * 4))
    ]
    return make_cluster(
        nodes,
        [
            *running,
            *(
                make_pod(f"w{cpu}-{i}", requests={"cpu": cpu}, priority=10)
                for cpu, n in waiting.items()
                for i in range(n)
            ),
        ],
    )


@pytest.mark.parametrize(
    ("waiting", "at", "evictions"),
    [
        pytest.param({"2": 1}, {}, 2, id="any node"),
        pytest.param({"2": 1}, {30: ["2", "2"]}, 1, id="one large pod instead of two small ones"),
        pytest.param({"3": 2}, {7: ["3", "1"], 30: ["3", "1"]}, 2, id="two such nodes"),
        pytest.param({"2": 3}, {30: ["2", "2"], 31: ["4"]}, 2, id="two pods for the place of one"),
        pytest.param({"2": 1}, {5: ["1"], 30: ["2", "2"]}, 0, id="a node with room"),
    ],
)
def test_best_placement(waiting: dict[str, int], at: dict[int, list[str]], evictions: int) -> None:
    with patch.object(search, "_MANY", 0), patch.object(search._Search, "over_single_nodes", lambda *_: False):
        found = best(pose(Scheduler(cluster(40, waiting, at))), seconds=600, final=FinalGoal.NODES)
    assert sum(found.placement.placed.values()) >= sum(waiting.values())
    assert sum(found.placement.leaving.values()) == evictions
