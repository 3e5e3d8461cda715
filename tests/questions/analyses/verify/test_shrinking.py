"""The fewest items and fields that still show something."""

from __future__ import annotations

import pytest

from kschedctl.questions.analyses.verify.shrinking import fewest, smallest_case


@pytest.mark.parametrize(
    ("items", "needed"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([1], [], id="one that is not needed"),
        pytest.param([1], [1], id="one that is"),
        pytest.param([1, 2, 3, 4, 5], [1, 5], id="the ends"),
        pytest.param(list(range(50)), [7, 8, 9, 40], id="a run and a single one"),
        pytest.param([1, 2, 3], [1, 2, 3], id="all"),
    ],
)
def test_the_items_that_are_needed_stay_in_their_order(items: list[int], needed: list[int]) -> None:
    assert fewest(items, lambda chosen: set(needed) <= set(chosen)) == needed


def test_few_questions_find_one_among_many() -> None:
    asked = []

    def keeps(chosen: list[int]) -> bool:
        asked.append(chosen)
        return 700 in chosen

    assert fewest(list(range(1000)), keeps) == [700]
    assert len(asked) < 60


def test_a_case_keeps_what_is_needed_and_who_its_objects_are() -> None:
    pod = {"kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"priority": 7, "hostNetwork": True}}
    case = {"id": "x", "objects": [{"kind": "Node"}, {"kind": "Pod"}], "pod": pod, "config": {"profiles": []}}
    assert smallest_case(case, lambda one: "priority" in one["pod"].get("spec", ())) == {
        "id": "x",
        "objects": [],
        "pod": {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"priority": 7}},
    }
