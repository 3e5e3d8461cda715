"""The question for the solver: equivalent pods, evictable pods, and nodes that are one variable."""

from typing import Any

from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.trials.optimum.question import PlacementQuestion, no_evictions, pose
from kschedctl.trials.optimum.sites import PodCapacities, grouped_sites
from tests.builders import HOSTNAME, ZONE, make_cluster, make_node, make_pod

RS = ("apps/v1", "ReplicaSet", "web")


def ask(*pods: Any, nodes: Any = None, evicting: bool = True) -> PlacementQuestion:
    cluster = make_cluster(nodes or [make_node("a"), make_node("b")], pods)
    return pose(Scheduler(cluster), None if evicting else no_evictions)


def names(question: PlacementQuestion) -> list[list[str]]:
    return [[pod.name for pod in kind.pods] for kind in question.kinds]


def test_replicas_are_one_kind_whatever_labels_nobody_reads() -> None:
    replicas = [make_pod(f"web-{i}", labels={"app": "web", "pod-name": f"web-{i}"}, owner=RS) for i in range(3)]
    assert names(ask(*replicas)) == [["web-0", "web-1", "web-2"]]


def test_a_label_that_a_term_reads_tells_kinds_apart() -> None:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    far = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    other = make_pod("other", affinity=far, node="a")
    question = ask(make_pod("p", labels={"app": "web"}), make_pod("q", labels={"app": "db"}), other)
    assert names(question) == [["p"], ["q"]]


def test_requests_tell_kinds_apart() -> None:
    assert names(ask(make_pod("p", requests={"cpu": "1"}), make_pod("q", requests={"cpu": "2"}))) == [["p"], ["q"]]


def test_pods_at_a_gate_and_of_other_schedulers_take_no_part() -> None:
    gated = make_pod("gated", schedulingGates=[{"name": "wait"}])
    question = ask(make_pod("p"), gated, make_pod("theirs", schedulerName="other"))
    assert (names(question), question.gated) == ([["p"]], ("default/gated",))


def test_who_may_be_evicted_is_of_lower_priority_than_some_pod_that_evicts() -> None:
    running = [make_pod(f"r{i}", node="a", priority=priority) for i, priority in enumerate((0, 5, 10))]
    assert len(ask(make_pod("p", priority=10), *running).occupants) == 2
    assert ask(make_pod("p", priority=10, preemptionPolicy="Never"), *running).occupants == ()
    assert ask(make_pod("p", priority=10), *running, evicting=False).occupants == ()


def test_who_is_made_again_is_of_a_kind_that_waits_for_nothing_yet() -> None:
    question = ask(make_pod("p", priority=10), make_pod("r", node="a", owner=RS), make_pod("bare", node="a"))
    assert names(question) == [["p"], []]
    assert sorted(occupants.kind for occupants in question.occupants) == [-1, 1]


def test_nodes_that_nothing_tells_apart_are_one_site() -> None:
    nodes = [make_node(f"n{i}", zone=f"z{i % 2}") for i in range(6)]
    plain = ask(make_pod("p", requests={"cpu": "1"}), nodes=nodes)
    assert [site.n_nodes for site in grouped_sites(PodCapacities(plain))] == [6]
    term = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    spread = ask(make_pod("p", labels={"app": "a"}, topologySpreadConstraints=[term]), nodes=nodes)
    assert [site.n_nodes for site in grouped_sites(PodCapacities(spread))] == [3, 3]
    used = ask(make_pod("p", requests={"cpu": "1"}), make_pod("r", node="n1", requests={"cpu": "1"}), nodes=nodes)
    assert [site.rows for site in grouped_sites(PodCapacities(used))] == [(0, 2, 3, 4, 5), (1,)]
