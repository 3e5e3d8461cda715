"""The data of all nodes, made together, are those of each node made by itself."""

import pickle

from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.text.json_text import encoded_json
from kschedctl.questions.answer import encode_part
from kschedctl.questions.explain.answer import LeadData, NodeScoreData, PluginScoreData, ScoresData
from kschedctl.questions.explain.node_results import node_data, nodes_data, scores_data, some_nodes_data
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.trials.whatif.nodes import cordoned
from tests.builders import ZONE, decide, make_cluster, make_node, make_pod
from tests.strategies import World, worlds


def scores_one_by_one(decision: Decision) -> ScoresData | None:
    scores = decision.scores
    if scores is None:
        return None
    nodes = [
        NodeScoreData(
            decision.cluster.nodes.names[row],
            int(scores.total[i]),
            {
                name: PluginScoreData(int(raw[i]), normalized := int(scores.normalized[name][i]), normalized * weight)
                for (name, raw), weight in zip(scores.raw.items(), scores.weights.values(), strict=True)
            },
        )
        for i, row in enumerate(scores.rows.tolist())
    ]
    nodes.sort(key=lambda node: (-node.total, node.name))
    behind = [node for node in nodes if node.total < nodes[0].total]
    lead = None
    if behind:
        points = {name: own.weighted - behind[0].plugins[name].weighted for name, own in nodes[0].plugins.items()}
        lead = LeadData(
            tuple(node.name for node in behind if node.total == behind[0].total),
            nodes[0].total - behind[0].total,
            {name: n for name, n in points.items() if n},
        )
    return ScoresData(dict(scores.weights), tuple(nodes), lead)


@given(worlds("requests", "spread", "podAffinity", "tolerations", of_nodes=("labels", "taints")), st.data())
def test_nodes_together_and_one_by_one(world: World, data: st.DataObject) -> None:
    pod = data.draw(st.sampled_from([*world.pods, make_pod("plain"), make_pod("large", requests={"cpu": "3"})]))
    cluster = make_cluster(world.nodes, world.pods)
    for _ in range(2):
        decision = decide(pod, cluster)
        rows = range(len(cluster.nodes)) if decision.statuses is not None else ()
        one_by_one = tuple(node_data(decision, row) for row in rows)
        assert nodes_data(decision) == one_by_one
        assert tuple(some_nodes_data(decision, rows)) == one_by_one
        scores, expected = scores_data(decision), scores_one_by_one(decision)
        assert scores == expected
        assert encoded_json(scores, encode_part) == encoded_json(expected, encode_part)
        # The derived cluster carries the zones of its other nodes along.
        cluster = cordoned(cluster, range(0, len(cluster.nodes), 2))


def test_the_scores_are_a_sequence() -> None:
    cluster = make_cluster([make_node("a", cpu="8"), make_node("b", cpu="4"), make_node("c", cpu="2")])
    scores = scores_data(decide(make_pod(requests={"cpu": "1"}), cluster))
    assert scores is not None
    nodes = scores.nodes
    assert [node.name for node in nodes] == ["a", "b", "c"]
    assert (nodes[1].name, nodes[-1].name, nodes[:2], nodes[5:]) == ("b", "c", tuple(nodes)[:2], ())
    assert nodes == pickle.loads(pickle.dumps(nodes))
    assert nodes != [*nodes]
    assert repr(nodes) == repr(tuple(nodes))


def test_a_text_that_is_not_utf_8_beside_the_results_becomes_a_replacement_character() -> None:
    decision = decide(make_pod(), make_cluster([make_node("a"), make_node("b")]))
    results = nodes_data(decision), scores_data(decision)
    plain, odd = (encoded_json((path, *results), encode_part) for path in ("caf\ufffd", "caf\udce9"))
    assert plain == odd


def test_a_nominated_pod_counts() -> None:
    nominated = make_pod("first", requests={"cpu": "3"}, status={"nominatedNodeName": "a"}, priority=5)
    cluster = make_cluster([make_node("a"), make_node("b", cpu="1"), make_node("c")], [nominated])
    decision = decide(make_pod(requests={"cpu": "2"}), cluster)
    data = nodes_data(decision)
    assert data == tuple(node_data(decision, row) for row in range(3))
    assert [(node.name, node.fits, node.plugin) for node in data] == [
        ("a", False, "NodeResourcesFit"),
        ("b", False, "NodeResourcesFit"),
        ("c", True, ""),
    ]


def test_answers_for_a_cluster_share_the_nodes_that_fit() -> None:
    cluster = make_cluster([make_node("a", labels={ZONE: "z"}), make_node("b", taints=["x=y:NoSchedule"])])
    first, second = (nodes_data(decide(make_pod(name), cluster)) for name in ("p", "q"))
    assert first[0] is second[0]
    assert (first[0].zone, first[1].fits) == ("z", False)


def test_the_nodes_that_fit_are_a_sequence_with_the_json_of_its_items() -> None:
    cluster = make_cluster([make_node("a", labels={ZONE: "z"}), make_node("b")])
    nodes = nodes_data(decide(make_pod(), cluster))
    items = tuple(node_data(decide(make_pod(), cluster), row) for row in range(2))
    for _ in range(2):
        assert encoded_json(nodes, encode_part) == encoded_json(items)
        assert pickle.loads(pickle.dumps(nodes)) == nodes == items
    assert (nodes[-1].name, nodes[:1], repr(nodes)) == ("b", items[:1], repr(items))
