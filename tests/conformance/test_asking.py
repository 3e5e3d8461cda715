"""Asking the judge and ourselves, and the few kinds of difference that many cases have."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.asking import Judge, ours
from conformance.causes import causes
from conformance.differing import Difference, compared, difference
from conformance.jsonlines import Object, read
from conformance.recording import record
from conformance.recordings import RECORDINGS

#: A program that answers as the judge does: what it should do stands in the case.
PROGRAM = """
import json, os, sys
for text in sys.stdin:
    case = json.loads(text)
    if case.get("crash"):
        os.write(2, b"panic: a nil pointer\\ngoroutine 1\\n")
        os._exit(2)
    answer = {"id": case["id"], "best": [os.urandom(8).hex() if case.get("chance") else "a"]}
    print(json.dumps({"id": case["id"], "unknown": "no such kind"} if case.get("unknown") else answer), flush=True)
"""


@pytest.fixture
def judge() -> Iterator[Judge]:
    with Judge([sys.executable, "-c", PROGRAM]) as running:
        yield running


def test_one_case_after_the_other(judge: Judge) -> None:
    assert judge({"id": "x"}) == {"id": "x", "best": ["a"]}
    assert judge({"id": "y"}) == {"id": "y", "best": ["a"]}


def test_many_cases_keep_their_order(judge: Judge) -> None:
    cases: list[Object] = [{"id": str(i)} for i in range(100)]
    assert [answer["id"] for answer in judge.ask(cases)] == [case["id"] for case in cases]


def test_a_crash_costs_the_case_that_crashes_only(judge: Judge) -> None:
    cases: list[Object] = [{"id": str(i), "crash": i == 11} for i in range(20)]
    answers = {answer["id"]: answer for answer in judge.ask(cases)}
    assert list(answers) == [case["id"] for case in cases]
    assert answers.pop("11") == {"id": "11", "unknown": "the scheduler crashes: panic: a nil pointer"}
    assert all(answer["best"] == ["a"] for answer in answers.values())


def test_a_crash_at_the_end(judge: Judge) -> None:
    cases: list[Object] = [{"id": "1"}, {"id": "2", "crash": True}]
    assert [sorted(answer) for answer in judge.ask(cases)] == [["best", "id"], ["id", "unknown"]]


def test_what_hangs_on_chance_or_cannot_be_asked_is_not_recorded(judge: Judge) -> None:
    cases: list[Object] = [
        {"id": "x"},
        {"id": "y", "chance": True},
        {"id": "z", "unknown": True},
        {"id": "c", "crash": True},
    ]
    assert [case["id"] for case, _ in record(cases, judge)] == ["x"]


def test_cases_that_cannot_be_asked_are_not_compared(judge: Judge) -> None:
    cases: list[Object] = [{"id": "x"}, {"id": "z", "unknown": True}]
    equal = list(compared(cases, judge, lambda case: {"id": case["id"], "best": ["a"]}))
    assert equal == [(cases[0], None)]
    ((_, differing),) = compared(cases, judge, lambda case: {"notModelled": ["extenders"]})
    assert differing is not None
    assert differing.parts == {"best": 'judge ["a"], ours []'}
    assert differing.not_modelled == ("extenders",)


def test_a_difference_that_hangs_on_chance_is_none(judge: Judge) -> None:
    assert list(compared([{"id": "x", "chance": True}], judge, lambda case: {"best": ["b"]})) == []


def test_ours_answers_what_is_not_a_case_with_an_error() -> None:
    assert set(ours("1.36")({"id": "x"})) == {"id", "error"}


def test_ours_answers_a_sequence_with_its_attempts() -> None:
    pods = [{"metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}} for name in ("a", "b")]
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "1", "pods": "1"}},
    }
    said = ours("1.36")({"id": "s", "objects": [node], "pods": pods})
    assert [attempt["pod"] for attempt in said["attempts"]] == ["default/a", "default/b"]
    assert said["pods"] == {"default/a": "n", "default/b": ""}
    assert set(ours("1.36")({"id": "s", "pods": [{"metadata": 1}]})) == {"id", "error"}


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
