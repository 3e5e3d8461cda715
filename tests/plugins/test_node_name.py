from __future__ import annotations

from typing import Any

import pytest

from kschedctl.framework.operands import Operands
from kschedctl.framework.status import Code, Status
from kschedctl.plugins.node_name import OtherNodeNamed
from tests.builders import decide, fitting, make_cluster, make_node, make_pod, reason, said, told

PLUGIN = "NodeName"


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        pytest.param("", "a b", id="a pod without a node name fits everywhere"),
        pytest.param("b", "b", id="a pod that names its node fits there only"),
        pytest.param("gone", "", id="a pod that names a node that is not there fits nowhere"),
    ],
)
def test_requested_node(wanted: str, fits: str) -> None:
    decision = decide(make_pod(node=wanted), make_cluster([make_node("a"), make_node("b")]))
    assert fitting(decision, PLUGIN) == fits


def test_wording() -> None:
    decision = decide(make_pod(node="b"), make_cluster([make_node("a")]))
    text = "node(s) didn't match the requested node name"
    assert said(decision, PLUGIN, "a") == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))
    assert reason(decision, PLUGIN, "a").detail == "spec.nodeName is b"


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(OtherNodeNamed("b"), "spec.nodeName is b", {"nodeName": "b"}, id="another node"),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
