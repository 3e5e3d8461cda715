"""NodeResourcesFit scores placements of pod groups by the used share of their resources."""

from typing import Any

import numpy as np
import pytest

from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.pod_groups import Placement, PodGroupAssignments, PodGroupInfo
from kschedctl.scheduler.plugins.node_resources.fit import NodeResourcesFit
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import GPU, make_args, make_cluster, make_members, make_node, make_pod, make_pod_group, with_groups

CPU_ONLY = [{"name": "cpu", "weight": 1}]


def members(n: int, **requests: str) -> list[Pod]:
    return make_members(
        " ".join(f"m-{i}" for i in range(n)), requests={GPU if k == "gpu" else k: v for k, v in requests.items()}
    )


def score(placed: list[Pod], rows: list[int], strategy: dict[str, Any] | None = None) -> int:
    """Return the score of a placement: nodes of 10 CPU and 10Gi, of which the first has a pod of 2 CPU and 4Gi."""
    nodes = [make_node(name, cpu="10", memory="10Gi", offers={GPU: 8 if name == "a" else 0}) for name in "abc"]
    running = make_pod("running", requests={"cpu": "2", "memory": "4Gi"}, node="a")
    release = with_groups("1.37", topology=True)
    registry = in_tree_registry()
    config = make_args(NodeResourcesFit={"scoringStrategy": strategy}) if strategy else make_args()
    points = registry.extension_points(release)
    loaded = load_configuration(config, release=release, implements=points, args_types=registry.args_types)
    plugin = (
        Scheduler(make_cluster(nodes, [running]), release, loaded)
        .framework("default-scheduler")
        .plugin("NodeResourcesFit")
    )
    assert isinstance(plugin, NodeResourcesFit)
    assignments = PodGroupAssignments(Placement("", np.array(rows)), [(pod, "a") for pod in placed])
    return plugin.score_placement(PodGroupInfo("default", "gang", make_pod_group(), ()), assignments)


@pytest.mark.parametrize(
    ("placed", "rows", "strategy", "expected"),
    [
        pytest.param(
            members(2, cpu="3", memory="1Gi"), [0], None, 70, id="(2+6)/10 = 80 and (4+2)/10 = 60, the mean is 70"
        ),
        pytest.param(
            members(2, cpu="3", memory="1Gi"), [0, 1], None, 35, id="over the sums of two nodes: 8/20 = 40, 6/20 = 30"
        ),
        pytest.param(members(2, cpu="3", memory="1Gi"), [1], None, 40, id="an empty node: 6/10 = 60 and 2/10 = 20"),
        pytest.param(
            members(2, cpu="3", memory="1Gi"),
            [0],
            {"type": "LeastAllocated", "resources": CPU_ONLY},
            80,
            id="most allocated, whatever the strategy",
        ),
        pytest.param(
            members(1, cpu="3", memory="1Gi"),
            [0],
            {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]},
            50,
            id="weighted: (3 x 50 + 1 x 50) / 4",
        ),
        pytest.param(members(1), [1], None, 1, id="non-zero defaults: 100m of 10 = 1, 200Mi of 10Gi = 1.95"),
        pytest.param(
            members(2, gpu="2"),
            [0, 1],
            {"type": "MostAllocated", "resources": [{"name": GPU, "weight": 1}]},
            50,
            id="GPUs of the placement: 4/8",
        ),
    ],
)
def test_score_placement(placed: list[Pod], rows: list[int], strategy: dict[str, Any] | None, expected: int) -> None:
    assert score(placed, rows, strategy) == expected
