"""The nodes on which few pods must be evicted for a pod."""

from __future__ import annotations

import pytest

from kschedctl.optimum import promising
from kschedctl.optimum.promising import promising_sites
from kschedctl.optimum.question import pose
from kschedctl.optimum.sites import PodCapacities
from kschedctl.scheduler.scheduler import Scheduler
from tests.builders import make_cluster, make_node, make_pod


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ({"n0": ["1", "1", "1", "1"], "n1": ["3"]}, "n1"),  # one pod of 3 CPU leaves, or two of 1
        ({"n0": ["2"], "n1": ["3"]}, "n0"),  # 2 CPU are free
        ({"n0": ["2", "2"], "n1": ["1", "3"]}, "n0"),  # one pod leaves either: the scores decide, then the name
    ],
)
def test_the_node_with_the_fewest_evictions(
    running: dict[str, list[str]], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promising, "_FEWEST", 1)
    monkeypatch.setattr(promising, "_PER_POD", 1)
    pods = [
        make_pod(f"{node}-{i}", node=node, requests={"cpu": cpu})
        for node, each in running.items()
        for i, cpu in enumerate(each)
    ]
    waiting = make_pod("w", requests={"cpu": "2"}, priority=10)
    cluster = make_cluster([make_node(name, cpu="4") for name in running], [*pods, waiting])
    (site,) = promising_sites(PodCapacities(pose(Scheduler(cluster))))
    assert cluster.nodes.names[site.row] == expected
