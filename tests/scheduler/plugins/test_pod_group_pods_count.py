from __future__ import annotations

import numpy as np
import pytest

from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.interface import PluginError
from kschedctl.scheduler.framework.pod_groups import Placement, PodGroupAssignments, PodGroupInfo
from kschedctl.scheduler.plugins.pod_group_pods_count import PodGroupPodsCount
from tests.builders import make_cluster, make_members, make_node, make_pod_group, with_groups

GROUP = PodGroupInfo("default", "gang", make_pod_group(), ())


def plugin(n_bound: int = 0) -> PodGroupPodsCount:
    bound = make_members(" ".join(f"bound-{i}" for i in range(n_bound)), node="a")
    others = make_members("x y", group="other", node="a") + make_members("pending")
    cluster = make_cluster([make_node("a")], bound + others)
    framework = Scheduler(cluster, with_groups("1.37", topology=True)).framework("default-scheduler")
    found = framework.plugin("PodGroupPodsCount")
    assert isinstance(found, PodGroupPodsCount)
    return found


@pytest.mark.parametrize(("n_bound", "n_placed", "score"), [(0, 0, 0), (0, 3, 3), (2, 3, 5), (2, 0, 2)])
def test_counts_members_on_nodes_and_placed_ones(n_bound: int, n_placed: int, score: int) -> None:
    placed = [(pod, "a") for pod in make_members(" ".join(f"new-{i}" for i in range(n_placed)))]
    assignments = PodGroupAssignments(Placement("", np.array([0])), placed)
    assert plugin(n_bound).score_placement(GROUP, assignments) == score


@pytest.mark.parametrize(
    ("counts", "scores"),
    [
        pytest.param([4, 4], [100, 100], id="equal counts are 100"),
        pytest.param([3, 4], [75, 100], id="3 x 100 / 4 = 75"),
        pytest.param([1, 2, 3], [33, 66, 100], id="100 / 3 is rounded down"),
        pytest.param([0, 5], [0, 100], id="none is 0"),
    ],
)
def test_normalized_by_the_highest(counts: list[int], scores: list[int]) -> None:
    assert plugin().normalize_placement_score(GROUP, np.array(counts)).tolist() == scores


def test_no_member_anywhere_is_an_error() -> None:
    with pytest.raises(PluginError) as caught:
        plugin().normalize_placement_score(GROUP, np.array([0, 0]))
    assert str(caught.value) == "no pods from pod group are assigned to any of the candidate placements"
