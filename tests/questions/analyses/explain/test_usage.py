"""The users of the capacity that a pod lacks: only nodes on which room alone would help count."""

from __future__ import annotations

from kschedctl.questions.analyses.explain.answer import node_data
from kschedctl.questions.analyses.explain.usage import usage_data
from tests.builders import decide, make_cluster, make_node, make_pod


def test_nodes_that_another_filter_rejects_do_not_count() -> None:
    nodes = [make_node("a"), make_node("tainted", taints=["x:NoSchedule"]), make_node("small", cpu="1")]
    pods = [make_pod(f"on-{node.name}", node=node.name, requests={"cpu": "1"}) for node in nodes]
    decision = decide(make_pod(requests={"cpu": "3500m"}), make_cluster(nodes, pods))
    found = usage_data(decision, [node_data(decision, row) for row in range(3)])
    assert found is not None
    assert (found.nodes, [owner.owner for owner in found.owners]) == (1, ["Pod default/on-a"])
