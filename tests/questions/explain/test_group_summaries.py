"""First lines about members of pod groups: members that are not tried, the rest of a group, members that disagree."""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.explain.analysis import explain
from kschedctl.questions.explain.request import ExplainRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import PodSubject
from tests.builders import make_cluster, make_node, make_pod
from tests.gangs import RACK, make_group, make_grouping

GROUP: Final[dict[str, Any]] = {"schedulingGroup": {"podGroupName": "gang"}}
NODES = [make_node("a", cpu="4", labels={RACK: "r1"}), make_node("b", cpu="4", labels={RACK: "r2"})]
#: The first member of the queue needs more than any node has.
LAUNCHER = make_pod("gang-0", requests={"cpu": "8"}, **GROUP)


def workers(number: int, *, cpu: int = 1, node: str = "", priority: int = 0) -> list[Pod]:
    names = [f"gang-{'old' if node else 'w'}{i}" for i in range(number)]
    return [make_pod(name, requests={"cpu": str(cpu)}, node=node, priority=priority, **GROUP) for name in names]


@pytest.mark.parametrize(
    ("version", "group", "members", "expected"),
    [
        pytest.param(
            "1.37",
            make_group(min_count=3),
            [LAUNCHER, *workers(2)],
            "The gang default/gang is not scheduled: 0 of 3 members find a node, 3 are needed and 2 are not tried; no "
            "node has 8 cpu, the largest offers 4.",
            id="the attempt ends at the first member that fails",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=3),
            workers(3, cpu=4),
            "The gang default/gang is not scheduled: 2 of 3 members find a node, 3 are needed; the other one lacks "
            "4 cpu.",
            id="every member is tried",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=5),
            workers(6, cpu=4),
            "The gang default/gang is not scheduled: 2 of 6 members find a node, 5 are needed; the other 4 lack 4 cpu "
            "each.",
            id="those that are not tried are like one that finds no node",
        ),
        pytest.param(
            "1.36",
            make_group(min_count=3),
            [LAUNCHER, *workers(2)],
            "The gang default/gang is not scheduled: 2 of 3 members find a node, 3 are needed; no node has 8 cpu, the "
            "largest offers 4.",
            id="1.36 tries every member",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=2),
            [*workers(2, node="a"), LAUNCHER],
            "The rest of gang default/gang is not scheduled: 2 of 3 members have a node, 2 are needed; no node has "
            "8 cpu, the largest offers 4.",
            id="enough members are on nodes",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=3, topology=RACK),
            [*workers(2, node="a"), LAUNCHER],
            "The gang default/gang is not scheduled: in rack r1, 2 of 3 members find a node, 3 are needed; a has "
            "4 cpu in all, the pod wants 8 cpu.",
            id="the members on nodes fix the only domain",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=2, priority=10),
            workers(2),
            "The gang default/gang is not scheduled: kube-scheduler returns an error: all pods in a single pod group "
            "should have the same priority as the pod group's priority, got 0 and 10.",
            id="members of another priority than the group",
        ),
    ],
)
def test_first_line(version: str, group: PodGroup, members: Sequence[Pod], expected: str) -> None:
    cluster = make_grouping(make_cluster(NODES, members, group), version)
    pending = next(pod for pod in members if not pod.spec.node_name)
    (answer,) = explain(cluster, ExplainRequest((PodSubject(pending),)), AnalysisHandle())
    assert answer.verdict.summary == expected
