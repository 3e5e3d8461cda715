"""Messages of a preemption that does not help, the part of extenders, and preemption by groups."""

from collections import Counter
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.pod_group_cycle import _Cycle, schedule_pod_group
from kschedctl.scheduler.cycle.pod_group_decision import PodGroupDecision
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.node_statuses import FilterRun, NodeStatuses
from kschedctl.scheduler.framework.status import Code, Rejections, Status
from kschedctl.scheduler.preemption.evaluator import pod_eligible_to_preempt_others, potential_nodes
from kschedctl.scheduler.preemption.result import NEVER, TERMINATING, PreemptionResult
from tests.builders import (
    GPU,
    make_cluster,
    make_members,
    make_node,
    make_object,
    make_pod,
    make_pod_group,
    with_groups,
)
from tests.builders import decide as decide_alone
from tests.scheduler.extenders.scheduling import make_scheduler
from tests.scheduler.extenders.server import Answer, ExtenderServer
from tests.scheduler.preemption.small_clusters import EARLY, LATE, budget, preempt, running, victims


@pytest.mark.parametrize(
    ("pods", "pod", "message"),
    [
        pytest.param(
            [running("low", "a", "4")],
            {"preemptionPolicy": "Never"},
            "not eligible due to preemptionPolicy=Never.",
            id="a pod that must not preempt",
        ),
        pytest.param(
            [
                running(
                    "going",
                    "a",
                    "4",
                    terminating=True,
                    status={
                        "conditions": [
                            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
                        ]
                    },
                )
            ],
            {"nominated": "a"},
            "not eligible due to a terminating pod on the nominated node.",
            id="its victims are still going",
        ),
        pytest.param(
            [running("peer", "a", "4", priority=100)],
            {},
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="nobody of lower priority",
        ),
        pytest.param(
            [running("low", "a", "1"), running("peer", "a", "3", priority=100)],
            {},
            "0/1 nodes are available: 1 Insufficient cpu.",
            id="not enough even without those of lower priority",
        ),
        pytest.param(
            [running("low", "a", "4")],
            {"nodeSelector": {"disk": "ssd"}},
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="no eviction changes a label",
        ),
    ],
)
def test_why_preemption_does_not_help(pods: list[Pod], pod: dict[str, Any], message: str) -> None:
    found = preempt(pods, **pod)
    assert found.status.message == message
    assert found.candidates == ()


@pytest.mark.parametrize(
    ("labels", "selector", "old", "new"),
    [
        pytest.param({"app": "web"}, {}, "web", "db", id="an empty selector: no pod, then all of the namespace"),
        pytest.param({}, {}, "web", "db", id="and pods without labels"),
        pytest.param(
            {},
            {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
            "web",
            "db",
            id="a selector that pods without labels match",
        ),
        pytest.param({"app": "web"}, {"matchLabels": {"app": "web"}}, "db", "db", id="a selector with labels"),
        pytest.param({"app": "web"}, None, "web", "web", id="no selector: no pod in both"),
    ],
)
def test_budgets_with_an_empty_selector(
    labels: dict[str, str], selector: dict[str, Any] | None, old: str, new: str
) -> None:
    """In 1.37 such a budget protects no pod from preemption, in 1.38 every pod of its namespace.

    Either pod may stay beside the 2 CPU wanted. Without a budget the one in another namespace is spared, which is
    more important.
    """
    pods = [running("web", "a", "2", labels=labels), running("db", "a", "2", priority=1, namespace="other")]
    none = make_object(
        PodDisruptionBudget, "none", namespace="default", spec={"selector": selector}, status={"disruptionsAllowed": 0}
    )
    cluster = make_cluster([make_node("a", cpu="4")], pods, none)
    preemptor = make_pod("preemptor", requests={"cpu": "2"}, priority=100)
    found = {}
    for version in ("1.37", "1.38"):
        preemption = decide_alone(preemptor, cluster, release=RELEASES[version]).preemption
        assert preemption is not None
        found[version] = victims(preemption, pods)
    assert found == {"1.37": {"a": old}, "1.38": {"a": new}}


EVICTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def going(priority: int = 0, **condition: str) -> Pod:
    """Return a terminating pod."""
    return running("going", "a", "4", priority, terminating=True, status={"conditions": [{**EVICTED, **condition}]})


@pytest.mark.parametrize(
    ("there", "pod", "code", "problem"),
    [
        pytest.param(going(), {}, Code.UNSCHEDULABLE, "", id="not nominated"),
        pytest.param(going(), {"preemptionPolicy": "Never"}, Code.UNSCHEDULABLE, NEVER, id="it must not preempt"),
        pytest.param(going(), {"nominated": "a"}, Code.UNSCHEDULABLE, TERMINATING, id="its victim is still going"),
        pytest.param(going(), {"nominated": "b"}, Code.UNSCHEDULABLE, "", id="nominated to another node"),
        pytest.param(going(), {"nominated": "gone"}, Code.UNSCHEDULABLE, "", id="nominated to a node not there"),
        pytest.param(
            going(),
            {"nominated": "a"},
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "",
            id="its node is out of the question by now",
        ),
        pytest.param(going(100), {"nominated": "a"}, Code.UNSCHEDULABLE, "", id="who goes is of equal priority"),
        pytest.param(going(status="False"), {"nominated": "a"}, Code.UNSCHEDULABLE, "", id="who goes is no target"),
        pytest.param(
            going(reason="EvictionByEvictionAPI"),
            {"nominated": "a"},
            Code.UNSCHEDULABLE,
            "",
            id="somebody else evicts it",
        ),
        pytest.param(
            running("stays", "a", "4", status={"conditions": [EVICTED]}),
            {"nominated": "a"},
            Code.UNSCHEDULABLE,
            "",
            id="the target is not being deleted",
        ),
    ],
)
def test_pod_eligible_to_preempt_others(there: Pod, pod: dict[str, Any], code: Code, problem: str) -> None:
    cluster = make_cluster([make_node("a"), make_node("b")], [there])
    preemptor = make_pod("preemptor", priority=100, **pod)
    assert pod_eligible_to_preempt_others(cluster, preemptor, NodeStatuses(2, Status(code)), None) == problem


FULL, CORDONED = Status(Code.UNSCHEDULABLE, ("full",)), Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("cordoned",))


def test_only_nodes_whose_status_pods_may_have_to_do_with() -> None:
    # Row 0 is not looked at; of the others, in this order, one is full, one cordoned, one fits, one is full.
    said = Rejections.choose(np.array([0, 1, -1, 0]), (FULL, CORDONED))
    statuses = NodeStatuses(5, CORDONED, FilterRun.of(np.array([4, 3, 2, 1]), {"Fit": said}))
    assert potential_nodes(statuses).tolist() == [1, 4]


PODS = [
    running("a-0", "a", "4", 10),
    running("b-0", "b", "2", 20, LATE),
    running("b-1", "b", "2", 5, LATE, labels={"app": "web"}),
    running("c-0", "c", "4", 30),
]


def candidates(**uids: str) -> dict[str, Any]:
    """Return an answer that keeps these nodes, with victims by name."""
    return {
        "NodeNameToMetaVictims": {
            node: {"Pods": [{"UID": f"uid-default-{name}"} for name in names.split()]} for node, names in uids.items()
        }
    }


def decide(*answers: Answer, pod: dict[str, Any] | None = None, **config: Any) -> tuple[Decision, ExtenderServer]:
    """Return the decision about a pod that fits nowhere, with preempting extenders, and their server."""
    with ExtenderServer({f"{i}/preempt": answer for i, answer in enumerate(answers)}) as server:
        own = {"preemptVerb": "preempt", "nodeCacheCapable": True, **config}
        extenders = [{**own, "urlPrefix": f"{server.url}/{i}"} for i in range(len(answers))]
        nodes = [make_node(name, cpu="4", offers={GPU: 1}) for name in "abc"]
        scheduler = make_scheduler(nodes, *extenders, pods=PODS, objects=[budget("web", "web", 0)])
        return scheduler.decide(make_pod("preemptor", priority=100, **(pod or {"requests": {"cpu": "3"}}))), server


def result(decision: Decision) -> PreemptionResult:
    found = decision.preemption
    assert found is not None
    return found


ALL = candidates(a="a-0", b="b-0 b-1", c="c-0")


def test_an_extender_is_given_all_candidates() -> None:
    decision, server = decide(ALL)
    assert server.asked[0].about["NodeNameToMetaVictims"] == {
        "a": {"Pods": [{"UID": "uid-default-a-0"}], "NumPDBViolations": 0},
        "b": {"Pods": [{"UID": "uid-default-b-0"}, {"UID": "uid-default-b-1"}], "NumPDBViolations": 1},
        "c": {"Pods": [{"UID": "uid-default-c-0"}], "NumPDBViolations": 0},
    }
    assert decision.victims == {"a": ("default/a-0",)}


@pytest.mark.parametrize(
    ("answer", "victims"),
    [
        pytest.param(candidates(b="b-0 b-1", c="c-0"), {"b": ("default/b-0", "default/b-1")}, id="it declines one"),
        pytest.param(candidates(a="a-0", b="b-1"), {"b": ("default/b-1",)}, id="it spares a victim"),
        pytest.param(
            {"NodeNameToMetaVictims": {**ALL["NodeNameToMetaVictims"], "a": {
                "Pods": [{"UID": "uid-default-a-0"}], "NumPDBViolations": 1
            }}},
            {"b": ("default/b-0", "default/b-1")},
            id="it counts the budgets that are broken",
        ),
        pytest.param(
            candidates(b="b-1 b-0", a="a-0"), {"b": ("default/b-0", "default/b-1")}, id="its first victim counts"
        ),
    ],
)  # fmt: skip
def test_what_it_answers_is_chosen_from(answer: Answer, victims: dict[str, tuple[str, ...]]) -> None:
    decision, _ = decide(answer)
    assert decision.victims == victims


def test_who_declined_a_candidate_is_told() -> None:
    decision, server = decide(candidates(c="c-0"))
    assert {node: status.message for node, status in result(decision).rejected.items()} == {
        "a": f"the extender {server.url}/0 rejects it",
        "b": f"the extender {server.url}/0 rejects it",
    }


def test_extenders_are_asked_one_after_the_other() -> None:
    decision, server = decide(candidates(b="b-0 b-1", c="c-0"), candidates(c="c-0"))
    assert list(server.asked[1].about["NodeNameToMetaVictims"]) == ["b", "c"]
    assert decision.victims == {"c": ("default/c-0",)}


def test_no_candidate_is_left() -> None:
    decision, server = decide({}, ALL)
    assert server.verbs == ["0/preempt"]
    assert decision.message.endswith(" preemption: no candidate node for preemption")
    assert (result(decision).status.code, result(decision).nominated) == (Code.UNSCHEDULABLE, ())


PROBLEMS: dict[str, tuple[Answer, str]] = {
    "HTTP": ((500, b""), "failed preempt with extender at URL {0}/preempt, code 500"),
    "a node that is not there": (candidates(z="a-0"), 'nodeinfo not found for node name "z"'),
    "a pod that is not there": (
        candidates(a="b-0"),
        "extender: {0} claims to preempt pod (UID: &{{uid-default-b-0}}) on node: a, "
        "but the pod is not found on that node",
    ),
    "nobody to evict": (candidates(a=""), 'expected at least one victim pod on node "a"'),
}


@pytest.mark.parametrize(("answer", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_errors_end_preemption(answer: Answer, problem: str) -> None:
    decision, server = decide(answer)
    status = result(decision).status
    assert (status.code, status.message) == (Code.ERROR, problem.format(f"{server.url}/0"))
    assert decision.message.endswith(f" preemption: {status.message}")
    assert decision.victims == {}


@pytest.mark.parametrize("problem", ["HTTP", "a node that is not there", "a pod that is not there"])
def test_errors_of_one_that_may_fail_are_told_and_passed_over(problem: str) -> None:
    decision, _ = decide(PROBLEMS[problem][0], ignorable=True)
    assert decision.victims == {"a": ("default/a-0",)}
    (note,) = decision.not_modelled
    assert note.effect.startswith("it is ignorable and its preempt call failed: ")


def test_a_candidate_without_victims_is_dropped_for_one_that_may_fail() -> None:
    decision, _ = decide(candidates(a="", c="c-0"), ignorable=True)
    assert decision.victims == {"c": ("default/c-0",)}


@pytest.mark.parametrize(("uses", "is_asked"), [(True, True), (False, False)])
def test_only_who_is_interested_is_asked(uses: bool, is_asked: bool) -> None:
    pod = {"requests": {"cpu": "3", **({GPU: "1"} if uses else {})}}
    _, server = decide(ALL, pod=pod, managedResources=[{"name": GPU}])
    assert bool(server.asked) == is_asked


def test_the_most_important_victims_are_those_of_highest_priority_whoever_comes_first() -> None:
    # Of b-0, which is important and late, and b-1; a-0 is as important as the first of them and started early.
    pods = [running("a-0", "a", "4", 5, EARLY), running("a-1", "a", "0", 5, EARLY), *PODS[1:3]]
    with ExtenderServer({"preempt": candidates(a="a-0 a-1", b="b-1 b-0")}) as server:
        own = {"urlPrefix": server.url, "preemptVerb": "preempt", "nodeCacheCapable": True}
        nodes = [make_node(name, cpu="4") for name in "ab"]
        scheduler = make_scheduler(nodes, own, pods=pods)
        found = result(scheduler.decide(make_pod("preemptor", priority=100, requests={"cpu": "3"})))
    # Equal in the priority of the first; then the sum of priorities decides.
    assert found.nominated == ("a",)
    assert {c.node: c.lost_at for c in found.candidates}["b"] == "lower sum of priorities"


NODES = ("n1", "n2", "n3")


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Node], list[Pod], list[Pod]]:
    """Return nodes, pods on them (some in a group that is evicted as a whole) and pods of a gang of priority 10."""
    nodes = [make_node(name, cpu=str(draw(st.integers(2, 6))), zone=name[-1]) for name in NODES]
    running = []
    for number in range(draw(st.integers(1, 8))):
        fields: dict[str, Any] = {
            "node": draw(st.sampled_from(NODES)),
            "priority": draw(st.sampled_from([0, 5, 20])),
            "requests": {"cpu": draw(st.sampled_from(["1", "2"]))},
            "labels": {"app": draw(st.sampled_from(["web", "gang"]))},
        }
        if draw(st.booleans()):
            running += make_members(f"run-{number}", group="others", **(fields | {"priority": 0}))
        else:
            running.append(make_pod(f"run-{number}", **fields))
    if draw(st.booleans()):
        running.append(make_pod("soon", nominated="n1", priority=10, requests={"cpu": "1"}))
    anti: dict[str, Any] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "gang"}}, "topologyKey": "topology.kubernetes.io/zone"}
    ]}}  # fmt: skip
    more: dict[str, Any] = {"affinity": anti} if draw(st.integers(0, 3)) == 0 else {}
    names = " ".join(f"g-{number}" for number in range(draw(st.integers(1, 4))))
    members = make_members(names, priority=10, requests={"cpu": "2"}, labels={"app": "gang"}, **more)
    return nodes, running, members


def decided(nodes: list[Node], running: list[Pod], members: list[Pod]) -> PodGroupDecision:
    groups = (
        make_pod_group(min_count=len(members), priority=10),
        make_pod_group("others", disrupts_all=True, priority=0),
    )
    cluster = make_cluster(nodes, [*running, *members], *groups)
    return schedule_pod_group(Scheduler(cluster, with_groups("1.37")).framework("default-scheduler"), members)


def test_only_the_victims_that_are_needed_on_nodes_that_members_take_in_descending_order() -> None:
    nodes = [make_node(f"n{cpu}", cpu=str(cpu)) for cpu in (3, 4, 5)]
    running = [
        make_pod(f"{node.name}-{i}", node=node.name, requests={"cpu": "1"})
        for node in nodes
        for i in range(int(node.name[1:]))
    ]
    members = make_members("g-0 g-1 g-2", priority=10, requests={"cpu": "2"})
    found = decided(nodes, running, members)
    assert [member.nominated for member in found.members] == ["n5", "n4", "n3"]
    # Nodes of 3, 4 and 5 cpu keep one, two and three pods beside their member.
    victims = Counter(found.cluster.pods.records[pod].node_name for pod in found.victims)
    assert victims == {"n3": 2, "n4": 2, "n5": 2}


@given(clusters())
def test_the_short_way_finds_the_same_victims(made: tuple[list[Node], list[Pod], list[Pod]]) -> None:
    short = decided(*made)
    with patch.object(_Cycle, "states_on_own_nodes", return_value=None):
        long = decided(*made)
    assert (short.victims, short.outcome, short.status) == (long.victims, long.outcome, long.status)
    assert [member.nominated for member in short.members] == [member.nominated for member in long.members]
