"""The search for feasible nodes in the answer of ``explain``, with and without samples."""

from typing import Any

import pytest

from kschedctl.objects.core import Node
from kschedctl.objects.pod import Pod
from kschedctl.questions.explain.document import ExplainView, document
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.cycle.outcome import SearchScope
from tests.builders import make_cluster, make_loaded, make_node, make_pod, scheduling_cluster
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
