import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.framework.cycle_state import CycleState
from kschedctl.scheduler.framework.node_by_node import NodeByNodeFilter, NodeByNodeScore, NodeInfo, node_infos
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Reason, Status
from kschedctl.testing.contract import check_plugin
from tests.builders import decide, make_cluster, make_node, make_pod, make_profile, raw_scores, reason, said
from tests.scheduler.framework.plugins import make_framework

CROWDED = Status(Code.UNSCHEDULABLE, ("node has enough pods of its kind",))


class OfItsKind(Operands, frozen=True):
    """The node has a pod of the app.

    Attributes
    ----------
    pod : str
        ``namespace/name`` of that pod.
    """

    pod: str

    def words(self) -> str:
        return f"{self.pod} is of the same app"


class AtMostOne(NodeByNodeFilter, NodeByNodeScore):
    """A node takes one pod of an app; one with few pods is better."""

    name = "AtMostOne"

    def filter_node(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        app = pod.metadata.labels.get("app")
        return CROWDED if any(other.metadata.labels.get("app") == app for other in node.pods) else Status()

    def explain_node(self, state: CycleState, pod: Pod, node: NodeInfo, status: Status) -> tuple[Reason, ...]:
        app = pod.metadata.labels.get("app")
        other = next(other for other in node.pods if other.metadata.labels.get("app") == app)
        return (Reason(status.reasons[0], OfItsKind(f"{other.metadata.namespace}/{other.name}")),)

    def score_node(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return max(100 - 10 * node.requested["pods"], 0)


WEB, DB = {"app": "web"}, {"app": "db"}
CONFIG = make_profile(plugins={"multiPoint": {"enabled": [{"name": "AtMostOne", "weight": 2}]}})


def sample() -> Cluster:
    pods = [
        make_pod("web", node="a", labels=WEB, requests={"cpu": "1", "memory": "1Gi"}),
        make_pod("db", node="a", labels=DB, requests={"cpu": "500m"}),
        make_pod("waiting", labels=WEB, requests={"cpu": "2"}),
    ]
    return make_cluster([make_node("a"), make_node("b", cpu="2")], pods)


def test_it_decides_in_a_profile() -> None:
    decision = decide(make_pod(labels=DB), sample(), config=CONFIG, plugins={"AtMostOne": AtMostOne})
    assert said(decision, "AtMostOne", "a") == CROWDED
    assert decision.best == ("b",)
    assert raw_scores(decision, "AtMostOne") == {"b": 100}


def test_its_reasons_have_operands_for_the_world_that_is_looked_at() -> None:
    decision = decide(make_pod(labels=DB), sample(), config=CONFIG, plugins={"AtMostOne": AtMostOne})
    assert reason(decision, "AtMostOne", "a") == Reason(CROWDED.reasons[0], OfItsKind("default/db"))


def test_reasons_are_without_operands_where_a_plugin_gives_none() -> None:
    class Plain(AtMostOne):
        explain_node = NodeByNodeFilter.explain_node

    decision = decide(make_pod(labels=DB), sample(), config=CONFIG, plugins={"AtMostOne": Plain})
    assert reason(decision, "AtMostOne", "a") == Reason(CROWDED.reasons[0])


def test_it_scores_in_a_profile() -> None:
    decision = decide(make_pod(), sample(), config=CONFIG, plugins={"AtMostOne": AtMostOne})
    assert raw_scores(decision, "AtMostOne") == {"a": 80, "b": 100}


def infos(cluster: Cluster, overlay: Overlay) -> list[NodeInfo]:
    return list(node_infos(make_framework(cluster).handle, overlay))


def test_what_a_node_looks_like() -> None:
    cluster = sample()
    a, b = infos(cluster, cluster.overlay())
    assert (a.node.name, a.row) == ("a", 0)
    assert [pod.name for pod in a.pods] == ["web", "db"]
    assert a.allocatable["cpu"] == 4000
    assert {name: a.requested[name] for name in ("cpu", "memory", "pods")} == {
        "cpu": 1500,
        "memory": 1 << 30,
        "pods": 2,
    }
    assert (b.pods, b.requested["cpu"], b.requested["pods"]) == ((), 0, 0)


def test_what_is_tried_on_a_node_is_there() -> None:
    cluster = sample()
    overlay = cluster.overlay()
    overlay.remove(np.array([0]), np.array([0]))
    overlay.add(np.array([0, 1]), np.array([2, 2]))
    a, b = infos(cluster, overlay)
    assert [pod.name for pod in a.pods] == ["db", "waiting"]
    assert (a.requested["cpu"], a.requested["memory"], a.requested["pods"]) == (2500, 0, 2)
    assert [pod.name for pod in b.pods] == ["waiting"]


def test_nodes_of_some_worlds() -> None:
    cluster = sample()
    (b,) = infos(cluster, cluster.overlay(np.array([1])))
    assert b.node.name == "b"


def test_resources_of_a_resize_in_place_count() -> None:
    status = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}
    cluster = make_cluster([make_node("a")], [make_pod("p", node="a", requests={"cpu": "1"}, status=status)])
    (a,) = infos(cluster, cluster.overlay())
    assert a.requested["cpu"] == 3000


def test_nominated_pods_are_tried() -> None:
    waiting = make_pod("waiting", labels=WEB, nominated="b")
    cluster = make_cluster([make_node("a"), make_node("b")], [waiting])
    decision = decide(make_pod(labels=WEB), cluster, config=CONFIG, plugins={"AtMostOne": AtMostOne})
    assert decision.best == ("a",)


def test_pods_that_are_in_the_way_can_be_preempted() -> None:
    cluster = make_cluster([make_node("a")], [make_pod("web", node="a", labels=WEB, priority=1)])
    decision = decide(make_pod(labels=WEB, priority=2), cluster, config=CONFIG, plugins={"AtMostOne": AtMostOne})
    assert decision.post_filter is not None
    assert decision.post_filter.nominated == ("a",)


def test_it_keeps_the_contract_of_plugins() -> None:
    check_plugin(AtMostOne)
