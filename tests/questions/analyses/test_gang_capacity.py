"""The answer of ``capacity`` for pods of groups: the pods of one copy, and what is reported about the next one."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from kschedctl.output.json import as_json
from kschedctl.questions.analyses.capacity import CapacityRequest, capacity
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.subjects import PodSubject
from kschedctl.questions.answers.capacity import CapacityList, PodCapacity
from kschedctl.questions.answers.explain import WorkloadData
from kschedctl.questions.presentation.capacity import document
from kschedctl.questions.presentation.frame import View
from tests.answer_schema import validate
from tests.builders import make_cluster, make_loaded, make_node, make_pod
from tests.gangs import RACK, make_group, make_grouping, make_members
from tests.questions.presentation.printing import lines

NODES = [
    make_node("a", cpu="4", labels={RACK: "r1"}),
    make_node("b", cpu="3", labels={RACK: "r1"}),
    make_node("c", cpu="6", labels={RACK: "r2"}),
]
ONE = {"cpu": "1"}
#: A running gang of four: CPUs left are 3, 3 and 3.
RUNNING = [
    *make_members(1, node="a", requests=ONE),
    *(make_pod(f"gang-{i}", node="c", requests=ONE, schedulingGroup={"podGroupName": "gang"}) for i in (1, 2, 3)),
]


def made_by(kind: str, replicas: int, name: str = "job") -> PodSubject:
    pod = make_pod(f"{name}-xxxxx", requests=ONE, schedulingGroup={"podGroupName": "gang"})
    return PodSubject(pod, where="job.yaml", workload=WorkloadData(kind, "default", name, replicas))


def ask(*asked: PodSubject, topology: str = "", there: list[Pod] = RUNNING) -> PodCapacity:
    cluster = make_grouping(make_cluster(NODES, there, make_group(min_count=4, topology=topology)))
    (answer,) = capacity(cluster, CapacityRequest(pods=asked), AnalysisHandle())
    return answer


@pytest.mark.parametrize(
    ("asked", "n_pods", "summary"),
    [
        pytest.param(
            [PodSubject(RUNNING[0])],
            4,
            "gang default/gang: 2 more gangs of 4 pods fit, on 3 nodes",
            id="a running member",
        ),
        pytest.param(
            [made_by("Job", 4)], 4, "gang default/gang: 2 more gangs of 4 pods fit, on 3 nodes", id="a new Job"
        ),
        pytest.param(
            [made_by("Job", 4), made_by("Job", 2, "leader")],
            6,
            "gang default/gang: 1 more gang of 6 pods fits, on 3 nodes",
            id="two workloads are one gang",
        ),
        pytest.param(
            [made_by("Job", 2)],
            6,
            "gang default/gang: 1 more gang of 6 pods fits, on 3 nodes",
            id="fewer pods than minCount join those of the cluster",
        ),
        pytest.param([made_by("Job", 10)], 10, "gang default/gang: no more gangs of 10 pods fit", id="not one"),
    ],
)
def test_the_pods_of_a_copy(asked: list[PodSubject], n_pods: int, summary: str) -> None:
    answer = ask(*asked)
    assert answer.gang is not None
    assert (answer.gang.pods, answer.summary) == (n_pods, summary)
    assert answer.copied == asked[0].pod.key
    assert answer.yes == (answer.copies > 0)
    validate(json.loads(as_json(CapacityList(items=(answer,)))))


def test_the_domains_and_what_stops_the_next_gang() -> None:
    answer = ask(PodSubject(RUNNING[0]), topology=RACK)
    text = lines(document(answer, View(now=datetime(2026, 1, 1, tzinfo=UTC))))
    start = text.index("Topology domains")
    assert answer.summary == "gang default/gang: 1 more gang of 4 pods fits, on 2 nodes"
    assert [line.rstrip() for line in text[start : start + 6]] == [
        "Topology domains",
        "  example.com/rack  gangs  pods of the next  what stops the next pod",
        "  r1                    1  2 of 4            2 Insufficient cpu",
        "  r2                    0  3 of 4            1 Insufficient cpu",
        "",
        "A further gang finds nodes for 3 of its 4 pods; minCount is 4.",
    ]


def test_a_group_that_nobody_created() -> None:
    alone = make_pod("alone", requests=ONE, schedulingGroup={"podGroupName": "missing"})
    cluster = make_grouping(make_cluster(NODES, [alone]))
    (answer,) = capacity(cluster, CapacityRequest(pods=(PodSubject(alone),)), AnalysisHandle())
    assert (answer.copies, answer.gang) == (0, None)
    assert answer.message == ""
    assert answer.gate == 'waiting for pods\'s pod group "missing" to appear in scheduling queue'


def test_without_gates_members_are_pods_as_any_other() -> None:
    member, other = RUNNING[0], make_pod("gang-0", requests=ONE)
    with_group = make_cluster(NODES, [], make_group(min_count=4))
    answers = [
        capacity(make_loaded(with_group, "1.37"), CapacityRequest(pods=(PodSubject(pod),)), AnalysisHandle())[0]
        for pod in (member, other)
    ]
    assert "GenericWorkload" not in RELEASES["1.37"].features or not RELEASES["1.37"].features["GenericWorkload"]
    assert [(answer.copies, answer.gang) for answer in answers] == [(13, None), (13, None)]
