"""Placements that the real filters reject are excluded, and the nodes of the solution over fractions suffice."""

import sys
from typing import Any
from unittest.mock import patch

import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.errors import InputError
from kschedctl.common.extras import install_command
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum import search
from kschedctl.trials.optimum.final_goal import FinalGoal
from kschedctl.trials.optimum.kinds import Placement
from kschedctl.trials.optimum.program import load_solver
from kschedctl.trials.optimum.question import pose
from kschedctl.trials.optimum.search import Best, best
from kschedctl.trials.optimum.trial import Refusal
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


#: The solution over fractions of pods evicts two of these pods fewer than any placement.
HARD = cluster(40, {"3": 2, "2": 3}, {i: ["2500m", "1500m"] for i in range(40)})


def values(found: Best) -> list[int]:
    return [standing.value for standing in found.standings]


def test_the_other_nodes_are_left_out_unless_the_result_is_to_be_proven() -> None:
    question = pose(Scheduler(HARD))
    with patch.object(search, "_MANY", 0), patch.object(search, "_SECONDS_FOR_PROOF", 0):
        quick, proven = (best(question, seconds=600, final=FinalGoal.NODES, proves=proves) for proves in (False, True))
    assert (quick.proven, quick.stalled) == (False, True)
    assert (proven.proven, proven.stalled) == (True, False)
    assert values(quick) == values(proven)
    evictions = quick.standings[1]
    assert evictions.bound is not None
    assert evictions.value < evictions.bound


def test_a_proof_that_takes_no_time_is_made_anyway() -> None:
    with patch.object(search, "_MANY", 0), patch.object(search, "_SECONDS_FOR_PROOF", 600):
        found = best(pose(Scheduler(HARD)), seconds=600, final=FinalGoal.NODES)
    assert (found.proven, found.stalled) == (True, False)


def test_where_the_filters_refuse_the_promising_nodes_the_others_are_searched() -> None:
    def refused(*_: object) -> Refusal:
        return Refusal(0, 0, frozenset({"NodeResourcesFit"}), certain=True)

    question = pose(Scheduler(HARD))
    known = best(question, seconds=600, final=FinalGoal.NODES).placement
    deadlines: list[float] = []

    def note(_: object, deadline: float) -> bool:
        deadlines.append(deadline)
        return False

    with (
        patch.object(search, "_MANY", 0),
        patch.object(search, "_SECONDS_FOR_PROOF", 0),
        patch.object(search, "prove", refused),
        patch.object(search._Search, "over_single_nodes", note),
    ):
        best(question, seconds=600, final=FinalGoal.NODES, known=[Placement()])
        assert deadlines
        # With the best placement known, nothing is refused.
        deadlines.clear()
        best(question, seconds=600, final=FinalGoal.NODES, known=[known])
        assert not deadlines


def test_without_the_extra_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(InputError) as error:
        load_solver()
    assert error.value.lines()[1] == f"  run: {install_command('optimum')}"
