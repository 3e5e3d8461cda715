from __future__ import annotations

import pytest

from kschedctl.framework.status import Code, Status
from tests.builders import decide, fitting, make_cluster, make_node, make_pod, reason, said

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
