from __future__ import annotations

from typing import Any

import pytest

from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Status
from kschedctl.scheduler.plugins.node_unschedulable import Cordoned
from tests.builders import decide, make_cluster, make_node, make_pod, reason, said, told

PLUGIN = "NodeUnschedulable"
KEY = "node.kubernetes.io/unschedulable"
CORDONED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) were unschedulable",))


@pytest.mark.parametrize(
    ("cordoned", "tolerations", "expected"),
    [
        pytest.param(False, [], Status(), id="an open node passes"),
        pytest.param(True, [], CORDONED, id="a cordoned node is out"),
        pytest.param(True, [{"key": KEY, "operator": "Exists"}], Status(), id="unless cordoning is tolerated"),
        pytest.param(True, [{"key": KEY, "effect": "NoSchedule"}], Status(), id="by equality with the empty value"),
        pytest.param(True, [{"operator": "Exists"}], Status(), id="or by tolerating everything"),
        pytest.param(True, [{"key": KEY, "value": "true"}], CORDONED, id="another value does not tolerate it"),
        pytest.param(True, [{"key": KEY, "effect": "NoExecute"}], CORDONED, id="nor does another effect"),
    ],
)
def test_cordoned_nodes(cordoned: bool, tolerations: list[dict[str, Any]], expected: Status) -> None:
    cluster = make_cluster([make_node(unschedulable=cordoned)])
    assert said(decide(make_pod(tolerations=tolerations), cluster), PLUGIN) == expected


def test_detail() -> None:
    decision = decide(make_pod(), make_cluster([make_node(unschedulable=True)]))
    assert reason(decision, PLUGIN).detail == "the node is cordoned"


@pytest.mark.parametrize(
    ("operands", "words", "data"),
    [
        pytest.param(Cordoned(), "the node is cordoned", {}, id="cordoned"),
    ],
)
def test_operands(operands: Operands, words: str, data: dict[str, Any]) -> None:
    assert told(operands) == (words, data)
