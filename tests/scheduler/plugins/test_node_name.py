from __future__ import annotations

from typing import Any

import pytest

from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.node_name import OtherNodeNamed
from tests.builders import decide, fitting, make_cluster, make_node, make_pod, make_profile, reason, said, told

PLUGIN = "NodeName"
TEXT = "node(s) didn't match the requested node name"


OLDER = RELEASES["1.36"]
NODES = [make_node("a"), make_node("b")]


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        pytest.param("", "a b", id="a pod without a node name fits everywhere"),
        pytest.param("b", "b", id="a pod that names its node fits there only"),
        pytest.param("gone", "", id="a pod that names a node that is not there fits nowhere"),
    ],
)
def test_requested_node(wanted: str, fits: str) -> None:
    decision = decide(make_pod(node=wanted), make_cluster(NODES), release=OLDER)
    assert fitting(decision, PLUGIN) == fits
    assert " ".join(decide(make_pod(node=wanted), make_cluster(NODES)).best) == fits


def test_wording() -> None:
    decision = decide(make_pod(node="b"), make_cluster([make_node("a")]), release=OLDER)
    assert said(decision, PLUGIN, "a") == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (TEXT,))
    assert reason(decision, PLUGIN, "a").detail == "spec.nodeName is b"


@pytest.mark.parametrize(
    ("wanted", "searched", "message"),
    [
        pytest.param("b", [1], "1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeName]", id="to that node"),
        pytest.param("gone", [], "2 node(s) didn't satisfy plugin(s) [NodeName]", id="to none where it is not there"),
    ],
)
def test_from_1_37_on_the_search_is_narrowed(wanted: str, searched: list[int], message: str) -> None:
    decision = decide(make_pod(node=wanted, requests={"cpu": "9"}), make_cluster(NODES))
    assert decision.searched.tolist() == searched
    assert decision.pre_filter is not None
    assert decision.pre_filter.node_names == frozenset({wanted})
    assert decision.message.startswith(f"0/2 nodes are available: {message}. ")


def test_node_affinity_may_leave_nothing_of_it() -> None:
    terms = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    decision = decide(make_pod(node="b", affinity=affinity), make_cluster(NODES))
    text = "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously"
    assert decision.message == f"0/2 nodes are available: {text}. not found"


def test_where_pre_filter_is_off_for_it_the_filter_still_turns_nodes_away() -> None:
    config = make_profile(plugins={"preFilter": {"disabled": [{"name": PLUGIN}]}})
    decision = decide(make_pod(node="b"), make_cluster(NODES), config=config)
    assert said(decision, PLUGIN, "a") == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (TEXT,))


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(OtherNodeNamed("b"), "spec.nodeName is b", {"nodeName": "b"}, id="another node"),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
