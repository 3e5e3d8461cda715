"""The nodes and the messages of kube-scheduler, compared with ours: pods that run, and pods that wait."""

from typing import Any

import pytest
from hypothesis import given, settings

from kschedctl.cluster.cluster import Cluster
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.questions.frame import View
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.verify import analysis
from kschedctl.questions.verify.analysis import deciding_refusal, verify
from kschedctl.questions.verify.answer import Choice, ChosenNodeData, Standing, Verification
from kschedctl.questions.verify.document import document
from kschedctl.questions.verify.pending_pods import Disagreement, Theirs, disagreement, overcounted
from kschedctl.questions.verify.request import VerifyRequest
from kschedctl.questions.verify.running_pods import BoundPods, check_bound_pods
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.status import Code
from tests.builders import (
    HOSTNAME,
    ZONE,
    make_claim,
    make_cluster,
    make_loaded,
    make_node,
    make_pod,
    make_volume,
    mount,
    scheduling_cluster,
)
from tests.example_counts import scaled
from tests.questions.printing import lines
from tests.sampling_clusters import many_nodes, pod_of_turn, scheduled_in_turn
from tests.strategies import World, worlds

#: 150 nodes of which z is the best; a, the worst, is in every sample together with better nodes.
NODES = [make_node("a", cpu="1"), *many_nodes(148), make_node("z", cpu="64", memory="256Gi")]


def verified(cluster: Cluster, **fields: Any) -> Verification:
    return verify(make_loaded(cluster), VerifyRequest(sampling=True, **fields), AnalysisHandle())


def chosen(cluster: Cluster, **fields: Any) -> tuple[ChosenNodeData, ...]:
    found = verified(cluster, **fields).choices
    assert found is not None
    return found


def counts(found: tuple[ChosenNodeData, ...]) -> dict[Choice, int]:
    return {choice: sum(each.choice is choice for each in found) for choice in Choice}


def test_samples_explain_every_node_of_a_scheduler_with_samples() -> None:
    cluster = scheduled_in_turn(NODES, 12, start=60)
    found = chosen(cluster)
    assert [each.name for each in found] == [f"p{i:02d}" for i in reversed(range(12))]
    assert counts(found)[Choice.UNEXPLAINED] == 0
    assert counts(found)[Choice.SAMPLED] >= 3
    for each in found:
        assert (each.node in each.best) == (each.choice is Choice.BEST)
        assert 0 < each.starts <= each.of_starts == 150


@pytest.mark.parametrize(("node", "choice"), [("z", Choice.BEST), ("n119", Choice.SAMPLED), ("a", Choice.UNEXPLAINED)])
def test_a_node_is_best_of_all_or_of_a_sample_or_unexplained(node: str, choice: Choice) -> None:
    answer = verified(make_cluster(NODES, [pod_of_turn(0, node)]))
    assert answer.choices is not None
    assert [each.choice for each in answer.choices] == [choice]
    assert answer.choices[0].best == ("z",)
    # A pod that ended since may explain the node, so that it is no difference.
    assert answer.equal
    of_each = {Choice.BEST: "of all", Choice.SAMPLED: "of a sample", Choice.UNEXPLAINED: "that only a later change"}
    assert ["1 on a" in part for part in answer.summary.split(", ")[-3:]].count(True) == 1
    part = next(part for part in answer.summary.split(", ") if "1 on a" in part)
    assert of_each[choice] in part
    shown = "\n".join(lines(document(answer, View()), 100))
    assert ("default/p00" in shown) == (choice is not Choice.BEST)
    assert ("pods that ran then have ended" in shown) == (choice is Choice.UNEXPLAINED)


def test_pods_that_were_bound_later_do_not_count() -> None:
    # The second pod fills z, so that the first one would go elsewhere today.
    later = make_pod("p01", node="z", requests={"cpu": "60"}, status=_status(9))
    first = pod_of_turn(1, "z")
    (one,) = (each for each in chosen(make_cluster(NODES, [first, later])) if each.name == first.name)
    assert one.choice is Choice.BEST


def _status(second: int) -> dict[str, Any]:
    return {"phase": "Running", "startTime": f"2026-03-01T12:00:{second:02d}Z"}


FIELD = {"key": "metadata.name", "operator": "In", "values": ["z"]}
DAEMON = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [FIELD]}]}}


@pytest.mark.parametrize(
    "pod",
    [
        make_pod("other", node="z", schedulerName="mine"),
        make_pod("daemon", node="z", affinity={"nodeAffinity": DAEMON}),
        make_pod("static", node="z", owner=("v1", "Node", "z")),
        make_pod("lost", node="gone"),
        make_pod("misplaced", node="a", requests={"cpu": "2"}),
        make_pod("elsewhere", namespace="kube-system", node="z"),
    ],
    ids=lambda pod: pod.name,
)
def test_pods_that_are_not_compared(pod: Pod) -> None:
    assert chosen(make_cluster(NODES, [pod]), namespace="default") == ()


def test_only_the_newest_pods_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST", 2)
    found = chosen(make_cluster(NODES, [pod_of_turn(i, "z") for i in (3, 9, 4, 1)]))
    assert [each.name for each in found] == ["p09", "p04"]


def test_what_ifs_do_not_count() -> None:
    cluster = make_cluster(NODES, [pod_of_turn(0, "z")])
    edited = make_cluster([*NODES, make_node("zz", cpu="640", memory="2560Gi")], [pod_of_turn(0, "z")])
    assert chosen(edited)[0].choice is Choice.SAMPLED
    assert chosen(edited, before=make_loaded(cluster))[0].choice is Choice.BEST


@pytest.mark.parametrize(("number", "shown"), [(100, False), (101, True)])
def test_the_next_question_of_a_large_cluster(number: int, shown: bool) -> None:
    answer = scheduling_cluster(make_cluster(many_nodes(number), [pod_of_turn(0, "n000")])).verify()
    assert answer.choices is None
    assert ("kschedctl verify --sampling" in "\n".join(lines(document(answer, View()), 100))) == shown


CORDON = "node.kubernetes.io/unschedulable:NoSchedule"
PORT = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]
DATA = (
    make_volume("v", claim="default/data", modes=["ReadWriteOncePod"]),
    make_claim("data", bound="v", modes=["ReadWriteOncePod"]),
)


def required(**term: Any) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def beside(kind: str, app: str) -> dict[str, Any]:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(key: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


def on_b(operator: str = "In") -> dict[str, Any]:
    return required(matchFields=[{"key": "metadata.name", "operator": operator, "values": ["b"]}])


A, B = make_node("a", zone="y"), make_node("b", zone="z")
CASES: dict[str, tuple[Node, list[Pod], Standing, str]] = {
    "a cordoned node": (
        make_node("a", unschedulable=True),
        [make_pod("p", node="a")],
        Standing.CORDONED,
        "NodeUnschedulable",
    ),
    "the taint that a cordon brings": (
        make_node("a", unschedulable=True, taints=[CORDON]),
        [make_pod("p", node="a")],
        Standing.CORDONED,
        "NodeUnschedulable",
    ),
    "that taint where the cordon itself is tolerated by none": (
        make_node("a", taints=[CORDON]),
        [make_pod("p", node="a")],
        Standing.CORDONED,
        "TaintToleration",
    ),
    "a cordoned node with another taint": (
        make_node("a", unschedulable=True, taints=[CORDON, "x=y:NoSchedule"]),
        [make_pod("p", node="a")],
        Standing.CHANGED,
        "TaintToleration",
    ),
    "a taint": (
        make_node("a", taints=["x=y:NoSchedule"]),
        [make_pod("p", node="a")],
        Standing.CHANGED,
        "TaintToleration",
    ),
    "a label": (A, [make_pod("p", node="a", nodeSelector={"disk": "ssd"})], Standing.CHANGED, "NodeAffinity"),
    "the name of another node": (A, [make_pod("p", node="a", affinity=on_b())], Standing.DIFFERENT, "NodeAffinity"),
    "not this node's name or a label": (
        A,
        [make_pod("p", node="a", affinity=required(matchExpressions=[{"key": "disk", "operator": "Exists"}]))],
        Standing.CHANGED,
        "NodeAffinity",
    ),
    "resources": (
        make_node("a", cpu="1"),
        [make_pod("p", node="a", requests={"cpu": "2"})],
        Standing.CHANGED,
        "NodeResourcesFit",
    ),
    "spreading": (
        A,
        [make_pod(n, node="a", labels={"app": "web"}, **spread(ZONE)) for n in ("p", "q", "r")],
        Standing.CHANGED,
        "PodTopologySpread",
    ),
    "affinity to a pod that has gone": (
        A,
        [make_pod("p", node="a", affinity=beside("podAffinity", "db"))],
        Standing.CHANGED,
        "InterPodAffinity",
    ),
    "a pod that it excludes": (
        A,
        [
            make_pod("p", node="a", affinity=beside("podAntiAffinity", "db")),
            make_pod("q", node="a", labels={"app": "db"}),
        ],
        Standing.CHANGED,
        "InterPodAffinity",
    ),
    "one host port twice": (
        A,
        [make_pod("p", node="a", containers=PORT), make_pod("q", node="a", containers=PORT)],
        Standing.DIFFERENT,
        "NodePorts",
    ),
    "one host port twice, and a cordon": (
        make_node("a", unschedulable=True, taints=[CORDON]),
        [make_pod("p", node="a", containers=PORT), make_pod("q", node="a", containers=PORT)],
        Standing.DIFFERENT,
        "NodePorts",
    ),
    "one claim for two that only one may have": (
        A,
        [make_pod("p", node="a", volumes=mount("data")), make_pod("q", node="a", volumes=mount("data"))],
        Standing.DIFFERENT,
        "VolumeRestrictions",
    ),
    "a claim that has gone": (
        A,
        [make_pod("p", node="a", volumes=mount("lost"))],
        Standing.CHANGED,
        "VolumeRestrictions",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_refusal_comes_to(name: str) -> None:
    node, pods, standing, plugin = CASES[name]
    cluster = make_cluster([node, B], pods, *DATA)
    every = check_bound_pods(Scheduler(cluster), AnalysisHandle()).misplaced
    found = next(each for each in every if cluster.pods.key(each.pod) == "default/p")
    status, judgement = deciding_refusal(cluster, found)
    assert (judgement.standing, status.plugin) == (standing, plugin)


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


CPU, FULL = "Insufficient cpu", "Too many pods"
HELPLESS = (
    "no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
)
UNSCHEDULABLE = Outcome.UNSCHEDULABLE


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(f"0/2 nodes are available: 2 {CPU}. {HELPLESS}", None, id="the same"),
        pytest.param(
            f"0/2 nodes are available: 1 {FULL}, 1 {CPU}. {HELPLESS}",
            Disagreement(UNSCHEDULABLE, frozenset(), frozenset({FULL})),
            id="a reason more",
        ),
        pytest.param(
            f"0/2 nodes are available: 2 {FULL}. {HELPLESS}",
            Disagreement(UNSCHEDULABLE, frozenset({CPU}), frozenset({FULL})),
            id="another reason",
        ),
        pytest.param(
            f"0/3 nodes are available: 3 {CPU}. {HELPLESS}",
            Disagreement(UNSCHEDULABLE, ours=frozenset({(CPU, 2)}), theirs=frozenset({(CPU, 3)})),
            id="other numbers",
        ),
        pytest.param(
            f"0/2 nodes are available: 2 {CPU}. preemption: 0/2 nodes are available: 2 No preemption victims found.",
            Disagreement(
                UNSCHEDULABLE,
                frozenset({"Preemption is not helpful for scheduling"}),
                frozenset({"No preemption victims found"}),
            ),
            id="what is said of preemption",
        ),
    ],
)
def test_reasons_of_one_side_alone(message: str, expected: Disagreement | None) -> None:
    cluster = make_cluster([make_node("a", cpu="1"), make_node("b", cpu="1")])
    decision = Scheduler(cluster).decide(make_pod("p", requests={"cpu": "2"}))
    assert disagreement(Theirs(reason="Unschedulable", message=message), decision) == expected


def test_other_outcomes() -> None:
    decision = Scheduler(make_cluster([make_node("a")])).decide(make_pod("p"))
    theirs = Theirs(reason="Unschedulable", message=f"0/1 nodes are available: 1 {CPU}.")
    assert disagreement(theirs, decision) == Disagreement(Outcome.SCHEDULED, frozenset(), frozenset({CPU}))
    assert disagreement(Theirs(reason="SchedulingGated"), decision) == Disagreement(Outcome.SCHEDULED)
    assert disagreement(Theirs(node="a"), decision) is None


def test_reasons_that_we_give_more_often() -> None:
    cluster = make_cluster([make_node("a", cpu="1"), make_node("b", cpu="1")])
    decision = Scheduler(cluster).decide(make_pod("p", requests={"cpu": "2"}))
    assert overcounted(Theirs(message=f"0/2 nodes are available: 1 {CPU}, 1 {FULL}."), decision) == {CPU}
