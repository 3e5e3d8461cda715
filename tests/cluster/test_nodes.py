from kschedctl.cluster.nodes import Nodes
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
    assert holders(nodes, "x:1") == ([0, 2], 10)
    assert holders(nodes, "y:1") is None


def test_images_of_nodes_that_come_go_and_change_are_those_of_nodes_read_anew() -> None:
    named = {name: make_node(name, images={"x:1": size}) for name, size in (("a", 10), ("b", 20), ("c", 30))}
    plain = [make_node(f"n{i}") for i in range(20)]
    nodes = Nodes((*named.values(), *plain))
    assert holders(nodes, "x:1") == ([0, 1, 2], 10)
    gone = nodes.moved((named["b"], *plain, named["c"]))
    assert holders(gone, "x:1") == ([0, 21], 20)
    changed = gone.moved((make_node("b", images={"y:1": 5}), *plain, named["c"], named["a"]))
    assert (holders(changed, "x:1"), holders(changed, "y:1")) == (([21, 22], 30), ([0], 5))


def holders(nodes: Nodes, image: str) -> tuple[list[int], int] | None:
    """The rows of the nodes that have an image, and its size."""
    found = nodes.images.get(image)
    return None if found is None else (found[0].tolist(), found[1])
