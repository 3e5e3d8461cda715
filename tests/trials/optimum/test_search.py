"""Placements that the model allows but the real filters reject are excluded, and the model is solved again."""

from typing import Any

import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.question import pose
from kschedctl.trials.optimum.search import Best, best
from tests.builders import (
    HOSTNAME,
    ZONE,
    make_claim,
    make_cluster,
    make_csi_node,
    make_node,
    make_pod,
    make_storage_class,
    make_volume,
    mount,
)

DRIVER = "csi.example.com"


def ask(pods: list[Pod], *objects: ApiObject, n_nodes: int = 2) -> Best:
    nodes = [make_node(f"n{i}", zone=f"z{i}") for i in range(n_nodes)]
    question = pose(Scheduler(make_cluster(nodes, pods, *objects)))
    return best(question, seconds=600, final=FinalGoal.NODES)


def placed(found: Best) -> list[tuple[str, str]]:
    assert found.proven
    assert found.proof is not None
    return [(step.pod.name, step.node) for step in found.proof.steps]


def near(app: str) -> dict[str, Any]:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_a_claim_that_one_pod_alone_may_use() -> None:
    claim = make_claim(modes=["ReadWriteOncePod"], bound="pv")
    volume = make_volume(modes=["ReadWriteOncePod"], claim="default/data")
    found = ask([make_pod(f"w{i}", volumes=mount("data")) for i in range(2)], claim, volume, make_storage_class())
    assert len(placed(found)) == 1
    assert found.n_refused > 0


def test_a_node_that_takes_no_more_volumes() -> None:
    claims = [make_claim(f"c{i}", bound=f"pv{i}") for i in range(3)]
    volumes = [
        make_volume(f"pv{i}", claim=f"default/c{i}", csi={"driver": DRIVER, "volumeHandle": f"h{i}"}) for i in range(3)
    ]
    limits = [make_csi_node(f"n{i}", limits={DRIVER: 1}) for i in range(2)]
    pods = [make_pod(f"w{i}", volumes=mount(f"c{i}")) for i in range(3)]
    found = ask(pods, *claims, *volumes, *limits, make_storage_class())
    assert sorted(node for _, node in placed(found)) == ["n0", "n1"]
    assert found.n_refused > 0


def test_two_that_want_to_be_near_each_other_and_neither_can_be_first() -> None:
    pods = [
        make_pod("a", labels={"app": "a"}, affinity=near("b")),
        make_pod("b", labels={"app": "b"}, affinity=near("a")),
        make_pod("c"),
    ]
    found = ask(pods)
    assert [name for name, _ in placed(found)] == ["c"]
    assert found.n_refused > 0


@pytest.mark.parametrize(("n_nodes", "expected"), [(1, 1), (2, 2)])
def test_a_volume_in_a_zone_ties_its_pod(n_nodes: int, expected: int) -> None:
    claims = [make_claim(f"c{i}", bound=f"pv{i}") for i in range(2)]
    volumes = [make_volume(f"pv{i}", claim=f"default/c{i}", labels={ZONE: f"z{i}"}) for i in range(2)]
    pods = [make_pod(f"w{i}", volumes=mount(f"c{i}")) for i in range(2)]
    found = ask(pods, *claims, *volumes, make_storage_class(), n_nodes=n_nodes)
    assert len(placed(found)) == expected
