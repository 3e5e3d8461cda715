"""Pod groups that lose members while nodes are drained and workloads are rolled out."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod, PodSchedulingGroup
from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.answer_parts import CureData
from kschedctl.questions.document import Table
from kschedctl.questions.drain.analysis import drain
from kschedctl.questions.drain.answer import Drained
from kschedctl.questions.drain.document import document
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.run_results import distinct_cures
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.questions.simulate.analysis import simulate
from kschedctl.questions.simulate.answer import SlowestPodData
from kschedctl.questions.simulate.document import document as pending_causes_document
from kschedctl.questions.simulate.request import SimulateRequest
from kschedctl.trials.simulate.rollout import restarted
from tests.builders import make_cluster, make_loaded, make_node, make_pod
from tests.gangs import GROUPING, RACK, make_group, make_grouping
from tests.questions.printing import lines
from tests.trials.simulate.test_rollout import members as stateful_pods
from tests.trials.simulate.test_rollout import nodes, stateful_set

JOB = ("batch/v1", "Job", "gang")


@pytest.mark.parametrize(
    ("cures", "then", "untried"),
    [
        ([("a is scheduled", "")], "a is scheduled", ""),
        ([("a is scheduled", ""), ("a is scheduled", "")], "a is scheduled", ""),
        ([("a is scheduled", ""), ("b is", "")], "tried for each alone: a is scheduled; b is", ""),
        ([("", "no such node"), ("a is scheduled", "")], "a is scheduled", ""),
        ([("", "no such node"), ("", "no such node")], "", "no such node"),
    ],
    ids=["one", "same outcome", "two pods", "tried for one", "not tried"],
)
def test_a_cure_of_several_causes_is_one_cure(cures: list[tuple[str, str]], then: str, untried: str) -> None:
    command = ("kubectl uncordon a",)
    other = CureData("uncordon a", "", ("kubectl uncordon a --context b",))
    found = [CureData("uncordon a", then, command, untried) for then, untried in cures]
    assert list(distinct_cures((*found, other))) == [CureData("uncordon a", then, command, untried), other]


def member(number: int, node: str = "", **fields: Any) -> Pod:
    fields = {"requests": {"cpu": "2"}, "owner": JOB, **fields}
    return make_pod(f"gang-{number}", node=node, schedulingGroup={"podGroupName": "gang"}, **fields)


def host(name: str, cpu: int, rack: str = "") -> Node:
    return make_node(name, cpu=str(cpu), labels={RACK: rack} if rack else {})


#: Three members on two nodes of four CPUs.
SPREAD = [member(0, "a"), member(1, "b"), member(2, "b")]


def ask(version: str, hosts: list[Node], pods: list[Pod], group: PodGroup, **options: Any) -> Drained:
    cluster = make_grouping(make_cluster(hosts, pods, group), version)
    request = DrainRequest(nodes=("a",), **options)
    return drain(cluster, request, AnalysisHandle())


@pytest.mark.parametrize("version", GROUPING)
@pytest.mark.parametrize(
    ("hosts", "pods", "group", "expected", "short"),
    [
        pytest.param(
            [host("a", 4), host("b", 4), host("c", 2)],
            SPREAD,
            make_group(min_count=3),
            (3, 2, 3),
            "",
            id="the evicted member comes back, and its group is short until then",
        ),
        pytest.param(
            [host("a", 4), host("b", 4)],
            SPREAD,
            make_group(min_count=3),
            (3, 2, 2),
            "gang default/gang is left with 2 pods, 3 are needed",
            id="no node for it: the others run on",
        ),
        pytest.param(
            [host("a", 4), host("b", 4)],
            SPREAD,
            make_group(min_count=3, whole=True),
            (3, 2, 2),
            "gang default/gang is left with 2 pods, 3 are needed",
            id="an eviction ends one pod, whatever the disruption mode",
        ),
        pytest.param(
            [host("a", 4, "r1"), host("b", 4, "r1"), host("c", 8, "r2")],
            SPREAD,
            make_group(min_count=2, topology=RACK),
            (3, 2, 2),
            "",
            id="it comes back only in the rack of the others",
        ),
        pytest.param(
            [host("a", 4), host("b", 4), host("c", 2)],
            [*SPREAD, member(3)],
            make_group(min_count=4),
            (3, 2, 3),
            "",
            id="it is tried with the pending members; the terminating one still counts for minCount",
        ),
        pytest.param(
            [host("a", 4), host("b", 4), host("c", 4)],
            [*SPREAD, member(3)],
            make_group(min_count=4),
            (3, 2, 4),
            "",
            id="it is tried with the pending members, and all find nodes",
        ),
        pytest.param(
            [host("a", 4), host("b", 4), host("c", 2)], SPREAD, make_group(), (3, 2, 3), "", id="the basic policy"
        ),
    ],
)
def test_drain(
    version: str, hosts: list[Node], pods: list[Pod], group: PodGroup, expected: tuple[int, int, int], short: str
) -> None:
    answer = ask(version, hosts, pods, group)
    (loss,) = answer.groups
    assert (loss.before, loss.fewest, loss.after) == expected
    assert (loss.evicted, loss.preempted) == (("default/gang-0",), ())
    assert short in answer.summary
    assert ("is left with" in answer.summary) == bool(short)


def test_a_member_that_moves_preempts_a_gang_as_a_whole() -> None:
    low = [
        make_pod(f"low-{i}", node=node, priority=-5, requests={"cpu": "2"}, schedulingGroup={"podGroupName": "low"})
        for i, node in enumerate(("b", "c"))
    ]
    moving = make_pod("web", node="a", requests={"cpu": "2"}, owner=("apps/v1", "ReplicaSet", "web"))
    cluster = make_cluster(
        [host("a", 4), host("b", 2), host("c", 2)], [*low, moving], make_group("low", 2, priority=-5, whole=True)
    )
    request = DrainRequest(nodes=("a",))
    answer = drain(make_grouping(cluster), request, AnalysisHandle())
    assert [(each.name, each.evicted, sorted(each.preempted), each.after) for each in answer.groups] == [
        ("low", (), ["default/low-0", "default/low-1"], 0)
    ]
    assert "gang default/low is left with no pod, 2 are needed" in answer.summary


def test_the_section_of_a_drain() -> None:
    answer = ask("1.37", [host("a", 4), host("b", 4)], SPREAD, make_group(min_count=3, whole=True))
    text = [line.rstrip() for line in lines(document(answer, View(now=datetime(2026, 1, 1, tzinfo=UTC))), 100)]
    start = text.index("Pod groups that lose members")
    assert text[start : start + 5] == [
        "Pod groups that lose members",
        "  group         minCount  pods  evicted  preempted  at the lowest  at the end",
        "  default/gang         3     3        1          0              2           2",
        "  below minCount the pods that are left run on: minCount holds only when pods are scheduled",
        "  disruptionMode all holds only for preemption: an eviction or deletion ends one pod",
    ]


def test_without_gates_no_group_is_reported() -> None:
    cluster = make_cluster([host("a", 4), host("b", 4)], SPREAD, make_group(min_count=3))
    answer = drain(make_loaded(cluster, "1.37"), DrainRequest(nodes=("a",)), AnalysisHandle())
    assert answer.groups == ()
    assert "gang" not in answer.summary.replace("default/gang-0", "")


@pytest.mark.parametrize("version", GROUPING)
def test_rollout(version: str) -> None:
    plain = stateful_set(3)
    template = plain.spec.template
    assert template is not None
    grouped = replace(template.spec, scheduling_group=PodSchedulingGroup(pod_group_name="gang"))
    db = replace(plain, spec=replace(plain.spec, template=replace(template, spec=grouped)))
    pods = [
        replace(pod, spec=replace(pod.spec, scheduling_group=grouped.scheduling_group))
        for pod in stateful_pods(["n0", "n1", "n0"])
    ]
    cluster = make_grouping(make_cluster(nodes(2), pods, db, make_group(min_count=3)), version)
    answer = SchedulingCluster(cluster).rollout(restarted(db))
    assert answer.finished
    assert [(each.before, each.fewest, each.after, len(each.evicted)) for each in answer.groups] == [(3, 2, 3, 3)]


@pytest.mark.parametrize("version", GROUPING)
@pytest.mark.parametrize(
    ("spare", "expected"),
    [
        pytest.param(4, (3, 1, 3), id="both come back together"),
        pytest.param(2, (3, 1, 1), id="a node for one of two: none comes back"),
    ],
)
def test_diff(version: str, spare: int, expected: tuple[int, int, int]) -> None:
    hosts = [host("a", 2), host("b", 4), host("c", spare)]
    group = make_group(min_count=3)
    sides = [
        make_grouping(make_cluster(hosts, pods, group), version) for pods in (SPREAD, [SPREAD[0], member(1), member(2)])
    ]
    cordoned = replace(hosts[1], spec=replace(hosts[1].spec, unschedulable=True))
    after = sides[1].moved(sides[1].cluster.with_nodes([hosts[0], cordoned, hosts[2]]))
    answer = SchedulingCluster(sides[0]).diff(SchedulingCluster(after), ["default/gang-1", "default/gang-2"])
    assert [(each.before, each.fewest, each.after) for each in answer.groups] == [expected]


EVICTIONS_JOB = ("batch/v1", "Job", "report")
STATEFUL = ("apps/v1", "StatefulSet", "db")


def test_pods_without_a_controller_are_lost_and_the_longest_grace_period_is_named() -> None:
    running = (
        make_pod("report-1", node="a", owner=EVICTIONS_JOB, requests={"cpu": "1"}, terminationGracePeriodSeconds=1800),
        make_pod("bare", node="a", requests={"cpu": "1"}),
        make_pod("db-0", node="b", owner=STATEFUL, requests={"cpu": "2"}, terminationGracePeriodSeconds=60),
    )
    waiting = [make_pod(name, requests={"cpu": "2"}, priority=9) for name in ("high-1", "high-2")]
    cluster = make_cluster([make_node("a", cpu="2"), make_node("b", cpu="2")], (*running, *waiting))
    answer = simulate(make_loaded(cluster), SimulateRequest(), AnalysisHandle())
    fates = {each.pod: (each.made_again, each.lost) for each in answer.evicted}
    assert fates == {
        "default/report-1": ("default/report-xxxxx", False),
        "default/bare": ("", True),
        "default/db-0": ("default/db-0", False),
    }
    assert answer.summary == "2 of 4 pods placed; 2 pending, 3 evicted (1 lost for good)"
    assert answer.slowest == SlowestPodData("default/report-1", "a", 1800)


def test_a_drain_names_the_longest_grace_period_and_the_pods_that_its_pods_preempt_for_good() -> None:
    moving = make_pod(
        "db-0", node="a", owner=STATEFUL, requests={"cpu": "2"}, priority=9, terminationGracePeriodSeconds=1800
    )
    bare = make_pod("bare", node="b", requests={"cpu": "1"})
    cluster = make_loaded(make_cluster([make_node("a", cpu="2"), make_node("b", cpu="2")], [moving, bare]))
    answer = drain(cluster, DrainRequest(nodes=("a",)), AnalysisHandle())
    assert answer.slowest == SlowestPodData("default/db-0", "a", 1800)
    lost = "default/bare is preempted on other nodes and lost for good"
    assert answer.summary == f"a can be drained: 1 pod moves; {lost}"
    assert (answer.lost, answer.yes) == (("default/bare",), False)


NODES = [make_node("a"), make_node("b", unschedulable=True)]
PODS = [
    make_pod("large", requests={"cpu": "8"}),
    make_pod("busy-1", requests={"cpu": "3"}),
    make_pod("busy-2", requests={"cpu": "3"}),
]


def test_each_group_has_its_cause_before_the_message() -> None:
    answer = simulate(make_loaded(make_cluster(NODES, PODS)), SimulateRequest(), AnalysisHandle())
    causes = {group.pods: group.cause for group in answer.waiting}
    assert causes == {
        ("default/large",): "no node has 8 cpu, the largest offers 4",
        ("default/busy-2",): "b is cordoned; a has 1 of 4 cpu free, the pod wants 3 cpu",
    }
    (first,) = [block for block in pending_causes_document(answer, View()) if isinstance(block, Table)][:1]
    assert [row[2][0] for row in first.rows] == [group.cause for group in answer.waiting]
    assert all("nodes are available" in row[2][1] for row in first.rows)


def test_preempt_says_the_cause_first() -> None:
    answer = SchedulingCluster(make_loaded(make_cluster(NODES, PODS))).preempt("default/large")
    assert answer.verdict.summary == (
        "default/large fits on none of 2 nodes: no node has 8 cpu, the largest offers 4. Evicting pods does not help."
    )
    assert [each.cause for each in answer.diagnoses] == ["no node has 8 cpu, the largest offers 4"]
