"""Suggested changes that make a pod fit, those of the lowest risk first, and those that are never proposed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from conformance import generate
from kschedctl.cluster.node_selection import required_node_selector
from kschedctl.cluster.overlay import Overlay
from kschedctl.common.errors import KschedctlError
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.controllers.workloads.template import NODE_BOUND
from kschedctl.diagnosis.why.proof import Suggestion
from kschedctl.diagnosis.why.search import suggest
from kschedctl.objects.core import Node
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import CONTROL_PLANE_TAINTS, DEFAULT_TOLERATIONS, UNSAFE_TAINTS, Pod
from kschedctl.objects.policies import PodMetrics, PriorityClass
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.resources import CPU, is_extended_resource, pod_requests, scheduler_units
from kschedctl.objects.volume import PersistentVolumeClaim
from kschedctl.objects.well_known import PLATFORM_LABELS
from kschedctl.objects.workload import PodDisruptionBudget
from kschedctl.questions.batch.cases import Case
from kschedctl.questions.batch.cases import decide as decide_case
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.config.types import API_VERSION, KIND
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.interface import FilterPlugin
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import ObjectDeletion, Patch, Remedy, RemedyContext, add_operation
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.framework.status import Code, Reason, Rejections
from kschedctl.scheduler.plugins.node_resources.remedies import MOST_LOWERED
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import (
    GPU,
    ZONE,
    decide,
    make_claim,
    make_cluster,
    make_container,
    make_node,
    make_object,
    make_pod,
    make_volume,
    mount,
)

ZONE_A, ZONE_B = "a", "b"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def told(
    pod: Pod, nodes: list[Node], pods: list[Pod] | None = None, *objects: ApiObject, most: int = 50
) -> list[Suggestion]:
    decision = decide(pod, make_cluster(nodes, pods or [], *objects))
    return list(suggest(decision, most).suggestions)


def summaries(found: list[Suggestion]) -> list[str]:
    return [f"{one.summary} -> {', '.join(one.nodes)}" for one in found]


def on_key(key: str, **fields: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}, **fields}


@pytest.mark.parametrize(
    ("pod", "nodes", "pods", "expected"),
    [
        pytest.param(make_pod(requests={"cpu": "1"}), [make_node("a")], [], [], id="a pod that fits"),
        pytest.param(
            make_pod(requests={"cpu": "2500m"}),
            [make_node("a"), make_node("b")],
            [make_pod("x", node="a", requests={"cpu": "2"}), make_pod("y", node="b", requests={"cpu": "3"})],
            [
                "add a node like a -> a-1",
                "free 0.5 cpu on a: delete default/x, or 1.5 cpu on b: delete default/y -> a",
                "request 2 cpu or less instead of 2.5 -> a",
            ],
            id="the largest request that fits, a node more, a pod less",
        ),
        pytest.param(
            make_pod(requests={"cpu": "5"}),
            [make_node("a")],
            [],
            ["add a larger node than a: with 5 cpu free -> a-1", "request 4 cpu or less instead of 5 -> a"],
            id="no node more like one that is too small, and nobody to delete",
        ),
        pytest.param(
            make_pod(requests={"cpu": "9"}),
            [make_node("a")],
            [],
            ["add a larger node than a: with 9 cpu free -> a-1"],
            id="less than four fifths of a request is no cure",
        ),
        pytest.param(
            make_pod(requests={"cpu": "40"}),
            [make_node("a")],
            [],
            ["request 40m cpu instead of 40 in container c -> a", "add a larger node than a: with 40 cpu free -> a-1"],
            id="but of one that looks like a wrong unit",
        ),
        pytest.param(
            make_pod(
                containers=[make_container(resources={"requests": {"memory": "12Gi"}, "limits": {"memory": "12Gi"}})]
            ),
            [make_node("a", memory="8Gi")],
            [],
            [
                "set a request of its own in container c: 8Gi memory or less; the limit of 12Gi stays -> a",
                "add a larger node than a: with 12Gi memory free -> a-1",
            ],
            id="or of one that is the limit",
        ),
        pytest.param(
            make_pod(requests={GPU: "1"}),
            [make_node("a", offers={GPU: "0"})],
            [],
            [f"install or repair the device plugin of {GPU} so that a offers 1 {GPU} -> a"],
            id="no pod does without its device",
        ),
        pytest.param(
            make_pod(),
            [make_node("a", offers={GPU: "1"}, taints=[f"{GPU}:NoSchedule"])],
            [],
            [],
            id="nodes with devices are for pods that request them",
        ),
        pytest.param(
            make_pod(),
            [make_node("a", taints=["gpu=yes:NoSchedule"])],
            [],
            ["tolerate gpu=yes:NoSchedule, or remove the taint from node a -> a"],
            id="a taint, with the two sides of one change",
        ),
        pytest.param(
            make_pod(),
            [make_node("a", taints=["gpu=yes:NoSchedule", "spot:NoExecute"])],
            [],
            [
                "tolerate gpu=yes:NoSchedule, and tolerate spot:NoExecute -> a",
                "remove taint gpu=yes:NoSchedule from node a, and tolerate spot:NoExecute -> a",
            ],
            id="two taints take two changes",
        ),
        pytest.param(
            make_pod(),
            [make_node("a", unschedulable=True)],
            [],
            ["uncordon node a -> a", "add a node like a -> a-1"],
            id="a cordoned node; one like it is not",
        ),
        pytest.param(
            make_pod(nodeSelector={"pool": "memroy"}),
            [make_node("a", labels={"pool": "memory"})],
            [],
            ["drop pool=memroy of nodeSelector -> a"],
            id="a node selector that no node satisfies",
        ),
        pytest.param(
            make_pod(nodeSelector={"disk": "ssd"}, requests={"cpu": "1"}),
            [make_node("a"), make_node("b", labels={"disk": "ssd"}, cpu="1")],
            [make_pod("x", node="b", requests={"cpu": "1"})],
            ["label node a disk=ssd -> a", "drop disk=ssd of nodeSelector -> a"],
            id="a node selector that another node satisfies",
        ),
        pytest.param(
            make_pod(containers=[make_container(ports=[{"containerPort": 80, "hostPort": 8080}])]),
            [make_node("a")],
            [make_pod("x", node="a", containers=[make_container(ports=[{"containerPort": 80, "hostPort": 8080}])])],
            ["add a node like a -> a-1", "delete pod default/x -> a", "drop host port 8080/TCP -> a"],
            id="a host port",
        ),
        pytest.param(
            make_pod(hostNetwork=True, containers=[make_container(ports=[{"containerPort": 80, "hostPort": 80}])]),
            [make_node("a")],
            [make_pod("x", node="a", containers=[make_container(ports=[{"containerPort": 80, "hostPort": 80}])])],
            ["add a node like a -> a-1", "delete pod default/x -> a"],
            id="a port on the host's network, where the program listens anyway",
        ),
        pytest.param(
            make_pod(
                labels={"app": "web"}, affinity={"podAntiAffinity": {REQUIRED: [on_key("kubernetes.io/hostname")]}}
            ),
            [make_node("a")],
            [make_pod("x", node="a", labels={"app": "web"})],
            [
                "add a node like a -> a-1",
                "delete pod default/x -> a",
                "drop the required pod anti-affinity by kubernetes.io/hostname -> a",
            ],
            id="anti-affinity",
        ),
        pytest.param(
            make_pod(
                requests={"cpu": "1"},
                labels={"app": "web"},
                topologySpreadConstraints=[
                    on_key("topology.kubernetes.io/zone", maxSkew=1, whenUnsatisfiable="DoNotSchedule")
                ],
            ),
            [make_node("a", zone=ZONE_A), make_node("b", zone=ZONE_B, cpu="0")],
            [make_pod("x", node="a", labels={"app": "web"})],
            [
                "delete pod default/x -> a",
                f"ScheduleAnyway instead of DoNotSchedule in the spread constraint over {ZONE} -> a",
                "maxSkew 2 instead of 1 in the spread constraint over topology.kubernetes.io/zone -> a",
                "drop the spread constraint over topology.kubernetes.io/zone -> a",
            ],
            id="spread over zones",
        ),
        pytest.param(
            make_pod(requests={"cpu": "4500m"}),
            [make_node(f"n{i:02}", taints=[f"t{i}:NoSchedule"], cpu="2" if i < 14 else "4") for i in range(15)],
            [],
            [
                "tolerate t9:NoSchedule, and add a larger node than n09: with 4.5 cpu free -> n09-1",
                "tolerate t14:NoSchedule, and request 4 cpu or less instead of 4.5 -> n14",
            ],
            id="a toleration and a smaller request, on the last of many tainted nodes",
        ),
        pytest.param(
            make_pod(requests={"cpu": "2500m"}),
            [make_node("a", taints=["dedicated:NoSchedule"])],
            [make_pod("x", node="a", requests={"cpu": "2"})],
            [
                "tolerate dedicated:NoSchedule, and add a node like a -> a-1",
                "tolerate dedicated:NoSchedule, and free 0.5 cpu on a: delete default/x -> a",
            ],
            id="a toleration, and more room",
        ),
        pytest.param(
            make_pod(requests={"cpu": "20"}),
            [
                make_node("control", cpu="64", taints=["node-role.kubernetes.io/control-plane:NoSchedule"]),
                make_node("w", cpu="8"),
            ],
            [],
            ["add a larger node than w: with 20 cpu free -> w-1"],
            id="a larger node, where a large one is the control plane",
        ),
        pytest.param(
            make_pod(requests={"cpu": "20"}),
            [make_node("control", taints=["node-role.kubernetes.io/control-plane:NoSchedule"]), make_node("w")],
            [],
            ["add a larger node than w: with 20 cpu free -> w-1"],
            id="a larger node, where the control plane is the first of equal nodes",
        ),
        pytest.param(
            make_pod(requests={"cpu": "6", "memory": "12Gi"}),
            [make_node("a", cpu="8"), make_node("b", memory="16Gi")],
            [],
            ["add a larger node than a: with 12Gi memory free -> a-1"],
            id="a larger node, where each resource is on another node",
        ),
        pytest.param(
            make_pod(requests={"cpu": "3"}),
            [make_node("a")],
            [make_pod("agent", node="a", requests={"cpu": "1500m"}, owner=("apps/v1", "DaemonSet", "agent"))],
            ["add a larger node than a: with 3 cpu free -> a-1"],
            id="a larger node, where the pods of DaemonSets take too much",
        ),
        pytest.param(
            make_pod(requests={GPU: "8", "cpu": "2"}),
            [make_node("a", offers={GPU: "4"}), make_node("b", cpu="64")],
            [],
            [f"add a larger node than a: with 8 {GPU} free -> a-1"],
            id="a larger node for devices, as for cpu",
        ),
        pytest.param(
            make_pod(schedulingGates=[{"name": "example.com/wait"}]),
            [make_node("a")],
            [],
            [],
            id="a gate is removed by the controller that set it",
        ),
    ],
)
def test_what_is_suggested(pod: Pod, nodes: list[Node], pods: list[Pod], expected: list[str]) -> None:
    found = summaries(told(pod, nodes, pods))
    if len(expected) > 3 or not expected:
        assert found == expected
    else:
        assert [one for one in found if one in expected] == expected, found


def test_another_priority_lets_preemption_make_room() -> None:
    classes = [make_object(PriorityClass, name, value=value) for name, value in (("low", 10), ("high", 100))]
    found = told(
        make_pod(requests={"cpu": "3"}),
        [make_node("a")],
        [make_pod("x", node="a", requests={"cpu": "2"}, priority=50)],
        *classes,
    )
    raised = next(one for one in found if one.summary.startswith("priority class"))
    assert raised.summary == "priority class high (100 instead of 0)"
    assert raised.evicts == ("default/x",)
    assert raised.nodes == ("a",)


def test_a_pod_that_is_meant_to_be_the_first_to_go_gets_no_higher_priority() -> None:
    high = make_object(PriorityClass, "high", value=100)
    pods = [make_pod("x", node="a", requests={"cpu": "2"})]
    found = told(make_pod(requests={"cpu": "3"}, priority=-10), [make_node("a")], pods, high)
    assert not any(one.summary.startswith("priority class") for one in found)


def test_what_evicts_comes_last_and_says_which_budget_it_breaks() -> None:
    budget = make_object(
        PodDisruptionBudget,
        "pdb",
        namespace="default",
        spec={"selector": {"matchLabels": {"app": "db"}}},
        status={"disruptionsAllowed": 0},
    )
    found = told(
        make_pod(requests={"cpu": "3"}),
        [make_node("a")],
        [make_pod("db", node="a", requests={"cpu": "2"}, labels={"app": "db"})],
        budget,
    )
    assert [bool(one.evicts) for one in found] == sorted(bool(one.evicts) for one in found)
    assert found[-1].summary == "free 1 cpu on a: delete default/db"
    assert found[-1].violates == ("default/pdb",)


def test_a_volume_in_another_zone() -> None:
    volume = make_volume("pv", labels={"topology.kubernetes.io/zone": "b"}, claim="default/data")
    found = told(
        make_pod(volumes=mount("data")), [make_node("a", zone="a")], [], make_claim("data", bound="pv"), volume
    )
    assert any(one.summary.startswith("move volume pv of claim data to a") for one in found), summaries(found)


def test_of_many_nodes_those_that_are_alike_are_asked_once() -> None:
    nodes = [make_node(f"n{i}", taints=["gpu:NoSchedule"]) for i in range(200)]
    found = suggest(decide(make_pod(), make_cluster(nodes)), 5)
    assert found.suggestions[0].summary == "tolerate gpu:NoSchedule, or remove the taint from node n0"
    assert found.tried < 20


def test_the_pods_of_a_daemon_set_need_room_on_a_new_node() -> None:
    """A node that a DaemonSet's pod fills does not help."""
    agent = make_pod("agent", node="a", requests={"cpu": "3"}, owner=("apps/v1", "DaemonSet", "agent"))
    found = told(make_pod(requests={"cpu": "2"}), [make_node("a")], [agent])
    assert not [one for one in found if "node more" in one.summary], summaries(found)


def test_what_preemption_does_by_itself_is_nobody_s_work() -> None:
    found = told(
        make_pod(requests={"cpu": "3"}, priority=9), [make_node("a")], [make_pod("x", node="a", requests={"cpu": "2"})]
    )
    assert "wait: preemption evicts default/x from a" in [one.summary for one in found]
    assert not any(one.summary.startswith(("free", "delete")) for one in found)


def test_a_pod_of_a_daemon_set_is_not_deleted_as_it_comes_back() -> None:
    agent = make_pod(
        "agent",
        node="a",
        owner=("apps/v1", "DaemonSet", "agent"),
        containers=[make_container(ports=[{"containerPort": 80, "hostPort": 8080}])],
    )
    found = told(
        make_pod(containers=[make_container(ports=[{"containerPort": 80, "hostPort": 8080}])]),
        [make_node("a")],
        [agent],
    )
    assert [one.summary for one in found] == [
        "host port 8081 instead of 8080, which DaemonSet default/agent uses",
        "drop host port 8080/TCP",
    ]


def test_a_taint_that_comes_back_is_not_removed() -> None:
    found = told(make_pod(), [make_node("a", taints=["node.kubernetes.io/not-ready:NoSchedule"])])
    assert not any(one.summary.startswith("remove") for one in found), summaries(found)


def test_a_key_with_two_effects_is_one_change() -> None:
    found = told(make_pod(), [make_node("a", taints=["x:NoSchedule", "x:NoExecute"])])
    assert [one.summary for one in found] == ["tolerate every taint x, or remove the taint from node a"]


@pytest.mark.parametrize(
    ("requests", "free", "expected"),
    [
        pytest.param(["2500m", "2500m"], "4", ["2", "2"], id="containers give up the same share"),
        pytest.param(["3", "1"], "3200m", ["2400m", "800m"], id="by what they have"),
    ],
)
def test_how_a_request_is_lowered(requests: list[str], free: str, expected: list[str]) -> None:
    containers = [make_container(f"c{i}", requests={"cpu": amount}) for i, amount in enumerate(requests)]
    found = told(make_pod(containers=containers), [make_node("a", cpu=free)])
    (lower,) = (one for one in found if one.summary.startswith("request"))
    assert [c.resources.requests["cpu"] for c in lower.decision.pod.spec.containers] == expected


def test_a_pod_of_the_same_workload_is_not_deleted() -> None:
    owner = ("apps/v1", "ReplicaSet", "web")
    found = told(
        make_pod("web-2", requests={"cpu": "3"}, owner=owner),
        [make_node("a")],
        [make_pod("web-1", node="a", requests={"cpu": "3"}, owner=owner)],
    )
    assert [one.summary for one in found] == ["add a node like a"]


def test_a_claim_is_replaced_only_if_its_name_is_wrong() -> None:
    nodes, claims = (
        [make_node("a")],
        [make_claim("data-db-0", bound="pv"), make_volume("pv", claim="default/data-db-0")],
    )
    wrong = told(make_pod(volumes=mount("data-bd-0")), nodes, [], *claims)
    assert [one.summary for one in wrong] == ["use claim data-db-0 instead of data-bd-0, which does not exist"]
    # Another pod mounts it: this may be its neighbour's data.
    assert (
        told(make_pod(volumes=mount("data-bd-0")), nodes, [make_pod("db-0", volumes=mount("data-db-0"))], *claims) == []
    )


def test_without_an_end_it_is_said_that_more_could_be_tried() -> None:
    nodes = [make_node(f"n{i}", taints=[f"{key}{i}:NoSchedule" for key in "abc"]) for i in range(100)]
    found = suggest(decide(make_pod(), make_cluster(nodes)), 5)
    assert (found.suggestions, found.exhausted) == ((), False)


def test_a_toleration_for_a_manifest_goes_by_what_it_says() -> None:
    """The manifest lacks the tolerations that admission adds, so there is no list to append to."""
    pod = make_pod(tolerations=msgspec.to_builtins(DEFAULT_TOLERATIONS))
    change = told(pod, [make_node("a", taints=["gpu:NoSchedule"])])[0].changes[0]
    assert isinstance(change, Patch)
    assert [(one["op"], one["path"]) for one in change.patch] == [("add", "/spec/tolerations")]


def test_a_toleration_for_a_stored_pod_is_appended() -> None:
    pod = make_pod(tolerations=msgspec.to_builtins(DEFAULT_TOLERATIONS))
    change = told(pod, [make_node("a", taints=["gpu:NoSchedule"])], [pod])[0].changes[0]
    assert isinstance(change, Patch)
    assert [(one["op"], one["path"]) for one in change.patch] == [("add", "/spec/tolerations/-")]


def test_nodes_of_one_kind_in_several_zones_are_one_suggestion() -> None:
    nodes = [make_node(f"n-{zone}", zone=zone, labels={"pool": "x"}) for zone in "abc"]
    pods = [make_pod(f"p-{zone}", node=f"n-{zone}", requests={"cpu": "4"}) for zone in "abc"]
    found = told(make_pod(requests={"cpu": "3"}), nodes, pods)
    assert found[0].summary == "add a node like n-a in zone a, b or c"
    assert [other.nodes for other in found[0].others] == [("n-b-1",), ("n-c-1",)]


def test_nodes_of_one_kind_for_one_zone_are_named_once() -> None:
    cordoned = make_node("n-b", zone="b", unschedulable=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"])
    nodes = [make_node("n-a", zone="a"), cordoned]
    volume = make_volume("pv", labels={"topology.kubernetes.io/zone": "b"}, claim="default/data")
    found = told(make_pod(volumes=mount("data")), nodes, [], make_claim("data", bound="pv"), volume)
    assert [one.summary for one in found if one.summary.startswith("add")] == ["add a node like n-a in zone b"]


def test_cordoned_nodes_are_one_suggestion() -> None:
    nodes = [make_node(name, unschedulable=True) for name in "ab"]
    assert summaries(told(make_pod(), nodes))[0] == "uncordon node a, or b -> a"


def test_siblings_get_the_weaker_anti_affinity_too() -> None:
    owner = ("apps/v1", "ReplicaSet", "web")
    apart = {"podAntiAffinity": {REQUIRED: [on_key("kubernetes.io/hostname")]}}
    pods = [make_pod(f"w-{n}", node=n, labels={"app": "web"}, affinity=apart, owner=owner) for n in "ab"]
    found = told(
        make_pod("w-c", labels={"app": "web"}, affinity=apart, owner=owner), [make_node(n) for n in "ab"], pods
    )
    assert summaries(found) == [
        "add a node like a -> a-1",
        "prefer instead of require the pod anti-affinity by kubernetes.io/hostname -> a, b",
    ]
    assert [getattr(change, "name", "") for change in found[1].changes] == ["w-c", "w-a", "w-b"]


def test_a_mistake_that_hides_a_taint_is_corrected_together_with_it() -> None:
    nodes = [make_node("m", labels={"pool": "memory"}, taints=["dedicated=memory:NoSchedule"]), make_node("x")]
    found = told(make_pod(nodeSelector={"pool": "memroy"}), nodes)
    corrected = "pool=memory instead of pool=memroy in nodeSelector, and tolerate dedicated=memory:NoSchedule"
    assert summaries(found)[0] == f"{corrected} -> m"


def test_a_request_is_lowered_to_what_its_siblings_use() -> None:
    owner = ("apps/v1", "ReplicaSet", "web")
    running = make_pod("w-1", node="a", requests={"cpu": "3"}, owner=owner)
    usage = make_object(PodMetrics, "w-1", namespace="default", containers=[{"name": "c", "usage": {"cpu": "200m"}}])
    pod = make_pod("w-2", requests={"cpu": "3"}, owner=owner)
    lower = "request 1 cpu or less instead of 3: no pod of its workload uses more than 0.2 -> a"
    assert lower in summaries(told(pod, [make_node("a")], [running], usage))
    busy = make_object(PodMetrics, "w-1", namespace="default", containers=[{"name": "c", "usage": {"cpu": "900m"}}])
    assert not any("request" in one for one in summaries(told(pod, [make_node("a")], [running], busy)))


@pytest.mark.parametrize(
    ("ending", "taken_at", "expected"),
    [
        pytest.param(["3"], "10:00:00", ["wait until default/end-0 has ended on a"], id="one frees enough"),
        pytest.param(
            ["1", "2"],
            "10:00:00",
            ["wait until default/end-0 and default/end-1 have ended on a"],
            id="two free enough together",
        ),
        pytest.param(["1", "1"], "10:00:00", ["free 3 cpu on a: delete default/stays"], id="they free too little"),
        pytest.param(["3"], "10:10:00", ["free 3 cpu on a: delete default/stays"], id="it is stuck"),
        pytest.param(["3"], "", ["wait until default/end-0 has ended on a"], id="a snapshot without a time"),
    ],
)
def test_pods_that_are_being_deleted_are_waited_for(ending: list[str], taken_at: str, expected: list[str]) -> None:
    end = datetime(2026, 11, 20, 10, 0, 30, tzinfo=UTC)
    pods = [make_pod("stays", node="a", requests={"cpu": "3"})]
    for number, cpu in enumerate(ending):
        pod = make_pod(f"end-{number}", node="a", requests={"cpu": cpu})
        pods.append(replace(pod, metadata=replace(pod.metadata, deletion_timestamp=end)))
    cluster = make_cluster([make_node("a", cpu=str(3 + sum(map(int, ending))))], pods)
    if taken_at:
        cluster = cluster.at(datetime.fromisoformat(f"2026-11-20T{taken_at}+00:00"))
    found = suggest(decide(make_pod("new", requests={"cpu": "3"}), cluster)).suggestions
    assert [one.summary for one in found if not one.summary.startswith("add a node")] == expected


def test_a_daemon_set_pod_that_is_being_deleted_is_not_waited_for_as_it_comes_back() -> None:
    pod = make_pod("agent", node="a", requests={"cpu": "3"}, terminating=True, owner=("apps/v1", "DaemonSet", "agent"))
    found = suggest(decide(make_pod("new", requests={"cpu": "3"}), make_cluster([make_node("a", cpu="4")], [pod])), 50)
    assert not any(one.summary.startswith("wait") for one in found.suggestions)


@pytest.mark.parametrize(("priority", "kept", "n_deleting"), [(0, (), 1), (1, (), 0), (0, ("default/x",), 0)])
def test_pods_of_higher_priority_and_kept_pods_are_not_deleted(
    priority: int, kept: tuple[str, ...], n_deleting: int
) -> None:
    running = make_pod("x", node="a", requests={"cpu": "2"}, priority=priority)
    decision = decide(make_pod(requests={"cpu": "3"}), make_cluster([make_node("a")], [running]))
    assert sum(bool(one.evicts) for one in suggest(decision, 50, kept=kept).suggestions) == n_deleting


#: The fields that a pod exists for; they are never removed.
PURPOSE = ("/spec/schedulingGates", "/spec/resourceClaims")


def offences(decision: Decision, one: Suggestion) -> Iterator[str]:
    """Yield what a suggestion must not do."""
    before, after = decision.pod, one.decision.pod
    added = [each for each in after.spec.tolerations if each not in before.spec.tolerations]
    renamed = CONTROL_PLANE_TAINTS if {each.key for each in before.spec.tolerations} & {*CONTROL_PLANE_TAINTS} else ()
    if any(not each.key or (each.key.startswith(UNSAFE_TAINTS) and each.key not in renamed) for each in added):
        yield "tolerates a taint that protects pods"
    for change in one.changes:
        if isinstance(change, Patch):
            repairs = any(remedy.family == "repair" for remedy in one.remedies)
            yield from _of_patch(decision, change, repairs=repairs)
        elif isinstance(change, ObjectDeletion) and change.delete.kind == "Pod":
            yield from _of_deletion(decision, change.delete.namespace, change.delete.name, waits=_waits(one))
    if platform(before) - platform(after) and one.remedies[0].risk is not Risk.MISTAKE:
        yield "runs on another platform than the pod requires"
    rules = decision.framework.handle.request_rules
    has, gets = (scheduler_units(pod_requests(pod, rules)) for pod in (before, after))
    # With less CPU an init container takes longer, which is a change of low risk.
    slower = {CPU} if any(each.risk is Risk.POD for each in one.remedies) else set()
    corrects = any(each.risk is Risk.MISTAKE for each in one.remedies)
    for resource, amount in has.items():
        left = gets.get(resource, 0)
        if is_extended_resource(resource) and not left and amount:
            yield f"does without {resource}"
        if left < amount * (1 - MOST_LOWERED) - 1 and not corrects and resource not in slower:
            yield f"requests {left} {resource} instead of {amount}"
    used = {use.claim_name for pod in _others(decision) for use in _claims(pod)}
    names = {claim.name for claim in decision.cluster.list(PersistentVolumeClaim)}
    old = {use.claim_name for use in _claims(before)}
    for use in _claims(after):
        if use.claim_name not in old and (use.claim_name in used or old <= names):
            yield f"takes the claim {use.claim_name}"


def platform(pod: Pod) -> set[str]:
    """Return the requirements on the platform of the node."""
    required = required_node_selector(pod.spec)
    terms = required.node_selector_terms if required is not None else ()
    found = {str(each) for term in terms for each in term.match_expressions if each.key in PLATFORM_LABELS}
    return found | {f"{key}={value}" for key, value in pod.spec.node_selector.items() if key in PLATFORM_LABELS}


def _of_patch(decision: Decision, change: Patch, *, repairs: bool) -> Iterator[str]:
    for operation in change.patch:
        path, value = operation["path"], operation.get("value")
        if operation["op"] == "remove" and path.startswith(PURPOSE):
            yield f"removes {path}"
        if change.kind != "Node":
            continue
        node = decision.cluster.nodes.objects[decision.cluster.nodes.row[change.name]]
        if operation["op"] == "remove" and path.startswith("/spec/taints/"):
            taint = node.spec.taints[int(path.rsplit("/", 1)[1])]
            cordon = taint.key == "node.kubernetes.io/unschedulable"
            only = taint.key in CONTROL_PLANE_TAINTS and len(decision.cluster.nodes) == 1
            if taint.key.startswith(UNSAFE_TAINTS) and not (cordon or repairs or only):
                yield f"removes {taint}"
        if path.startswith("/metadata/labels/"):
            key = path.removeprefix("/metadata/labels/").replace("~1", "/").replace("~0", "~")
            if operation["op"] == "remove" or key in node.metadata.labels:
                yield f"changes the label {key} of a node"
            elif value not in decision.cluster.nodes.labels[key].values and value != node.name:
                yield f"gives a node the label {key}={value}, which no node has"


def _of_deletion(decision: Decision, namespace: str, name: str, *, waits: bool) -> Iterator[str]:
    pods = decision.cluster.pods
    index = pods.index[namespace, name]
    owner = pods.owner(index)
    if waits and pods.records[index].metadata.deletion_timestamp is not None:
        # The pod goes in any case.
        return
    if pods.priority[index] > (decision.pod.spec.priority or 0):
        yield f"deletes {namespace}/{name} of higher priority"
    if waits:
        return
    if decision.preemption is not None and decision.preemption.nominated:
        yield "deletes what preemption evicts anyway"
    if owner is None:
        return
    if owner.kind in NODE_BOUND:
        yield f"deletes {namespace}/{name}, which is created again on its node"
    mine = workload_of(decision.cluster, decision.pod.metadata)
    if workload_of(decision.cluster, pods.records[index].metadata) == mine:
        yield f"deletes the sibling {namespace}/{name}"


def _waits(one: Suggestion) -> bool:
    return one.remedies[0].risk is Risk.WAIT


def _claims(pod: Any) -> Iterator[Any]:
    return (volume.persistent_volume_claim for volume in pod.spec.volumes if volume.persistent_volume_claim is not None)


def _others(decision: Decision) -> Iterator[Any]:
    pods = decision.cluster.pods
    return (pods.pod(i) for i in range(len(pods)) if pods.key(i) != decision.pod.key)


@pytest.mark.parametrize("theme", sorted(set(generate.THEMES) - {"sequence", "groups", "trees"}))
@given(seed=st.integers(0, 10**6))
@example(seed=219)
@example(seed=320912)
@example(seed=8192)
def test_nothing_harmful_is_suggested(theme: str, seed: int) -> None:
    case = msgspec.convert(generate.case(theme, seed, seed % 150), Case)
    try:
        decision = decide_case(case, LATEST, in_tree_registry())
    except KschedctlError:
        return
    for one in suggest(decision, 50).suggestions:
        for way in (one, *one.others):
            assert not list(offences(decision, way)), (case.id, way.summary)


KEY = "example.com/licensed"


class NotLicensed(Operands, frozen=True):
    def words(self) -> str:
        return "the node has no license"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        node = context.node.name
        yield context.node_patch(
            f"license node {node}",
            add_operation("yes", "metadata", "labels", KEY),
            family="license",
            command=f"label node {node} {KEY}=yes",
        )
        yield context.node_patch(
            f"wish for a license on node {node}",
            add_operation("perhaps", "metadata", "labels", KEY),
            family="wish",
            command=f"label node {node} {KEY}=perhaps",
        )


class Licensed(FilterPlugin):
    name = "Licensed"

    def filter(self, state: CycleState, pod: Pod, nodes: Overlay) -> Rejections:
        objects = self.handle.cluster.nodes.objects
        without = np.array([objects[row].metadata.labels.get(KEY) != "yes" for row in nodes.rows], dtype=np.bool_)
        return Rejections.where(
            without, Code.UNSCHEDULABLE, "no license", lambda _: (Reason("no license", NotLicensed()),)
        )


def test_what_helps_is_told_and_what_does_not_is_not() -> None:
    profile = {"schedulerName": "default-scheduler", "plugins": {"filter": {"enabled": [{"name": "Licensed"}]}}}
    config = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
    cluster = make_cluster([make_node("a")])
    decision = decide(make_pod(), cluster, config=config, plugins={"Licensed": Licensed})
    (found,) = suggest(decision).suggestions
    assert (found.summary, found.nodes) == ("license node a", ("a",))
    assert found.remedies[0].command == f"kubectl label node a {KEY}=yes"
