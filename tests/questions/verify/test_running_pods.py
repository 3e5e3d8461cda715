"""Feasibility of all running pods at once equals that of each pod alone."""

from hypothesis import given, settings

from kschedctl.cluster.cluster import Cluster
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.verify.running_pods import BoundPods, check_bound_pods
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code
from tests.builders import HOSTNAME, ZONE, make_claim, make_cluster, make_node, make_pod, make_volume, mount
from tests.example_counts import scaled
from tests.strategies import World, worlds


def check(cluster: Cluster, namespace: str = "") -> BoundPods:
    return check_bound_pods(Scheduler(cluster), AnalysisHandle(), namespace)


def misplaced(cluster: Cluster) -> dict[str, str]:
    """Return the plugin that rejects each pod that would not fit any more."""
    return {cluster.pods.key(each.pod): each.status.plugin for each in check(cluster).misplaced}


def one_by_one(cluster: Cluster) -> dict[str, str]:
    """Return the same from a separate cluster for each pod, without the pod."""
    out = {}
    for index in range(len(cluster.pods)):
        pod = cluster.pods.pod(index)
        if cluster.pods.node_row[index] < 0:
            continue
        decision = Scheduler(cluster.with_pods(removed=[index])).decide(pod)
        name = cluster.pods.records[index].node_name
        if decision.pre_filter is not None and decision.pre_filter.status.code is not Code.SUCCESS:
            out[pod.key] = decision.pre_filter.status.plugin
        elif not decision.node(name).feasible:
            # A node that PreFilter left out has no filter that turned it away.
            narrowing = decision.pre_filter.plugins if decision.pre_filter is not None else ()
            out[pod.key] = decision.node(name).status.plugin or " ".join(narrowing)
    return out


@settings(max_examples=scaled(60))
@given(
    worlds(
        "requests",
        "ports",
        "tolerations",
        "nodeSelector",
        "nodeAffinity",
        "podAffinity",
        "spread",
        of_nodes=("labels", "taints", "offers"),
    )
)
def test_all_at_once_is_each_alone(world: World) -> None:
    cluster = world.cluster
    assert misplaced(cluster) == one_by_one(cluster)


def test_pods_do_not_stand_in_their_own_way() -> None:
    volume, claim = (
        make_volume("v", claim="default/data", modes=["ReadWriteOncePod"]),
        make_claim("data", bound="v", modes=["ReadWriteOncePod"]),
    )
    alone = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
    cluster = make_cluster(
        [make_node("a", zone="z", cpu="2"), make_node("b", zone="y")],
        [
            make_pod("large", node="a", requests={"cpu": "2"}),
            make_pod("port", node="a", containers=[{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]),
            make_pod("alone", node="b", labels={"app": "web"}, affinity=alone),
            make_pod("claim", node="b", volumes=mount("data")),
        ],
        volume,
        claim,
    )
    assert misplaced(cluster) == {}
    assert check(cluster).feasible == 4


def test_what_has_changed_since_is_found() -> None:
    cluster = make_cluster(
        [
            make_node("small", cpu="1"),
            make_node("cordoned", unschedulable=True),
            make_node("tainted", taints=["a=b:NoSchedule"]),
        ],
        [
            make_pod("one", node="small", requests={"cpu": "600m"}),
            make_pod("two", node="small", requests={"cpu": "600m"}),
            make_pod("three", node="cordoned"),
            make_pod("four", node="tainted"),
            make_pod("five", node="tainted", nodeSelector={"disk": "ssd"}),
        ],
    )
    assert misplaced(cluster) == {
        "default/one": "NodeResourcesFit",
        "default/two": "NodeResourcesFit",
        "default/three": "NodeUnschedulable",
        "default/four": "TaintToleration",
        "default/five": "TaintToleration",
    }


def test_pods_of_a_daemon_set_are_asked_about_together() -> None:
    def on(node: str, *, key: str = "metadata.name") -> dict[str, object]:
        fields = [{"key": key, "operator": "In", "values": [node]}]
        terms = [{"matchFields": fields}]
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}

    nodes = [make_node(name) for name in "abc"]
    pods = [make_pod(f"daemon-{name}", node=name, affinity=on(name)) for name in "abc"]
    lost = make_pod("moved", node="a", affinity=on("b"))
    assert misplaced(make_cluster(nodes, [*pods, lost])) == {"default/moved": "NodeAffinity"}


def test_pods_that_no_scheduler_of_ours_placed_are_counted_apart() -> None:
    cluster = make_cluster(
        [make_node("a")],
        [
            make_pod("other", node="a", schedulerName="mine"),
            make_pod("static", node="a", owner=("v1", "Node", "a")),
            make_pod("lost", node="gone"),
            make_pod("fine", node="a", nodeSelector={HOSTNAME: "a"}),
            make_pod("pending"),
        ],
    )
    assert check(cluster) == BoundPods(feasible=1, misplaced=(), other_scheduler=1, static=1, lost=1)
    assert check(cluster, "elsewhere") == BoundPods(feasible=0, misplaced=(), other_scheduler=0, static=0, lost=0)
