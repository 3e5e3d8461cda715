from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.core import Taint
from kschedctl.objects.releases.release import LATEST
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.taint_toleration import UntoleratedTaint
from tests.builders import decide, fitting, make_cluster, make_node, make_pod, raw_scores, reason, said, scores, told
from tests.reference import taint_toleration as reference
from tests.strategies import pods, tainted_nodes

PLUGIN = "TaintToleration"
UNTOLERATED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) had untolerated taint(s)",))


@pytest.mark.parametrize(
    ("taint", "toleration", "tolerated"),
    [
        pytest.param("gpu=a:NoSchedule", {"key": "gpu", "operator": "Equal", "value": "a"}, True, id="equal value"),
        pytest.param("gpu=a:NoSchedule", {"key": "gpu", "value": "a"}, True, id="equality is the default operator"),
        pytest.param("gpu=a:NoSchedule", {"key": "gpu", "value": "b"}, False, id="another value"),
        pytest.param("gpu=a:NoSchedule", {"key": "gpu"}, False, id="no value against a value"),
        pytest.param("gpu:NoSchedule", {"key": "gpu"}, True, id="no value against no value"),
        pytest.param("gpu=a:NoSchedule", {"key": "gpu", "operator": "Exists"}, True, id="exists"),
        pytest.param("gpu=a:NoSchedule", {"key": "cpu", "operator": "Exists"}, False, id="exists of another key"),
        pytest.param("gpu=a:NoSchedule", {"operator": "Exists"}, True, id="exists without a key tolerates all"),
        pytest.param("gpu=a:NoExecute", {"operator": "Exists"}, True, id="of every effect"),
        pytest.param("gpu=a:NoSchedule", {"value": "a"}, True, id="equality without a key compares values alone"),
        pytest.param("gpu=a:NoSchedule", {"value": "b"}, False, id="and refuses another value"),
        pytest.param(
            "gpu:NoSchedule", {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True, id="same effect"
        ),
        pytest.param(
            "gpu:NoExecute", {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, False, id="another effect"
        ),
        pytest.param("gpu:NoExecute", {"key": "gpu", "operator": "Exists"}, True, id="no effect stands for any"),
        pytest.param(
            "gpu:NoExecute",
            {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
            True,
            id="toleration seconds do not matter to scheduling",
        ),
        pytest.param("gpu=5:NoSchedule", {"key": "gpu", "operator": "Gt", "value": "1"}, False, id="Gt is gated"),
        pytest.param("gpu=5:NoSchedule", {"key": "gpu", "operator": "Lt", "value": "9"}, False, id="Lt is gated"),
    ],
)
def test_operators(taint: str, toleration: dict[str, Any], tolerated: bool) -> None:
    decision = decide(make_pod(tolerations=[toleration]), make_cluster([make_node(taints=[taint])]))
    assert said(decision, PLUGIN) == (Status() if tolerated else UNTOLERATED)


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        pytest.param([], [], Status(), id="no taints"),
        pytest.param(["a:PreferNoSchedule"], [], Status(), id="soft taints never turn away"),
        pytest.param(["a:NoSchedule"], [], UNTOLERATED, id="NoSchedule does"),
        pytest.param(["a:NoExecute"], [], UNTOLERATED, id="NoExecute does"),
        pytest.param(
            ["a:NoSchedule", "b:NoSchedule"],
            [{"key": "a", "operator": "Exists"}],
            UNTOLERATED,
            id="one toleration does not cover two taints",
        ),
        pytest.param(
            ["a:NoSchedule", "b:NoSchedule"],
            [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}],
            Status(),
            id="two do",
        ),
    ],
)
def test_taints(taints: list[str], tolerations: list[dict[str, Any]], expected: Status) -> None:
    decision = decide(make_pod(tolerations=tolerations), make_cluster([make_node(taints=taints)]))
    assert said(decision, PLUGIN) == expected


def test_detail_names_the_first_taint_that_is_not_tolerated() -> None:
    cluster = make_cluster([make_node(taints=["soft:PreferNoSchedule", "a:NoSchedule", "gpu=x:NoExecute"])])
    found = reason(decide(make_pod(tolerations=[{"key": "a", "operator": "Exists"}]), cluster), PLUGIN)
    assert found.detail == "taint gpu=x:NoExecute is not tolerated"
    assert found.data == {"taint": "gpu=x:NoExecute"}


def test_fewer_soft_taints_score_higher() -> None:
    nodes = [
        make_node("none"),
        make_node("one", taints=["a:PreferNoSchedule"]),
        make_node("three", taints=["a:PreferNoSchedule", "b:PreferNoSchedule", "c:PreferNoSchedule"]),
        make_node("tolerated", taints=["ok:PreferNoSchedule"]),
    ]
    decision = decide(make_pod(tolerations=[{"key": "ok", "operator": "Exists"}]), make_cluster(nodes))
    assert raw_scores(decision, PLUGIN) == {"none": 0, "one": 1, "three": 3, "tolerated": 0}
    # 100 - 100 * count // 3
    assert scores(decision, PLUGIN) == {"none": 100, "one": 67, "three": 0, "tolerated": 100}


def test_a_toleration_of_another_effect_does_not_cover_a_soft_taint() -> None:
    nodes = [make_node("clean"), make_node("soft", taints=["a:PreferNoSchedule"])]
    tolerations = [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]
    decision = decide(make_pod(tolerations=tolerations), make_cluster(nodes))
    assert scores(decision, PLUGIN) == {"clean": 100, "soft": 0}


def test_without_soft_taints_every_node_gets_100() -> None:
    decision = decide(make_pod(), make_cluster([make_node("a"), make_node("b")]))
    assert scores(decision, PLUGIN) == {"a": 100, "b": 100}


@given(st.data())
def test_equals_the_slow_reference(data: st.DataObject) -> None:
    nodes = data.draw(tainted_nodes())
    pod = data.draw(pods("tolerations"))
    decision = decide(pod, make_cluster(nodes))
    fits = [node.name for node in nodes if reference.fits(pod, node)]
    assert fitting(decision, PLUGIN).split() == fits
    if fits:
        assert scores(decision, PLUGIN) == reference.scores(pod, [node for node in nodes if node.name in fits])


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(
            UntoleratedTaint(Taint(key="gpu", value="x", effect="NoExecute")),
            "taint gpu=x:NoExecute is not tolerated",
            {"taint": "gpu=x:NoExecute"},
            id="with a value",
        ),
        pytest.param(
            UntoleratedTaint(Taint(key="gpu", effect="NoSchedule")),
            "taint gpu:NoSchedule is not tolerated",
            {"taint": "gpu:NoSchedule"},
            id="without",
        ),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)


def test_a_release_that_names_the_taint() -> None:
    taints = [["soft:PreferNoSchedule", "a=x:NoSchedule", "b:NoSchedule"], ["b:NoExecute"], ["a=x:NoSchedule"]]
    cluster = make_cluster([make_node(f"node-{i}", taints=found) for i, found in enumerate(taints)])
    decision = decide(make_pod(), cluster, release=replace(LATEST, names_untolerated_taint=True))
    named = ["{a: x}", "{b: }", "{a: x}"]
    assert [said(decision, PLUGIN, f"node-{i}").reasons for i in range(3)] == [
        (f"node(s) had untolerated taint {taint}",) for taint in named
    ]
    assert decision.message.startswith(
        "0/3 nodes are available: 1 node(s) had untolerated taint {b: }, 2 node(s) had untolerated taint {a: x}."
    )
    assert reason(decision, PLUGIN, "node-1").text == "node(s) had untolerated taint {b: }"
