"""Expressions of steps, worked out."""

import pytest

from kschedctl.testing.plugin_checks import work_out


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("100 - 100 * 1 // 3", 67),
        ("(0 - 7) // 2", -3),
        ("-7 // 2", -3),
        ("7 / 2", 3.5),
        ("round(2.5) + round(-2.5)", 0),
        ("trunc(-2.5)", -2),
        ("round(4 * log(5 + 2) + (5 - 1))", 12),
        ("sqrt(4) + abs(-1) + min(3, 1.0) + max(1, 2)", 6.0),
        ("2 * half", 1.0),
    ],
)
def test_values(expression: str, value: float) -> None:
    found = work_out(expression, {"half": 0.5})
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("2 +", "is not an expression"),
        ("2 ** 3", "is not allowed in an expression"),
        ("open(1)", "is not allowed in an expression"),
        ("whole", "no earlier step is named whole"),
        ("7.5 // 2", "// divides whole numbers, not 7.5"),
        ("7 // 2.0", "// divides whole numbers, not by 2.0"),
        ("True", "is not allowed in an expression"),
        ("'a'", "is not allowed in an expression"),
    ],
)
def test_what_is_no_expression(expression: str, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        work_out(expression, {})
