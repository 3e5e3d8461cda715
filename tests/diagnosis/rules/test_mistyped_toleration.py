"""Tolerations that miss a taint by a mistake."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from tests.builders import decide, make_cluster, make_node, make_pod


def tolerating(key: str, value: str = "", effect: str = "NoSchedule", operator: str = "Equal") -> dict[str, Any]:
    return {"tolerations": [{"key": key, "value": value, "effect": effect, "operator": operator}]}


@pytest.mark.parametrize(
    ("spec", "taints", "cause", "cure"),
    [
        pytest.param(
            tolerating("dedicated", "analytcs"),
            ["dedicated=analytics:NoSchedule"],
            "the pod tolerates dedicated=analytcs:NoSchedule, and the taint of a is dedicated=analytics:NoSchedule",
            "tolerate dedicated=analytics:NoSchedule instead of dedicated=analytcs:NoSchedule",
            id="value",
        ),
        pytest.param(
            tolerating("dedicatd", "ml"),
            ["dedicated=ml:NoSchedule"],
            "the pod tolerates dedicatd=ml:NoSchedule, and the taint of a is dedicated=ml:NoSchedule",
            "tolerate dedicated=ml:NoSchedule instead of dedicatd=ml:NoSchedule",
            id="key",
        ),
        pytest.param(
            tolerating("spot", "yes"),
            ["spot=true:NoSchedule"],
            "the pod tolerates spot=yes:NoSchedule, and the taint of a is spot=true:NoSchedule",
            "tolerate spot=true:NoSchedule instead of spot=yes:NoSchedule",
            id="another word for yes",
        ),
        pytest.param(
            tolerating("dedicated", ""),
            ["dedicated=gpu:NoSchedule"],
            "the pod tolerates dedicated:NoSchedule, and the taint of a is dedicated=gpu:NoSchedule",
            "tolerate dedicated=gpu:NoSchedule instead of dedicated:NoSchedule",
            id="no value",
        ),
        pytest.param(
            tolerating("node-role.kubernetes.io/master", operator="Exists"),
            ["node-role.kubernetes.io/control-plane:NoSchedule"],
            "the pod tolerates node-role.kubernetes.io/master:NoSchedule, "
            "and the taint of a is node-role.kubernetes.io/control-plane:NoSchedule",
            "tolerate node-role.kubernetes.io/control-plane:NoSchedule instead of "
            "node-role.kubernetes.io/master:NoSchedule",
            id="the old name of the control plane",
        ),
        pytest.param(
            tolerating("spot", "true"),
            ["spot=true:NoExecute"],
            "the pod tolerates spot=true:NoSchedule, and the taint of a is spot=true:NoExecute",
            "tolerate spot=true:NoExecute instead of spot=true:NoSchedule",
            id="effect",
        ),
        pytest.param(
            tolerating("spot", "true"),
            ["spot=true:NoSchedule", "spot=true:NoExecute"],
            "the pod tolerates spot=true:NoSchedule, and the taint of a is spot=true:NoExecute",
            "tolerate every effect of spot, not only NoSchedule",
            id="one of two effects",
        ),
    ],
)
def test_cause_and_cure(spec: dict[str, Any], taints: list[str], cause: str, cure: str) -> None:
    full = make_pod("x", node="b", requests={"cpu": "4"})
    decision = decide(
        make_pod(requests={"cpu": "1"}, **spec), make_cluster([make_node("a", taints=taints), make_node("b")], [full])
    )
    (found,) = diagnose(decision)
    assert found.cause == f"{cause}; b has 0 of 4 cpu free, the pod wants 1 cpu"
    assert suggest(decision).ranked[0].summary == cure


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(tolerating("dedicated", "team-b"), id="another team"),
        pytest.param(tolerating("nvidia.com/gpu", "present"), id="another key"),
        pytest.param({}, id="no toleration"),
    ],
)
def test_the_node_is_reserved_for_others(spec: dict[str, Any]) -> None:
    node = make_node("a", taints=["dedicated=team-a:NoSchedule"])
    (found,) = diagnose(decide(make_pod(**spec), make_cluster([node])))
    assert found.rule == "reserved-nodes"


def test_the_node_is_full_as_well() -> None:
    node = make_node("a", cpu="0", taints=["spot=true:NoSchedule"])
    (found,) = diagnose(decide(make_pod(requests={"cpu": "1"}, **tolerating("spot", "yes")), make_cluster([node])))
    assert found.rule != "mistyped-toleration"
