"""Numbering worlds anew, and tables of pods in worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kschedctl.cluster.worlds import Numbering, PodsInWorlds


def ids(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


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
