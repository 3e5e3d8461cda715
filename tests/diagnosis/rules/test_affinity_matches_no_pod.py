"""Required pod affinity that no pod matches."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.pod import Pod
from tests.builders import HOSTNAME, decide, make_cluster, make_namespace, make_node, make_pod


def near(**labels: str) -> dict[str, Any]:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize(
    ("others", "cause", "cure"),
    [
        pytest.param(
            [make_pod("c", node="a", labels={"app": "cache"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one; 1 pod has app=cache",
            "app=cache instead of app=cahce in the pod affinity",
            id="mistyped",
        ),
        pytest.param(
            [make_pod("c", namespace="data", node="a", labels={"app": "cahce"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one; "
            "1 pod with these labels is in data",
            "namespaces [data] in the pod affinity",
            id="another namespace",
        ),
        pytest.param(
            [make_pod("c", labels={"app": "cahce"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one; default/c matches, "
            "and is pending",
            "get a pod with app=cahce to run first",
            id="pending",
        ),
        pytest.param(
            [make_pod("c", node="a", labels={"app": "web"})],
            "pod affinity wants a pod with app=cahce in namespace default, and no node runs one",
            "get a pod with app=cahce to run first",
            id="nothing like it",
        ),
    ],
)
def test_cause_and_cure(others: list[Pod], cause: str, cure: str) -> None:
    cluster = make_cluster([make_node("a"), make_node("b")], others, make_namespace("default"), make_namespace("data"))
    decision = decide(make_pod(affinity=near(app="cahce")), cluster)
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert suggest(decision).ranked[0].summary == cure


def test_the_pod_that_is_wanted_runs_on_a_full_node() -> None:
    pods = [make_pod("c", node="a", labels={"app": "cache"}, requests={"cpu": "4"})]
    pod = make_pod(requests={"cpu": "1"}, affinity=near(app="cache"))
    (found,) = diagnose(decide(pod, make_cluster([make_node("a"), make_node("b")], pods)))
    assert found.rule == "obstacles"
