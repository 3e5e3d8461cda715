"""Groups that are not tried: no PodGroup, too few pods, a gated member."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import make_cluster, make_members, make_node, make_pod_group, with_groups
from tests.diagnosis.rules.cures import cures

GATED = make_members("gated", schedulingGates=[{"name": "example.com/wait"}])


@pytest.mark.parametrize(
    ("pods", "groups", "cause", "first"),
    [
        pytest.param(
            make_members("p"),
            [],
            "PodGroup default/gang does not exist",
            "create PodGroup gang in namespace default, or correct schedulingGroup in the pods (untried)",
            id="no PodGroup",
        ),
        pytest.param(
            make_members("p"),
            [make_pod_group("gangs"), make_pod_group("gang", namespace="other")],
            "PodGroup default/gang does not exist; gangs may be meant",
            "create PodGroup gang in namespace default, or correct schedulingGroup in the pods (untried)",
            id="a similar name",
        ),
        pytest.param(
            make_members("p q"),
            [make_pod_group(min_count=3)],
            "2 of the 3 pods that gang default/gang needs exist",
            "let the workload make 1 more pod: minCount is 3 (untried)",
            id="2 of 3 exist",
        ),
        pytest.param(
            make_members("p") + make_members("q", node="n1"),
            [make_pod_group(min_count=4)],
            "2 of the 4 pods that gang default/gang needs exist, 1 of them on nodes",
            "let the workload make 2 more pods: minCount is 4 (untried)",
            id="one is on a node",
        ),
        pytest.param(
            [*make_members("p"), *GATED],
            [make_pod_group(min_count=2)],
            "its group default/gang waits for default/gated to lose its scheduling gate",
            "",
            id="a gated member",
        ),
    ],
)
def test_cause_and_first_cure(pods: Sequence[Pod], groups: Sequence[PodGroup], cause: str, first: str) -> None:
    cluster = make_cluster([make_node("n1")], pods, *groups)
    decision = Scheduler(cluster, with_groups("1.37")).decide_as_scheduled(pods[0])
    assert [(one.rule, one.cause) for one in diagnose(decision)] == [("waiting-gang", cause)]
    assert cures(decision)[:1] == ([first] if first else [])


def test_minCount_is_lowered_where_it_can_change() -> None:
    pods, group = make_members("p q"), make_pod_group(min_count=3)
    cluster = make_cluster([make_node("n1")], pods, group)
    by_release = {
        version: cures(Scheduler(cluster, with_groups(version)).decide_as_scheduled(pods[0]))
        for version in ("1.36", "1.37")
    }
    lowered = "minCount 2 instead of 3 in PodGroup gang"
    assert [lowered in every for every in by_release.values()] == [False, True]
