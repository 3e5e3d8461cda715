"""Three nodes with a pod each; the worlds of an overlay in which pods are added, removed and nominated."""

from typing import Any

import numpy as np
import pytest

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Numbering, Overlay, PodsInWorlds, Selection
from tests.builders import make_cluster, make_node, make_pod


def ids(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


def sample() -> Cluster:
    """Three nodes with a pod each of 1, 2 and 3 CPU."""
    pods = [make_pod(f"p{i}", node=f"n{i}", requests={"cpu": i + 1}) for i in range(3)]
    return make_cluster([make_node(f"n{i}") for i in range(3)], pods)


def cpu(overlay: Overlay) -> list[int]:
    """By how many CPU the worlds differ from the snapshot."""
    return [int(amount) for amount in overlay.delta("cpu", ids(1, 2, 3))]


def test_without_changes_it_is_the_snapshot() -> None:
    overlay = sample().overlay()
    assert not overlay.changed
    assert overlay.rows.tolist() == [0, 1, 2]
    assert cpu(overlay) == [0]
    assert overlay.changes() == []


def test_adding_and_removing() -> None:
    overlay = sample().overlay()
    overlay.remove(ids(0, 1), ids(0, 1))
    overlay.add(ids(1, 1), ids(2, 0))
    assert cpu(overlay) == [-1, -2 + 3 + 1, 0]
    assert overlay.changed
    assert [(worlds.tolist(), pods.tolist(), sign) for worlds, pods, sign in overlay.changes()] == [
        ([0, 1], [0, 1], -1),
        ([1, 1], [2, 0], 1),
    ]


def test_changes_of_nothing_are_none() -> None:
    overlay = sample().overlay()
    overlay.add(ids(), ids())
    assert not overlay.changed


def test_changes_after_a_sum_was_asked_for_are_counted() -> None:
    overlay = sample().overlay()
    overlay.remove(ids(2), ids(2))
    assert cpu(overlay) == [0, 0, -3]
    overlay.add(ids(0), ids(1))
    assert cpu(overlay) == [2, 0, -3]


def test_sums_of_different_keys_are_kept_apart() -> None:
    overlay = sample().overlay()
    overlay.remove(ids(1), ids(1))
    assert cpu(overlay) == [0, -2, 0]
    assert overlay.delta("pods", ids(1, 1, 1)).tolist() == [0, -1, 0]


def test_worlds_of_some_rows() -> None:
    overlay = sample().overlay(ids(2, 0))
    overlay.remove(ids(0), ids(2))
    assert len(overlay) == 2
    assert cpu(overlay) == [-3, 0]


def test_a_copy_goes_its_own_way() -> None:
    overlay = sample().overlay()
    overlay.remove(ids(0), ids(0))
    assert cpu(overlay) == [-1, 0, 0]
    copy = overlay.select(np.array([True, True, True])).overlay
    copy.remove(ids(1), ids(1))
    overlay.remove(ids(2), ids(2))
    assert cpu(copy) == [-1, -2, 0]
    assert cpu(overlay) == [-1, 0, -3]


def test_selecting_worlds_keeps_their_changes_and_sums() -> None:
    overlay = sample().overlay()
    overlay.remove(ids(0, 1, 2), ids(0, 1, 2))
    overlay.add(ids(2), ids(0))
    assert cpu(overlay) == [-1, -2, -2]
    chosen = overlay.select(np.array([False, True, True])).overlay
    assert chosen.rows.tolist() == [1, 2]
    assert cpu(chosen) == [-2, -2]
    chosen.add(ids(0), ids(2))
    assert cpu(chosen) == [1, -2]
    assert chosen.delta("pods", ids(1, 1, 1)).tolist() == [0, 0]
    assert cpu(overlay) == [-1, -2, -2]


def test_a_selection_knows_the_way_back() -> None:
    chosen = sample().overlay(ids(2, 0, 1)).select(np.array([True, False, True]))
    assert (chosen.originals.tolist(), chosen.rows.tolist()) == ([0, 2], [2, 1])
    again = chosen.select(np.array([False, True]))
    assert (again.originals.tolist(), again.rows.tolist(), len(again)) == ([2], [1], 1)


def test_the_selection_of_everything_is_the_overlay_itself() -> None:
    overlay = sample().overlay(ids(2, 0))
    everything = Selection.everything(overlay)
    assert everything.overlay is overlay
    assert everything.originals.tolist() == [0, 1]


def nominating() -> Cluster:
    """The nodes of ``sample``; a pod of 4 CPU is nominated to n1, pods of 5 and 6 CPU to n2."""
    pods = [make_pod(f"p{i}", node=f"n{i}", requests={"cpu": i + 1}) for i in range(3)]
    pods += [make_pod(f"w{i}", nominated=f"n{node}", requests={"cpu": 4 + i}) for i, node in enumerate((1, 2, 2))]
    return make_cluster([make_node(f"n{i}") for i in range(3)], pods)


WAITING = ids(3, 4, 5)


def both(overlay: Overlay) -> tuple[list[int], dict[int, int]]:
    """By how many CPU the worlds differ; and per world that has nominated pods, by how many with these in place."""
    per_class = ids(1, 2, 3, 4, 5, 6)
    alone = np.broadcast_to(overlay.delta("cpu", per_class), len(overlay)).tolist()
    if overlay.nominated is None:
        return alone, {}
    again = overlay.nominated.overlay.delta("cpu", per_class).tolist()
    return alone, dict(zip(overlay.nominated.originals.tolist(), again, strict=True))


@pytest.mark.parametrize(
    ("rows", "nominated", "expected"),
    [
        pytest.param(ids(0, 1, 2), WAITING, ([0, 0, 0], {1: 4, 2: 11}), id="they count on their node"),
        pytest.param(ids(2, 0), WAITING, ([0, 0], {0: 11}), id="in the world that is about it"),
        pytest.param(ids(1, 2), ids(4), ([0, 0], {1: 5}), id="only those that are named"),
        pytest.param(ids(0), WAITING, ([0], {}), id="those of other nodes do not count"),
        pytest.param(ids(0, 1), ids(), ([0, 0], {}), id="there are none"),
    ],
)
def test_nominated_pods(rows: Any, nominated: Any, expected: tuple[list[int], dict[int, int]]) -> None:
    assert both(nominating().overlay(rows, nominated)) == expected


def test_what_is_changed_is_changed_with_nominated_pods_too() -> None:
    overlay = nominating().overlay(nominated=WAITING)
    overlay.remove(ids(0, 1), ids(0, 1))
    overlay.add(ids(2, 1), ids(0, 0))
    assert both(overlay) == ([-1, -2 + 1, 1], {1: 4 - 2 + 1, 2: 11 + 1})


def test_nominated_pods_come_after_all_other_changes() -> None:
    overlay = nominating().overlay(ids(1), WAITING)
    overlay.remove(ids(0), ids(1))
    assert overlay.nominated is not None
    changes = overlay.nominated.overlay.changes()
    assert [(worlds.tolist(), pods.tolist(), sign) for worlds, pods, sign in changes] == [([0], [1], -1), ([0], [3], 1)]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        pytest.param([False, True, True], ([-2, -3], {0: 2, 1: 8}), id="both with nominated pods"),
        pytest.param([True, False, True], ([-1, -3], {1: 8}), id="one of them"),
        pytest.param([True, False, False], ([-1], {}), id="neither"),
        pytest.param([False, False, False], ([], {}), id="none at all"),
    ],
)
def test_whoever_chooses_worlds_chooses_nominated_pods_along(
    kept: list[bool], expected: tuple[list[int], dict[int, int]]
) -> None:
    overlay = nominating().overlay(nominated=WAITING)
    overlay.remove(ids(0, 1, 2), ids(0, 1, 2))
    chosen = overlay.select(np.array(kept)).overlay
    assert both(chosen) == expected
    assert both(overlay) == ([-1, -2, -3], {1: 2, 2: 8})


def test_chosen_worlds_are_changed_on_their_own() -> None:
    overlay = nominating().overlay(nominated=WAITING)
    chosen = overlay.select(np.array([False, False, True])).overlay
    chosen.add(ids(0), ids(1))
    assert both(chosen) == ([2], {0: 13})
    assert both(overlay) == ([0, 0, 0], {1: 4, 2: 11})


#: World 0 is about node 7 and has pods 20 and 21, world 1 about node 3 has none, world 2 about node 5 has pod 22.
TABLE = PodsInWorlds(ids(7, 3, 5), ids(0, 0, 2), ids(20, 21, 22))


def rows(table: PodsInWorlds) -> dict[int, list[int]]:
    """The pods of each node."""
    return {int(row): [int(table.pods[e]) for e in table.entries(world)] for world, row in enumerate(table.rows)}


@pytest.mark.parametrize(
    ("indices", "kept", "numbers"),
    [
        pytest.param(ids(4, 0, 2), [True, True, True], [0, 1, 2], id="all chosen, in the order of choosing"),
        pytest.param(ids(1, 2, 3), [False, True, False], [2], id="some"),
        pytest.param(ids(0, 0), [True, True], [1, 1], id="the same twice"),
        pytest.param(ids(), [], [], id="nothing asked for"),
    ],
)
def test_finding_the_chosen(indices: Any, kept: list[bool], numbers: list[int]) -> None:
    found = Numbering.of(ids(4, 0, 2), 5).find(indices)
    assert [each.tolist() for each in found] == [kept, numbers]


def test_choosing_among_the_chosen_leads_back_to_the_first() -> None:
    chosen = Numbering.of(ids(4, 0, 2), 5).then(Numbering.of(ids(2, 0), 3))
    assert chosen.originals.tolist() == [2, 4]
    assert chosen.numbers.tolist() == [-1, -1, 0, -1, 1]


def test_entries_by_world() -> None:
    assert rows(TABLE) == {7: [20, 21], 3: [], 5: [22]}
    assert (len(TABLE), TABLE.n_worlds) == (3, 3)
    assert TABLE.counts.tolist() == [2, 0, 1]
    assert TABLE.first[TABLE.counts > 0].tolist() == [0, 2]


def test_keeping_entries_leaves_the_worlds() -> None:
    assert rows(TABLE.keep(np.array([False, True, False]))) == {7: [21], 3: [], 5: []}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        pytest.param(ids(0, 1, 2), {7: [20, 21], 3: [], 5: [22]}, id="all"),
        pytest.param(ids(1, 2), {3: [], 5: [22]}, id="some"),
        pytest.param(ids(1), {3: []}, id="one without entries"),
        pytest.param(ids(), {}, id="none"),
    ],
)
def test_the_entries_of_some_worlds(chosen: Any, expected: dict[int, list[int]]) -> None:
    assert rows(TABLE.among(Numbering.of(chosen, 3))) == expected
