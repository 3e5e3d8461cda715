"""Consequences of a preemption, and pods that threaten a pod."""

import numpy as np
import pytest

from kschedctl.cluster.placed_pods import pending_pods
from kschedctl.common.arrays import Int64Array
from kschedctl.objects.pod import Pod
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.releases.release import LATEST
from kschedctl.questions.preempt.analysis import exposure
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.dependencies import OF_NODE
from kschedctl.scheduler.framework.interface import ScorePlugin
from kschedctl.scheduler.framework.registry import Registry
from kschedctl.scheduler.plugins.registry import in_tree_registry
from kschedctl.trials.simulate.aftermath import Aftermath, aftermath
from tests.builders import make_cluster, make_node, make_object, make_pod, make_profile

JOB = ("batch/v1", "Job", "report")
DAEMON_SET = ("apps/v1", "DaemonSet", "logs")
#: The node affinity that a DaemonSet's controller writes into its pods.
ON_A = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
        }
    }
}


def follow(*, spare_cpu: str) -> Aftermath:
    """Let a pod of 4 CPU evict three pods from node a; node b has some free capacity, but not enough for the pod."""
    started = {"startTime": "2026-01-01T08:00:00Z"}
    pods = [
        make_pod(
            "report", node="a", requests={"cpu": "2"}, owner=JOB, status=started, terminationGracePeriodSeconds=60
        ),
        make_pod("logs", node="a", requests={"cpu": "1"}, owner=DAEMON_SET, status=started, affinity=ON_A),
        make_pod("by-hand", node="a", requests={"cpu": "1"}, status=started),
    ]
    nodes = [make_node("a", cpu="4"), make_node("b", cpu=spare_cpu)]
    scheduler = Scheduler(make_cluster(nodes, pods))
    decision = scheduler.decide(make_pod("web", requests={"cpu": "4"}, priority=100))
    assert decision.preemption is not None
    return aftermath(scheduler, decision, decision.preemption.candidates[0])


def test_the_pod_waits_for_the_longest_grace_period() -> None:
    assert follow(spare_cpu="2").wait_seconds == 60


def test_a_controller_makes_a_new_pod_that_goes_where_there_is_room() -> None:
    report, logs, by_hand = follow(spare_cpu="2").victims
    assert report.replacement is not None
    assert report.replacement.best == ("b",)
    assert logs.bound_to_node
    assert logs.replacement is not None
    # Its node is full with the preemptor in place.
    assert logs.replacement.best == ()
    assert by_hand.owner is None
    assert by_hand.replacement is None


def test_where_there_is_no_room_the_new_pod_waits() -> None:
    report = follow(spare_cpu="1").victims[0]
    assert report.replacement is not None
    assert report.replacement.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


class ByOrdinal(ScorePlugin):
    """Gives 1 point to the node of the name that the pod's name ends with."""

    name = "ByOrdinal"
    reads = OF_NODE

    def own_part(self, pod: Pod) -> str:
        return pod.name

    def score(self, state: CycleState, pod: Pod, rows: Int64Array) -> Int64Array:
        names = self.handle.cluster.nodes.names
        return np.array([pod.name.endswith(names[row]) for row in rows.tolist()], dtype=np.int64)


@pytest.mark.parametrize("declares", [True, False])
def test_new_pods_that_are_alike_are_decided_for_one_by_one_if_a_plugin_depends_on_their_names(
    declares: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not declares:
        monkeypatch.setattr(ByOrdinal, "reads", None)
    registry = in_tree_registry()
    registry.merge({ByOrdinal.name: ByOrdinal})
    points, types = registry.extension_points(LATEST), registry.args_types
    profile = make_profile(plugins={"score": {"enabled": [{"name": ByOrdinal.name, "weight": 1000}]}})
    configuration = load_configuration(profile, release=LATEST, implements=points, args_types=types)
    owner = ("apps/v1", "StatefulSet", "db")
    pods = [make_pod(f"db-{name}", node="a", requests={"cpu": "1"}, owner=owner) for name in "bc"]
    nodes = [make_node("a", cpu="2"), *(make_node(name, cpu="1") for name in "bc")]
    scheduler = Scheduler(make_cluster(nodes, pods), LATEST, configuration, Registry(registry))
    decision = scheduler.decide(make_pod("web", requests={"cpu": "2"}, priority=100))
    assert decision.preemption is not None
    fates = aftermath(scheduler, decision, decision.preemption.candidates[0]).victims
    assert [fate.replacement.best for fate in fates if fate.replacement] == [("b",), ("c",)]


def test_pending_pods_come_by_priority_then_age() -> None:
    pods = [
        make_pod("running", node="a"),
        make_pod("low"),
        make_pod("high", priority=10),
        make_pod("higher", priority=11),
    ]
    cluster = make_cluster([make_node("a")], pods)
    assert [cluster.pods.key(i) for i in pending_pods(cluster)] == ["default/higher", "default/high", "default/low"]


def test_who_would_evict_a_pod_and_what_would_keep_it_safe() -> None:
    pods = [
        make_pod("report", node="a", requests={"cpu": "4"}, priority=5),
        make_pod("peer", requests={"cpu": "4"}, priority=5),
        make_pod("web", requests={"cpu": "4"}, priority=100),
        make_pod("api", requests={"cpu": "2"}, priority=50),
    ]
    classes = [make_object(PriorityClass, name, value=value) for name, value in (("mid", 50), ("top", 100), ("x", 900))]
    found = exposure(Scheduler(make_cluster([make_node("a", cpu="4")], pods, *classes)), 0)
    assert [(taker.name, taker.node, taker.certain) for taker in found.takers] == [
        ("default/web", "a", True),
        ("default/api", "a", True),
    ]
    assert (found.safe_priority, found.safe_class) == (100, "top")


def test_a_pod_that_nobody_needs_is_safe() -> None:
    scheduler = Scheduler(make_cluster([make_node("a")], [make_pod("report", node="a"), make_pod("web", priority=9)]))
    assert exposure(scheduler, 0).takers == ()
    assert exposure(scheduler, 0).safe_priority is None


def test_a_pod_with_a_gate_evicts_nobody() -> None:
    pods = [
        make_pod("report", node="a", requests={"cpu": "4"}),
        make_pod("web", requests={"cpu": "4"}, priority=9, schedulingGates=[{"name": "wait"}]),
    ]
    assert exposure(Scheduler(make_cluster([make_node("a", cpu="4")], pods)), 0).takers == ()
