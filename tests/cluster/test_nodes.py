from __future__ import annotations

from tests.builders import make_cluster, make_node


def test_rows_and_names() -> None:
    nodes = make_cluster([make_node("b"), make_node("a")]).nodes
    assert nodes.names == ("b", "a")
    assert nodes.row == {"b": 0, "a": 1}
    assert nodes.rows.tolist() == [0, 1]


def test_equal_lists_of_taints_are_interned() -> None:
    tainted = [make_node(name, taints=["x:NoSchedule"]) for name in ("a", "c")]
    nodes = make_cluster([tainted[0], make_node("b"), tainted[1]]).nodes
    assert nodes.taint_list.tolist() == [0, 1, 0]
    assert [[str(taint) for taint in taints] for taints in nodes.taint_lists] == [["x:NoSchedule"], []]


def test_of_images_with_different_sizes_the_first_node_says_the_size() -> None:
    nodes = make_cluster([make_node("a", images={"x:1": 10}), make_node("b"), make_node("c", images={"x:1": 20})]).nodes
    holders, size = nodes.images["x:1"]
    assert (holders.tolist(), size) == ([0, 2], 10)
