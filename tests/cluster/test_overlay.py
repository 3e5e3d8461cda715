from __future__ import annotations

from typing import Any

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.overlay import Overlay
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
    copy = overlay.copy()
    copy.remove(ids(1), ids(1))
    overlay.remove(ids(2), ids(2))
    assert cpu(copy) == [-1, -2, 0]
    assert cpu(overlay) == [-1, 0, -3]


def test_selecting_worlds_keeps_their_changes_and_sums() -> None:
    overlay = sample().overlay()
    overlay.remove(ids(0, 1, 2), ids(0, 1, 2))
    overlay.add(ids(2), ids(0))
    assert cpu(overlay) == [-1, -2, -2]
    selected = overlay.select(np.array([False, True, True]))
    assert selected.rows.tolist() == [1, 2]
    assert cpu(selected) == [-2, -2]
    selected.add(ids(0), ids(2))
    assert cpu(selected) == [1, -2]
    assert selected.delta("pods", ids(1, 1, 1)).tolist() == [0, 0]
    assert cpu(overlay) == [-1, -2, -2]
