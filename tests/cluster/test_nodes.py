from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kschedctl.cluster.labels import LabelColumns
from kschedctl.cluster.nodes import Nodes
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.selectors import Requirement, label_map_selector, matches, parse_label_selector
from tests.builders import ZONE, make_cluster, make_node
from tests.strategies import label_selectors, pod_labels


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


def test_the_first_of_two_entries_of_an_image_counts_before_and_after_many_images_were_asked_for() -> None:
    names = [f"x:{i}" for i in range(12)]
    twice = make_node("a", images=dict.fromkeys(names, 10))
    images = (*twice.status.images, *make_node("a", images=dict.fromkeys(names, 99)).status.images)
    twice = replace(twice, status=replace(twice.status, images=images))
    nodes = Nodes((make_node("n"), twice, make_node("b", images={"x:3": 30, "y": 1})))
    asked = [holders(nodes, name) for name in (*names, "y", "none")]
    assert asked[:3] + asked[4:] == [([1], 10)] * 11 + [([2], 1), None]
    assert asked[3] == ([1, 2], 10)
    assert [holders(Nodes(nodes.objects), name) for name in reversed((*names, "y", "none"))] == asked[::-1]


def test_keys_of_labels_of_nodes_that_come_go_and_change() -> None:
    nodes = Nodes((make_node("a", labels={"x": "1"}), make_node("b", labels={"y": "1"})))
    base = nodes.label_keys
    assert {"x", "y"} <= base
    more = nodes.moved((*nodes.objects, make_node("c", labels={"z": "1"})))
    assert more.label_keys == base | {"z"}
    assert more.moved((*nodes.objects, make_node("c"))).label_keys == base
    assert more.moved(more.objects[1:]).label_keys == (base | {"z"}) - {"x"}


def test_zones_of_nodes_that_come_go_and_change() -> None:
    named = {name: make_node(name, labels={ZONE: f"zone-{name}"}) for name in ("a", "b", "c")}
    nodes = Nodes((*named.values(), make_node("none")))
    assert nodes.zones == ("zone-a", "zone-b", "zone-c", "")
    gone = nodes.moved((named["c"], make_node("b", labels={ZONE: "other"})))
    assert (gone.names, gone.zones) == (("c", "b"), ("zone-c", "other"))
    assert gone.moved((named["c"], named["b"])).zones == ("zone-c", "zone-b")
    assert gone.moved(()).moved((named["a"],)).zones == ("zone-a",)
    assert nodes.moved(nodes.objects) is nodes


def holders(nodes: Nodes, image: str) -> tuple[list[int], int] | None:
    """The rows of the nodes that have an image, and its size."""
    found = nodes.images.get(image)
    return None if found is None else (found[0].tolist(), found[1])


ROWS = [{"app": "web", "tier": "1"}, {}, {"app": "db"}, {"app": "web"}]


def test_values_are_interned_in_order_of_appearance() -> None:
    column = LabelColumns(ROWS)["app"]
    assert column.values == ["web", "db"]
    assert column.codes.tolist() == [0, -1, 1, 0]
    assert column.present.tolist() == [True, False, True, True]


def test_a_label_that_no_row_has() -> None:
    column = LabelColumns(ROWS)["none"]
    assert column.values == []
    assert not column.present.any()
    assert column.holds(Requirement("none", "DoesNotExist")).all()


def test_all_requirements_of_a_selector_must_hold() -> None:
    found = LabelColumns(ROWS).matches(label_map_selector({"app": "web", "tier": "1"}))
    assert found.tolist() == [True, False, False, False]


def test_an_empty_selector_matches_every_row_and_no_rows_match_nothing() -> None:
    assert LabelColumns(ROWS).matches(()).tolist() == [True] * 4
    assert LabelColumns([]).matches(label_map_selector({"app": "web"})).shape == (0,)


def test_what_is_matched_does_not_change_what_is_kept() -> None:
    columns = LabelColumns(ROWS)
    selector = label_map_selector({"app": "web"})
    columns.matches(selector)[:] = False
    assert columns.matches(selector).tolist() == [True, False, False, True]


@given(st.lists(pod_labels, max_size=6), label_selectors)
def test_equals_matching_row_by_row(rows: list[dict[str, str]], written: dict[str, Any]) -> None:
    selector = parse_label_selector(msgspec.convert(written, LabelSelector))
    expected = [matches(selector, labels) for labels in rows]
    np.testing.assert_array_equal(LabelColumns(rows).matches(selector), np.array(expected, dtype=np.bool_))
