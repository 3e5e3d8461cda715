"""Spread constraints that count the pods of others."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.scheduler.cycle.decision import Decision
from tests.builders import ZONE, decide, make_cluster, make_node, make_pod
from tests.diagnosis.rules.cures import cures


def decision(labels: dict[str, str], selector: dict[str, Any]) -> Decision:
    """Two zones with two old pods each, and a full one."""
    constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    nodes = [make_node(name, zone=name, cpu="4" if name != "c" else "0") for name in "abc"]
    pods = [make_pod(f"old-{node}{i}", node=node, labels={"app": "old"}) for node in "ab" for i in (1, 2)]
    pod = make_pod("new", labels=labels, requests={"cpu": "1"}, topologySpreadConstraints=[constraint])
    return decide(pod, make_cluster(nodes, pods))


OLD = {"matchLabels": {"app": "old"}}
MATCH = f"correct the labelSelector of the spread constraint over {ZONE}, or the labels of the pod: they must match"


@pytest.mark.parametrize(
    ("labels", "selector", "cause", "cure"),
    [
        pytest.param(
            {"app": "new"},
            OLD,
            f"the spread over {ZONE} counts pods with app=old, and the pod itself has app=new",
            f"app=new instead of app=old in the labelSelector of the spread constraint over {ZONE}",
            id="another value",
        ),
        pytest.param(
            {"name": "new"},
            OLD,
            f"the spread over {ZONE} counts pods with app=old, and the pod itself does not have it",
            f"{MATCH} (untried)",
            id="no such label",
        ),
        pytest.param(
            {"app": "new"},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["old"]}]},
            f"the spread over {ZONE} counts pods that its selector selects, not the pod",
            f"{MATCH} (untried)",
            id="expressions",
        ),
    ],
)
def test_pods_of_others_are_counted(labels: dict[str, str], selector: dict[str, Any], cause: str, cure: str) -> None:
    found = decision(labels, selector)
    assert diagnose(found)[0].cause == cause
    assert cures(found)[0] == cure
    assert not any("delete" in each for each in cures(found))


def test_own_pods_are_counted() -> None:
    assert not any(each.rule == "foreign-spread" for each in diagnose(decision({"app": "old"}, OLD)))
