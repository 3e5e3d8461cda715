"""The number of copies of a pod that fit, as data."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.volume import CSINode
from kschedctl.objects.workload import StatefulSet
from kschedctl.output.data_forms import as_json
from kschedctl.questions.capacity.analysis import capacity as count
from kschedctl.questions.capacity.analysis import capacity_answer
from kschedctl.questions.capacity.answer import CapacityList, PodCapacity
from kschedctl.questions.capacity.document import capacity_map, copies_bars, document, workloads_bars
from kschedctl.questions.capacity.request import CapacityRequest
from kschedctl.questions.explain.answer import WorkloadData
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import PodSubject, Provenance, pods_asked_about
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.simulate.capacity import capacity
from tests.answer_schema import validate
from tests.builders import (
    ZONE,
    make_cluster,
    make_container,
    make_loaded,
    make_node,
    make_object,
    make_pod,
    make_storage_class,
    overview_of,
)
from tests.gangs import RACK, make_group, make_grouping, make_members
from tests.questions.drawn import about, cells, coloured, parts
from tests.questions.printing import lines
from tests.trials.simulate.test_capacity import copies_of


def ask(cpu: str, most: int | None = None) -> PodCapacity:
    cluster = make_cluster([make_node("a", cpu="4", zone="z1"), make_node("b", cpu="2", zone="z2")], [])
    choice = choose_release("1.36", "", ())
    found = capacity(Scheduler(cluster, choice.release), copies_of(make_pod(requests={"cpu": cpu})), most)
    return capacity_answer("pod p", found, Provenance(release_choice=choice, paths=("here",), n_pods=0))


ANSWERS = {"some": ask("1"), "none": ask("9"), "bounded": ask("1", 3)}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_are_valid_by_the_schema(case: str) -> None:
    for answer in (ANSWERS[case], CapacityList(items=(ANSWERS[case],))):
        value = json.loads(as_json(answer))
        validate(value)


@pytest.mark.parametrize(
    ("case", "summary", "names"),
    [
        ("some", "pod p: 6 more pods fit, on 2 nodes", ("node/a 4", "node/b 2")),
        ("none", "pod p: no more pods fit", ()),
        ("bounded", "pod p: at least 3 more pods fit, on 2 nodes", ("node/a 2", "node/b 1")),
    ],
)
def test_what_is_said(case: str, summary: str, names: tuple[str, ...]) -> None:
    assert (ANSWERS[case].summary, ANSWERS[case].names()) == (summary, names)


def test_rooms_of_zones_and_what_stops_the_next() -> None:
    answer = ANSWERS["some"]
    assert [(room.zone, room.nodes, room.copies) for room in answer.zones] == [("z1", 1, 4), ("z2", 1, 2)]
    assert {node.name for node in answer.refusals} == {"a", "b"}
    assert answer.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


ZONES = ("x", "y", "z")


def spread_over_zones(cpu_of_x: str, most: int | None = None, suggest: int | None = None) -> PodCapacity:
    """Count the copies of a pod that is spread over three zones with a pod each, of which zone x has little cpu."""
    labels = {"app": "web"}
    nodes = [make_node(f"n{zone}", zone=zone, cpu=cpu_of_x if zone == "x" else "8") for zone in ZONES]
    constraint = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    spec: dict[str, Any] = {"labels": labels, "requests": {"cpu": "1"}, "topologySpreadConstraints": [constraint]}
    pods = [make_pod(f"web-{zone}", node=f"n{zone}", **spec) for zone in ZONES]
    request = CapacityRequest((PodSubject(make_pod("web", **spec)),), max=most, suggest=suggest)
    (answer,) = count(make_loaded(make_cluster(nodes, pods)), request, AnalysisHandle())
    return answer


def test_a_full_zone_stops_the_others() -> None:
    answer = spread_over_zones("1")
    cause = (
        f"the spread over {ZONE} counts x (1 matching pod, the fewest), where no pod can go: nx has 0 of 1 cpu free, "
        "the pod wants 1 cpu; 2 other nodes could hold the pod, but may be at most 1 ahead: 2 per domain (maxSkew 1)"
    )
    assert answer.copies == 2
    assert [each.cause for each in answer.diagnoses] == [cause]
    said = lines(document(answer, View()), 400)
    assert said[:2] == ["pod default/web: 2 more pods fit, on 2 nodes", f"what stops the next copy: {cause}"]
    assert [(each.summary, each.copies, each.bounded) for each in answer.suggestions] == [
        ("add a node like nx in zone x", 5, False),
        (f"ScheduleAnyway instead of DoNotSchedule in the spread constraint over {ZONE}", 14, False),
        (f"maxSkew 2 instead of 1 in the spread constraint over {ZONE}", 4, False),
        (f"drop the spread constraint over {ZONE}", 14, False),
    ]
    assert any("4 more pods fit instead of 2" in line for line in said)
    assert {each.changes[0].get("name", "web") for each in answer.suggestions} == {"web"}
    validate(json.loads(as_json(answer)))


@pytest.mark.parametrize(
    ("most", "suggest", "causes"),
    [pytest.param(1, None, 0, id="the next copy fits"), pytest.param(None, 0, 1, id="none are wanted")],
)
def test_suggestions_are_not_searched_for(most: int | None, suggest: int | None, causes: int) -> None:
    answer = spread_over_zones("1", most, suggest)
    assert (len(answer.diagnoses), answer.suggestions) == (causes, ())


def test_the_copies_of_a_stateful_set_have_claims_of_their_own() -> None:
    """A node attaches three volumes of the driver; all pods together would need one if they shared it."""
    claim = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    spec = {
        "selector": {"matchLabels": {"app": "db"}},
        "replicas": 1,
        "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [make_container()]}},
        "volumeClaimTemplates": [claim],
    }
    own = make_object(StatefulSet, "db", namespace="default", spec=spec)
    driver = {"name": "csi.example.com", "nodeID": "a", "allocatable": {"count": 3}}
    csi_node = make_object(CSINode, "a", spec={"drivers": [driver]})
    cluster = make_loaded(
        make_cluster([make_node("a")], [], own, csi_node, make_storage_class("standard", default=True))
    )
    found = pods_asked_about(cluster, own)
    asked = PodSubject(found.missing[0].pod, workload=WorkloadData("StatefulSet", "default", "db", 1))
    (answer,) = count(cluster.with_made(found.missing), CapacityRequest((asked,)), AnalysisHandle())
    assert answer.summary == "StatefulSet default/db: 3 more pods fit, on 1 node, the first for 1 pod that it lacks"


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


def gang_capacity_ask(*asked: PodSubject, topology: str = "", there: list[Pod] = RUNNING) -> PodCapacity:
    cluster = make_grouping(make_cluster(NODES, there, make_group(min_count=4, topology=topology)))
    (answer,) = count(cluster, CapacityRequest(asked), AnalysisHandle())
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
    answer = gang_capacity_ask(*asked)
    assert answer.gang is not None
    assert (answer.gang.pods, answer.summary) == (n_pods, summary)
    assert answer.copied == asked[0].pod.key
    assert answer.yes == (answer.copies > 0)
    validate(json.loads(as_json(CapacityList(items=(answer,)))))


def test_the_domains_and_what_stops_the_next_gang() -> None:
    answer = gang_capacity_ask(PodSubject(RUNNING[0]), topology=RACK)
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
    (answer,) = count(cluster, CapacityRequest((PodSubject(alone),)), AnalysisHandle())
    assert (answer.copies, answer.gang) == (0, None)
    assert answer.message == ""
    assert answer.gate == 'waiting for pods\'s pod group "missing" to appear in scheduling queue'


def test_the_message_names_the_group_and_not_its_copy() -> None:
    members = list(make_members(2))
    cluster = make_grouping(make_cluster(NODES, members, make_group(min_count=3)), "1.38")
    (answer,) = count(cluster, CapacityRequest((PodSubject(members[0]),)), AnalysisHandle())
    assert answer.gate == "waiting for podgroup/default/gang to meet its quorum"


def test_without_gates_members_are_pods_as_any_other() -> None:
    member, other = RUNNING[0], make_pod("gang-0", requests=ONE)
    with_group = make_cluster(NODES, [], make_group(min_count=4))
    answers = [
        count(make_loaded(with_group, "1.37"), CapacityRequest((PodSubject(pod),)), AnalysisHandle())[0]
        for pod in (member, other)
    ]
    assert "GenericWorkload" not in RELEASES["1.37"].features or not RELEASES["1.37"].features["GenericWorkload"]
    assert [(answer.copies, answer.gang) for answer in answers] == [(13, None), (13, None)]


NODES_OF_CHARTS = [
    make_node("a", cpu="4", zone="z1"),
    make_node("b", cpu="2", zone="z2"),
    make_node("c", cpu="8", zone="z2", unschedulable=True),
]
CHARTED = make_loaded(make_cluster(NODES_OF_CHARTS, [make_pod("p", requests={"cpu": "1"})]))
ANSWER = SchedulingCluster(CHARTED).capacity("default/p")
LIMITED = SchedulingCluster(CHARTED).capacity("default/p", max=3)


def test_nodes_are_coloured_by_copies_and_by_what_rejects_the_next() -> None:
    chart = capacity_map(ANSWER, overview_of(CHARTED))
    assert coloured(chart) == {"a": "4", "b": "2", "c": "none"}
    assert [kind.name for kind in chart.colourings[0].kinds] == ["none", "1", "2", "3", "4"]
    assert coloured(chart, 1) == {"a": "NodeResourcesFit", "b": "NodeResourcesFit", "c": "NodeUnschedulable"}
    assert about(chart)["a"][:2] == ("4 copies", "Insufficient cpu: wants 1 cpu, free 0 of 4")


def test_a_count_that_stops_at_its_limit_leaves_nodes_that_accept_more() -> None:
    chart = capacity_map(LIMITED, overview_of(CHARTED))
    accepting = {name for name, kind in coloured(chart, 1).items() if kind == "accepts the next copy"}
    assert accepting == {"a", "b"}


def test_copies_by_node() -> None:
    chart = copies_bars(ANSWER)
    assert cells(chart) == [("a", "4 copies"), ("b", "2 copies")]
    assert parts(chart) == {"a": ["zone z1: 4 copies"], "b": ["zone z2: 2 copies"]}


def test_copies_by_workload() -> None:
    chart = workloads_bars(CapacityList(items=(ANSWER, LIMITED)))
    assert [row.cells[1] for row in chart.rows] == ["6 copies", "at least 3 copies"]
