"""The shortage of the members without a node, beside those that have one."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.core import Node
from kschedctl.objects.custom_resources import CoschedulingPodGroup, VolcanoPodGroup, VolcanoQueue
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.releases.rules import COMPOSITE_POD_GROUP
from kschedctl.scheduler.cycle.scheduler import Scheduler
from tests.builders import (
    decide,
    make_cluster,
    make_members,
    make_node,
    make_object,
    make_pod,
    make_pod_group,
    with_groups,
)
from tests.diagnosis.rules.cures import cures


def with_cpu(names: str, cpu: str) -> list[Pod]:
    return make_members(names, requests={"cpu": cpu})


@pytest.mark.parametrize(
    ("nodes", "pods", "min_count", "cause"),
    [
        pytest.param([make_node("n1")], with_cpu("a b c", "2"), 3, "the other one lacks 2 cpu", id="one"),
        pytest.param([make_node("n1")], with_cpu("a b c d", "2"), 4, "the other 2 lack 2 cpu each", id="two alike"),
        pytest.param(
            [make_node("n1")],
            [*with_cpu("a b", "2"), *with_cpu("c", "1"), *with_cpu("d", "3")],
            4,
            "c lacks 1 cpu",
            id="others that differ",
        ),
        pytest.param(
            [make_node("n1"), make_node("n2", cpu="3")],
            with_cpu("a b c d", "2"),
            4,
            "the other one lacks 1 cpu on n2, where least is missing",
            id="the node that lacks least",
        ),
        pytest.param(
            [make_node("n1", pods=2)], with_cpu("a b c", "1"), 3, "the other one lacks 1 pod", id="no pod slot"
        ),
        pytest.param(
            [make_node("n1"), make_node("n2", unschedulable=True)],
            with_cpu("a b c", "2"),
            3,
            "the other one lacks 2 cpu",
            id="a cordoned node beside",
        ),
    ],
)
def test_cause(nodes: Sequence[Node], pods: Sequence[Pod], min_count: int, cause: str) -> None:
    cluster = make_cluster(nodes, pods, make_pod_group(min_count=min_count))
    decision = Scheduler(cluster, with_groups("1.37")).decide_as_scheduled(pods[0])
    assert cause in [one.cause for one in diagnose(decision) if one.rule == "gang-members"]


def test_no_node_has_the_label_of_the_constraint() -> None:
    pods = with_cpu("a b", "1")
    group = make_pod_group(min_count=2, topology_key="example.com/rak")
    cluster = make_cluster([make_node("n1", labels={"example.com/rack": "r1"})], pods, group)
    decision = Scheduler(cluster, with_groups("1.37", topology=True)).decide_as_scheduled(pods[0])
    assert [one.cause for one in diagnose(decision)] == [
        "no node has the label example.com/rak, which the topology constraint of its group names; "
        "example.com/rack may be meant"
    ]


def test_without_any_member_on_a_node_the_usual_cause_is_told() -> None:
    pods = with_cpu("a b", "9")
    cluster = make_cluster([make_node("n1")], pods, make_pod_group(min_count=2))
    decision = Scheduler(cluster, with_groups("1.37")).decide_as_scheduled(pods[0])
    assert "gang-members" not in [one.rule for one in diagnose(decision)]


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


def composite(name: str, min_group_count: int | None = None, **spec: Any) -> CompositePodGroup:
    """Return a CompositePodGroup; without a number its policy is basic."""
    policy: dict[str, Any] = {"basic": {}} if min_group_count is None else {"gang": {"minGroupCount": min_group_count}}
    return make_object(CompositePodGroup, name, namespace="default", spec={"schedulingPolicy": policy, **spec})


BELOW_JOB = make_pod_group(min_count=1, parentCompositePodGroupName="job")


@pytest.mark.parametrize(
    ("groups", "cause", "first"),
    [
        pytest.param(
            [BELOW_JOB],
            "CompositePodGroup default/job, the parent of PodGroup gang, does not exist",
            "create CompositePodGroup job in namespace default, or make gang again with another "
            "parentCompositePodGroupName (untried)",
            id="the parent is missing",
        ),
        pytest.param(
            [BELOW_JOB, composite("jobs")],
            "CompositePodGroup default/job, the parent of PodGroup gang, does not exist; jobs may be meant",
            "create CompositePodGroup job in namespace default, or make gang again with another "
            "parentCompositePodGroupName (untried)",
            id="a similar name",
        ),
        pytest.param(
            [BELOW_JOB, composite("job", 1, parentCompositePodGroupName="all")],
            "CompositePodGroup default/all, the parent of CompositePodGroup job, does not exist",
            "create CompositePodGroup all in namespace default, or make job again with another "
            "parentCompositePodGroupName (untried)",
            id="the parent of the parent is missing",
        ),
        pytest.param(
            [BELOW_JOB, composite("job", 1, parentCompositePodGroupName="job")],
            "CompositePodGroup default/job is below its own parent job",
            "",
            id="a circle",
        ),
        pytest.param(
            [BELOW_JOB, composite("job", 2)],
            "in its tree of groups default/job, CompositePodGroup job has 1 of the 2 groups that it needs",
            "let the workload of CompositePodGroup job make 1 more group (untried)",
            id="too few groups",
        ),
        pytest.param(
            [BELOW_JOB, composite("job", 2), make_pod_group("other", min_count=3, parentCompositePodGroupName="job")],
            "in its tree of groups default/job, PodGroup other has 0 of the 3 pods that it needs",
            "let the workload of PodGroup other make 3 more pods (untried)",
            id="too few pods in another group",
        ),
        pytest.param(
            [make_pod_group(min_count=2, parentCompositePodGroupName="job"), composite("job", 1)],
            "1 of the 2 pods that gang default/gang needs exists",
            "let the workload make 1 more pod: minCount is 2 (untried)",
            id="too few pods in its own group",
        ),
    ],
)
def test_a_tree_that_waits(groups: Sequence[ApiObject], cause: str, first: str) -> None:
    (pod,) = make_members("p")
    cluster = make_cluster([make_node("n1")], [pod], *groups)
    trees = with_groups("1.38", topology=True, **{COMPOSITE_POD_GROUP: True})
    decision = Scheduler(cluster, trees).decide_as_scheduled(pod)
    assert [(one.rule, one.cause) for one in diagnose(decision)] == [("waiting-gang", cause)]
    assert cures(decision)[:1] == ([first] if first else [])


def test_parents_do_not_count_without_the_gate() -> None:
    (pod,) = make_members("p")
    cluster = make_cluster([make_node("n1")], [pod], BELOW_JOB)
    assert Scheduler(cluster, with_groups("1.38", topology=True)).decide_as_scheduled(pod).schedulable


def test_minCount_is_lowered_where_it_can_change() -> None:
    pods, group = make_members("p q"), make_pod_group(min_count=3)
    cluster = make_cluster([make_node("n1")], pods, group)
    by_release = {
        version: cures(Scheduler(cluster, with_groups(version)).decide_as_scheduled(pods[0]))
        for version in ("1.36", "1.37")
    }
    lowered = "minCount 2 instead of 3 in PodGroup gang"
    assert [lowered in every for every in by_release.values()] == [False, True]


def other_group(kind: type[Any], least: int, phase: str = "Inqueue", said: str = "", queue: str = "") -> Any:
    conditions = [{"type": "Unschedulable", "status": "True", "message": said}] if said else []
    spec, status = {"minMember": least, "queue": queue}, {"phase": phase, "conditions": conditions}
    return make_object(kind, "mpi", namespace="default", spec=spec, status=status)


def member(name: str, *, group: str = "mpi", node: str = "", scheduler: str = "volcano", gpus: int = 0) -> Pod:
    plain = msgspec.to_builtins(make_pod(name, node=node, schedulerName=scheduler, requests={"acme.com/gpu": gpus}))
    annotations = {"scheduling.k8s.io/group-name": group}
    return msgspec.convert({**plain, "metadata": {**plain["metadata"], "annotations": annotations}}, Pod)


RUNS = make_pod("volcano-scheduler-x", namespace="volcano-system", node="n")
CLOSED = make_object(VolcanoQueue, "night", status={"state": "Closed"})


@pytest.mark.parametrize(
    ("objects", "cause", "cure"),
    [
        pytest.param(
            [other_group(VolcanoPodGroup, 3)],
            "PodGroup default/mpi starts only when 3 of its pods exist (minMember), and 2 exist",
            "let the workload make the 1 missing pod before the others run: minMember is 3 (untried)",
            id="a pod is missing",
        ),
        pytest.param(
            [other_group(CoschedulingPodGroup, 3)],
            "PodGroup default/mpi starts only when 3 of its pods exist (minMember), and 2 exist",
            "minMember 2 instead of 3 in PodGroup default/mpi, if 2 can begin without the rest (untried)",
            id="of Coscheduling",
        ),
        pytest.param(
            [other_group(VolcanoPodGroup, 2, queue="day"), CLOSED],
            "PodGroup default/mpi is for queue day, which does not exist (there is night)",
            "correct the queue of PodGroup default/mpi, or create queue day (untried)",
            id="no such queue",
        ),
        pytest.param(
            [other_group(VolcanoPodGroup, 2, queue="night"), CLOSED],
            "PodGroup default/mpi is in queue night, whose state is Closed",
            "open queue night again, once the reason for its closing is gone (untried)",
            id="a closed queue",
        ),
        pytest.param(
            [other_group(VolcanoPodGroup, 2, said="2 Pending, 2 minAvailable")],
            "the scheduler says of PodGroup default/mpi: 2 Pending, 2 minAvailable",
            "",
            id="its words",
        ),
        pytest.param(
            [make_object(VolcanoPodGroup, "other", namespace="default")],
            "its PodGroup default/mpi does not exist",
            "create PodGroup default/mpi, or correct its name in the pods (untried)",
            id="no such group",
        ),
    ],
)
def test_groups_of_other_schedulers(objects: list[ApiObject], cause: str, cure: str) -> None:
    pods = [RUNS, member("w-0"), member("w-1")]
    cluster = make_cluster([make_node("n", offers={"acme.com/gpu": 8})], pods, *objects)
    decision = Scheduler(cluster).decide_for_other_scheduler(pods[1])
    assert diagnose(decision)[0].cause.startswith(f"{cause}; its schedulerName is volcano, a scheduler that runs here")
    assert not cure or cure in cures(decision)


def test_two_groups_that_hold_what_the_other_needs() -> None:
    pods = [
        member("a-0", group="a", node="n", scheduler="default-scheduler", gpus=4),
        member("a-1", group="a", scheduler="default-scheduler", gpus=4),
        member("b-0", group="b", node="n", scheduler="default-scheduler", gpus=4),
        member("b-1", group="b", scheduler="default-scheduler", gpus=4),
    ]
    node = make_node("n", offers={"acme.com/gpu": 8})
    decision = decide(pods[1], make_cluster([node], pods))
    assert diagnose(decision)[0].cause == (
        "default/a runs 1 of its 2 pods and default/b 1 of its 2: each waits for the acme.com/gpu that the other holds"
    )
    assert cures(decision)[0] == (
        "end default/a or default/b, so that the other one starts as a whole; start it again then (untried)"
    )
    # The other group runs as a whole: it does not wait.
    complete = make_cluster([node], pods[:3])
    assert diagnose(decide(pods[1], complete))[0].rule != "gang-deadlock"
