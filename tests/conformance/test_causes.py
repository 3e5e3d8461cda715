"""Differences in many cases are few kinds of difference."""

from typing import Any

import pytest

from conformance.asking import ours
from conformance.causes import causes
from conformance.differing import Difference, difference
from conformance.jsonlines import read
from conformance.recordings import RECORDINGS

CASE = {"id": "x-1", "objects": [{"kind": "Node", "metadata": {"name": name}} for name in ("node-1", "node-2")]}


def of(expected: dict[str, Any], said: dict[str, Any], name: str = "x-1") -> Difference:
    found = difference({**CASE, "id": name}, expected, said)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("expected", "said", "texts"),
    [
        (
            {"scores": {"node-1": {"raw": {"A": 17}}, "node-2": {"raw": {"A": 3}}}},
            {"scores": {"node-1": {"raw": {}}, "node-2": {"raw": {}}}},
            ["scores.*.raw.A: a number, nothing"],
        ),
        (
            {"filter": {"node-2": {"plugin": "B", "reasons": ["Insufficient example.com/gpu"]}}},
            {"filter": {"node-2": {"plugin": "B", "reasons": ["Too many pods"]}}},
            ['filter.*.reasons.*: "Insufficient example.com/*", "Too many pods"'],
        ),
        ({"best": ["node-1"], "scores": {"node-1": 1}}, {"best": [], "scores": {}}, ["scores.*: a number, nothing"]),
        ({"best": ["node-1"]}, {"best": []}, ['best.*: "node-*", nothing']),
        (
            {"preemption": {"status": {"reasons": ["preemption: no"]}}},
            {"preemption": {"status": {"reasons": ["not schedulable", "preemption: no"]}}},
            ['preemption.status.reasons.*: nothing, "not schedulable"'],
        ),
        (
            {"scores": {"node-1": {"raw": {"A": 1}, "weighted": {"A": 2}, "total": 2}}},
            {"scores": {"node-1": {"raw": {"A": 2}, "weighted": {"A": 4}, "total": 4}}},
            ["scores.*.raw.A: a number, a number"],
        ),
        ({"error": "x"}, {}, ["error: true, false"]),
    ],
    ids=[
        "nodes and numbers",
        "names in texts",
        "without what follows",
        "only what follows",
        "one reason of several",
        "raw scores before the others",
        "an error",
    ],
)
def test_names_and_numbers_do_not_count(expected: dict[str, Any], said: dict[str, Any], texts: list[str]) -> None:
    assert [text for text, _ in causes([of(expected, said)])] == texts


def test_the_most_frequent_difference_is_first_and_names_its_cases() -> None:
    few = of({"preEnqueue": {"code": "Skip"}}, {}, "x-1")
    many = [of({"scores": {"node-1": n}}, {"scores": {"node-1": -n}}, f"x-{n}") for n in (2, 3)]
    assert causes([few, *many]) == [
        ("scores.*: a number, a number", ["x-2", "x-3"]),
        ('gates: {code: "Skip"}, nothing', ["x-1"]),
    ]


def test_what_a_release_changed() -> None:
    """Two releases of our own stand for the two reference schedulers; StorageCapacityScoring is on from 1.37 on."""
    cases = list(read(RECORDINGS / "cases" / "config.jsonl.gz"))[:20]
    newer, older = ours("1.37"), ours("1.36")
    found = [each for case in cases if (each := difference(case, newer(case), older(case))) is not None]
    texts = [text for text, _ in causes(found)]
    assert "scores.*.raw.VolumeBinding: a number, nothing" in texts
    assert len(texts) < len(found)
