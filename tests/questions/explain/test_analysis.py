"""The search for feasible nodes in the answer of ``explain``, and first lines about members of pod groups."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.questions.explain.analysis import explain
from kschedctl.questions.explain.document import ExplainView, document
from kschedctl.questions.explain.request import ExplainRequest
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.provenance import PodSubject
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.cycle.outcome import SearchScope
from tests.builders import load_engine, make_cluster, make_loaded, make_node, make_pod, scheduling_cluster
from tests.cli.in_process import run
from tests.gangs import RACK, make_group, make_grouping
from tests.paths import ROOT
from tests.questions.printing import lines
from tests.sampling_clusters import many_nodes

WEB = make_pod("web", requests={"cpu": "1", "memory": "1Gi"})


def same_nodes(number: int) -> list[Node]:
    return [make_node(f"n{i:03d}") for i in range(number)]


@pytest.mark.parametrize(
    ("pod", "nodes", "end"),
    [
        pytest.param(
            WEB,
            [*same_nodes(150), make_node("z", cpu="64")],
            "is scheduled to one of 151 nodes, most likely z (100 of 151 starts): kube-scheduler stops at 100 feasible "
            "nodes.",
            id="a node that is better than the others",
        ),
        pytest.param(
            WEB,
            same_nodes(150),
            "is scheduled to one of 150 nodes, all equally likely (100 of 150 starts each): kube-scheduler stops at "
            "100 feasible nodes.",
            id="nodes that are all the same",
        ),
        pytest.param(
            WEB,
            [*same_nodes(30), make_node("z", cpu="64")],
            "is scheduled to z (score 464, next best n000 with 452); kube-scheduler looks at all nodes.",
            id="a small cluster",
        ),
        pytest.param(
            make_pod("web", requests={"cpu": "8"}),
            [*same_nodes(150), make_node("y", cpu="32"), make_node("z", cpu="64")],
            "is scheduled to z (score 463, next best y with 454); kube-scheduler scores all of them, as it would stop "
            "at 100.",
            id="few feasible nodes",
        ),
        pytest.param(
            make_pod("web", nominated="n007"),
            same_nodes(150),
            "is scheduled to n007, the node it is nominated to; kube-scheduler looks at no other node.",
            id="a nominated pod",
        ),
    ],
)
def test_the_first_line_with_samples(pod: Pod, nodes: list[Node], end: str) -> None:
    answer = scheduling_cluster(make_cluster(nodes)).explain(pod, sampling=True)
    assert answer.verdict.summary.partition("nodes and ")[2] == end


def test_the_data_of_samples() -> None:
    cluster = make_loaded(make_cluster([*same_nodes(150), make_node("z", cpu="64")]))
    answer = SchedulingCluster(cluster).explain(WEB, sampling=True)
    search = answer.search
    assert search is not None
    assert (search.scope, search.percentage, search.starts, search.nodes_to_find) == (SearchScope.SAMPLE, 0, 151, 100)
    best, second = search.nodes[:2]
    assert (best.name, best.starts) == ("z", 100)
    assert best.chance == pytest.approx(100 / 151)
    assert second.starts <= 51
    assert sum(node.chance for node in search.nodes) == pytest.approx(1)
    assert answer.verdict.nodes == ("z",)
    assert answer.names()[0] == "node/z"
    assert len(answer.names()) == 151


def test_all_nodes_are_scored_by_default() -> None:
    answer = scheduling_cluster(make_cluster(many_nodes())).explain(WEB)
    assert answer.search is not None
    assert (answer.search.followed, answer.search.nodes) == (False, ())
    assert "starts" not in answer.verdict.summary
    assert answer.names() == tuple(f"node/{name}" for name in answer.verdict.nodes)
    shown = "\n".join(lines(document(answer, ExplainView()), 120))
    assert "all nodes are scored; kube-scheduler stops at 100 feasible nodes (percentageOfNodesToScore)" in shown
    assert "kschedctl explain default/web --sampling" in shown


@pytest.mark.parametrize(("number", "pod"), [(100, WEB), (150, make_pod("web", requests={"cpu": "99"}))])
def test_no_search_is_reported_where_samples_play_no_role(number: int, pod: Pod) -> None:
    assert scheduling_cluster(make_cluster(many_nodes(number))).explain(pod).search is None


def test_the_table_of_samples() -> None:
    answer = scheduling_cluster(make_cluster(many_nodes())).explain(WEB, sampling=True)
    shown = lines(document(answer, ExplainView()), 120)
    at = next(i for i, line in enumerate(shown) if line.split() == ["node", "starts", "chance"])
    assert shown[at + 1].split()[0] == answer.search.nodes[0].name if answer.search else ""
    text = "\n".join(shown)
    assert "chance if all starts are equally likely" in text
    assert "all nodes are scored" not in text
    assert "--sampling" not in text


@pytest.mark.parametrize("seed", range(4))
def test_a_seed_picks_a_node_of_a_sample(seed: int) -> None:
    cluster = make_loaded(make_cluster(many_nodes()))
    answer, again = (SchedulingCluster(cluster).explain(WEB, sampling=True, seed=seed) for _ in range(2))
    assert answer.search is not None
    assert answer.verdict.picked in {node.name for node in answer.search.nodes}
    assert answer.verdict == again.verdict
    assert answer.names() == (f"node/{answer.verdict.picked}",)
    assert f"{answer.verdict.picked}, chosen by the seed as one of" in answer.verdict.summary


def test_seeds_of_a_small_cluster_pick_as_without_samples() -> None:
    cluster = make_loaded(make_cluster(same_nodes(5)))
    picked: list[Any] = [
        SchedulingCluster(cluster).explain(WEB, sampling=each, seed=3).verdict.picked for each in (True, False)
    ]
    assert picked[0] == picked[1]


GROUP: Final[dict[str, Any]] = {"schedulingGroup": {"podGroupName": "gang"}}
NODES = [make_node("a", cpu="4", labels={RACK: "r1"}), make_node("b", cpu="4", labels={RACK: "r2"})]
#: The first member of the queue needs more than any node has.
LAUNCHER = make_pod("gang-0", requests={"cpu": "8"}, **GROUP)


def workers(number: int, *, cpu: int = 1, node: str = "", priority: int = 0) -> list[Pod]:
    names = [f"gang-{'old' if node else 'w'}{i}" for i in range(number)]
    return [make_pod(name, requests={"cpu": str(cpu)}, node=node, priority=priority, **GROUP) for name in names]


@pytest.mark.parametrize(
    ("version", "group", "members", "expected"),
    [
        pytest.param(
            "1.37",
            make_group(min_count=3),
            [LAUNCHER, *workers(2)],
            "The gang default/gang is not scheduled: 0 of 3 members find a node, 3 are needed and 2 are not tried; no "
            "node has 8 cpu, the largest offers 4.",
            id="the attempt ends at the first member that fails",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=3),
            workers(3, cpu=4),
            "The gang default/gang is not scheduled: 2 of 3 members find a node, 3 are needed; the other one lacks "
            "4 cpu.",
            id="every member is tried",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=5),
            workers(6, cpu=4),
            "The gang default/gang is not scheduled: 2 of 6 members find a node, 5 are needed; the other 4 lack 4 cpu "
            "each.",
            id="those that are not tried are like one that finds no node",
        ),
        pytest.param(
            "1.36",
            make_group(min_count=3),
            [LAUNCHER, *workers(2)],
            "The gang default/gang is not scheduled: 2 of 3 members find a node, 3 are needed; no node has 8 cpu, the "
            "largest offers 4.",
            id="1.36 tries every member",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=2),
            [*workers(2, node="a"), LAUNCHER],
            "The rest of gang default/gang is not scheduled: 2 of 3 members have a node, 2 are needed; no node has "
            "8 cpu, the largest offers 4.",
            id="enough members are on nodes",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=3, topology=RACK),
            [*workers(2, node="a"), LAUNCHER],
            "The gang default/gang is not scheduled: in rack r1, 2 of 3 members find a node, 3 are needed; a has "
            "4 cpu in all, the pod wants 8 cpu.",
            id="the members on nodes fix the only domain",
        ),
        pytest.param(
            "1.37",
            make_group(min_count=2, priority=10),
            workers(2),
            "The gang default/gang is not scheduled: kube-scheduler returns an error: all pods in a single pod group "
            "should have the same priority as the pod group's priority, got 0 and 10.",
            id="members of another priority than the group",
        ),
    ],
)
def test_first_line(version: str, group: PodGroup, members: Sequence[Pod], expected: str) -> None:
    cluster = make_grouping(make_cluster(NODES, members, group), version)
    pending = next(pod for pod in members if not pod.spec.node_name)
    (answer,) = explain(cluster, ExplainRequest((PodSubject(pending),)), AnalysisHandle())
    assert answer.verdict.summary == expected


GANGS = ROOT / "fixtures" / "gangs"
SNAPSHOT = ("--snapshot", str(GANGS / "cluster"))


def explained(*arguments: str) -> list[str]:
    """Return the lines of an answer on a wide terminal."""
    done = run("explain", *arguments, *SNAPSHOT, environment={"COLUMNS": "400", "NO_COLOR": "1"})
    assert done.code in (0, 1), done.err
    return done.out.splitlines()


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        (
            ["ml/train-0"],
            "The gang ml/train is not scheduled: 7 of 8 members find a node, 8 are needed; the other one lacks "
            "1 nvidia.com/gpu.",
        ),
        (
            ["ml/train-0", "--cordon", "gpu-1"],
            "The gang ml/train is not scheduled: 4 of 8 members find a node, 8 are needed; the other 4 lack "
            "1 nvidia.com/gpu each.",
        ),
        (
            ["ml/ring-3"],
            "The gang ml/ring is not scheduled: in rack r1, where most fit, 5 of 6 members find a node, 6 are needed; "
            "the other one lacks 1 nvidia.com/gpu.",
        ),
        (
            ["ml/sweep-0"],
            "ml/sweep-0 is not tried: waiting for minCount pods from a gang to appear in scheduling queue; 3 of the 8 "
            "pods that gang ml/sweep needs exist. By itself it would fit on 4 of 4 nodes.",
        ),
        (
            ["ml/eval-0"],
            'ml/eval-0 is not tried: waiting for pods\'s pod group "eval" to appear in scheduling queue; PodGroup '
            "ml/eval does not exist. By itself it would fit on 4 of 4 nodes.",
        ),
        (
            ["podgroup/train", "-n", "ml"],
            "The gang ml/train is not scheduled: 7 of 8 members find a node, 8 are needed; the other one lacks "
            "1 nvidia.com/gpu.",
        ),
        (
            ["job/train", "-n", "ml"],
            "Job ml/train, 8 pods: The gang ml/train is not scheduled: 7 of 8 members find a node, 8 are needed; the "
            "other one lacks 1 nvidia.com/gpu.",
        ),
        (
            ["-f", str(GANGS / "manifests" / "urgent.yaml")],
            "Job ml/urgent, 4 pods: The gang ml/urgent is not scheduled: 2 of 4 members find a node, 4 are needed; the "
            "other 2 lack 1 nvidia.com/gpu each. Preemption helps: it evicts 2 pods for the group.",
        ),
    ],
)
def test_the_first_line_is_about_the_group(asked: list[str], first: str) -> None:
    assert explained(*asked)[0] == first


@pytest.mark.parametrize("names", [("ml/eval-0", "podgroup/train"), ("podgroup/train", "ml/eval-0")])
def test_answers_have_the_order_of_the_arguments(names: tuple[str, str]) -> None:
    told = [line.split()[0:3] for line in explained(*names, "-n", "ml") if line.startswith(("ml/", "The gang "))]
    expected = {"ml/eval-0": ["ml/eval-0", "is", "not"], "podgroup/train": ["The", "gang", "ml/train"]}
    assert told == [expected[name] for name in names]


@pytest.mark.parametrize("pod", [f"ml/train-{number}" for number in range(7)])
def test_every_member_gets_the_same_answer(pod: str) -> None:
    asked, other = explained(pod), explained("ml/train-0")
    assert asked[0] == other[0]
    assert [line for line in asked if line.startswith("  ")] == [line for line in other if line.startswith("  ")]


@pytest.mark.parametrize(
    ("asked", "suggestions"),
    [
        (
            ["ml/train-0", "--cordon", "gpu-1"],
            {
                "add a node like gpu-1": "8 members are scheduled",
                "add a node like gpu-3": "8 members are scheduled",
                "make room for 4 members: delete 4 pods": "evicts ml/batch-0, ml/batch-1, ml/batch-2 and ml/batch-3, "
                "then 8 members are scheduled",
                "minCount 4 instead of 8 in PodGroup train": "4 members are scheduled",
            },
        ),
        (
            ["ml/ring-0"],
            {
                "add a node like gpu-1": "6 members are scheduled",
                "add a node like gpu-3": "6 members are scheduled",
                "free 1 nvidia.com/gpu on gpu-2: delete ml/batch-0": "evicts ml/batch-0, then 6 members are scheduled",
                "minCount 5 instead of 6 in PodGroup ring": "5 members are scheduled",
            },
        ),
        (
            ["ml/sweep-0"],
            {
                "let Job sweep make 5 more pods: minCount is 8": "not tried: a controller creates the pods; of 8 like "
                "these, 7 would find a node",
                "minCount 3 instead of 8 in PodGroup sweep": "3 members are scheduled",
            },
        ),
    ],
)
def test_suggestions_are_proven_for_the_whole_group(asked: list[str], suggestions: dict[str, str]) -> None:
    lines = explained(*asked)
    begin = next(i for i, line in enumerate(lines) if line.startswith("Suggestions")) + 2
    rows = [line.split("  ") for line in lines[begin : lines.index("", begin)]]
    found = {parts[0].strip(): parts[-1].strip() for row in rows if (parts := [part for part in row[2:] if part])}
    assert found == suggestions


def test_a_suggestion_for_a_member_that_does_not_wait_deletes_no_pod_of_a_group_that_ends_as_a_whole() -> None:
    assert not [line for line in explained("ml/train-0") if "ml/serve" in line and "delete" in line]


@pytest.mark.parametrize(
    ("gates", "outcome"), [(None, "unschedulable"), ({"GenericWorkload": False}, "scheduled")], ids=["shown", "given"]
)
def test_pod_groups_show_that_their_gates_are_on(gates: dict[str, bool] | None, outcome: str) -> None:
    cluster = load_engine(GANGS / "cluster", feature_gates=gates)
    assert cluster.decide("ml/train-0").outcome == outcome
    assert cluster.release_choice.shown_gates == (
        () if gates else ("GenericWorkload", "TopologyAwareWorkloadScheduling")
    )


def test_gates_that_depend_on_one_that_is_given_as_off_are_off() -> None:
    cluster = load_engine(GANGS / "cluster", kubernetes_version="1.36", feature_gates={"GangScheduling": False})
    assert cluster.release_choice.shown_gates == ("GenericWorkload", "TopologyAwareWorkloadScheduling")
    assert cluster.decide("ml/train-0").outcome == "scheduled"


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (
            ["podgroup/trian", "-n", "ml"],
            "no pod of the snapshot is in PodGroup ml/trian\n  did you mean podgroup/train?",
        ),
        (
            ["podgroups/train"],
            "no pod of the snapshot is in PodGroup default/train\n  the snapshot has podgroups/ml/train",
        ),
    ],
)
def test_a_group_that_no_pod_names(asked: list[str], error: str) -> None:
    done = run("explain", *asked, *SNAPSHOT)
    assert (done.code, done.err.strip()) == (2, f"error: {error}")


def snapshot_of_workload(folder: Path, message: str) -> str:
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "a"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    status = {"replicas": 0, "conditions": [failure] if message else []}
    kinds = [("Deployment", "web", [], {"replicas": 0}), ("ReplicaSet", "web-1", [owner], status)]
    items = [
        {"apiVersion": "apps/v1", "kind": kind, "spec": spec, "status": has}
        | {"metadata": {"name": name, "namespace": "default", "ownerReferences": owners}}
        for kind, name, owners, has in kinds
    ]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    offers = {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [{**node, **offers}, *items]}))
    return str(path)


def test_a_workload_whose_pods_are_refused(tmp_path: Path) -> None:
    """The pod would fit, and there is none: the first line says why, and the answer is no."""
    path = snapshot_of_workload(tmp_path, 'pods "web-" is forbidden: no PriorityClass with name hihg was found')
    shown = run("explain", "deploy/web", "--snapshot", path)
    assert shown.code == 1
    assert shown.out.startswith(
        "Deployment default/web has 0 of 3 replicas: the PriorityClass hihg of its pods does not exist; once created, "
        "one of them: default/web-"
    )
    assert "1  create PriorityClass hihg, or correct priorityClassName" in shown.out
    answer = json.loads(run("explain", "deploy/web", "--snapshot", path, "-o", "json").out)
    assert answer["workload"]["held"].startswith("has 0 of 3 replicas: the PriorityClass hihg")


def test_a_workload_that_lacks_nothing(tmp_path: Path) -> None:
    assert run("explain", "deploy/web", "--snapshot", snapshot_of_workload(tmp_path, "")).code == 0
