"""Axes: their values, and what is refused."""

from typing import Any

import pytest

from kschedctl.common.errors import InputError
from kschedctl.questions.sweep.plan import EDITS_BY_NAME, AxisPlan, NumberRange, read_axis
from kschedctl.trials.whatif.edits import EDITS


def span(first: float, to: float, step: float = 1) -> NumberRange:
    return NumberRange(first=first, to=to, step=step)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (span(1, 3), (1, 2, 3)),
        (span(1, 6, 2), (1, 3, 5)),
        (span(3, 1, -1), (3, 2, 1)),
        (span(0.1, 0.35, 0.1), (0.1, 0.2, 0.3)),
        (span(1, 2, 0.5), (1.0, 1.5, 2.0)),
        (span(2, 2), (2,)),
    ],
    ids=str,
)
def test_ranges(values: NumberRange, expected: tuple[float, ...]) -> None:
    found = read_axis("seed" if isinstance(expected[0], int) else "args.NodeResourcesFit.x", AxisPlan(values=values))
    assert found.values == expected
    assert [type(value) for value in found.values] == [type(value) for value in expected]


def test_a_value_is_put_into_its_place_and_a_list_is_several() -> None:
    axis = read_axis("n", AxisPlan(of="set-replicas", value="deploy/shop/web={}", values=(None, 3, (4, 5))))
    assert [axis.texts(value) for value in axis.values] == [
        (),
        ("deploy/shop/web=3",),
        ("deploy/shop/web=4", "deploy/shop/web=5"),
    ]


def test_every_what_if_of_the_command_line_is_an_axis() -> None:
    assert [f"--{name}" for name in EDITS_BY_NAME] == [edit.option.flag for edit in EDITS]


@pytest.mark.parametrize(
    ("name", "axis", "path", "problem"),
    [
        ("seed", (), "", "has no values"),
        ("seed", AxisPlan(values=()), "values", "has no values"),
        ("seed", AxisPlan(values=span(2, 1)), "values", "has no values"),
        ("seed", AxisPlan(values=span(1, 2, 0)), "values.step", "is not a step from the first number to the last"),
        ("seed", AxisPlan(values=span(0, 1e6)), "values", "1,000,001 values are too many"),
        ("fail-zones", ("a",), "", '"fail-zones" is not a parameter of an axis'),
        ("x", AxisPlan(of="weight", values=(1,)), "of", '"weight" is not a parameter of an axis'),
        ("x", AxisPlan(of="args.NodeResourcesFit", values=(1,)), "of", "not a parameter of an axis"),
        ("weight.NodeResourceFit", (1,), "", "there is no plugin NodeResourceFit"),
        ("weight.ImageLocality", (1, -1), "[1]", "-1 is not a weight"),
        ("weight.ImageLocality", (1.5,), "[0]", "1.5 is not a weight"),
        ("set-request", ("cpu=1", "cpu"), "[1]", '"cpu" lacks a resource or a quantity'),
        ("apply", ("-",), "[0]", "a plan cannot read from standard input"),
        (
            "n",
            AxisPlan(of="set-replicas", value="deploy/web=3", values=(1,)),
            "value",
            "does not contain {}, the place of the value",
        ),
        ("kubernetes-version", (1.36,), "[0]", "1.36 is not text"),
        ("feature-gates", ("A=perhaps",), "[0]", '"A=perhaps" is not NAME=true or NAME=false'),
        ("seed", ("one",), "[0]", "'one' is not a whole number"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_refused(name: str, axis: Any, path: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_axis(name, axis)
    (finding,) = caught.value.findings
    assert problem in finding.problem
    assert finding.field == path
