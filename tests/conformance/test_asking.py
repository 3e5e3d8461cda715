import sys
from collections.abc import Iterator

import pytest

from conformance.asking import Judge, ours
from conformance.differing import compared
from conformance.jsonlines import Object
from conformance.recording import record

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
