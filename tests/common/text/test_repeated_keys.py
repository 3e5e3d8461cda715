"""Keys that are given twice, with where they are."""

from __future__ import annotations

import pytest

from kschedctl.common.findings.location import Position
from kschedctl.common.text.repeated_keys import RepeatedKey, repeated_in_json, repeated_in_yaml


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb: 2\n", [], id="none"),
        pytest.param("a: 1\na: 2\n", [(1, ("a",), (2, 1))], id="at the root"),
        pytest.param("a: 1\n'a': 2\n", [(1, ("a",), (2, 1))], id="quoted"),
        pytest.param("- {a: 1}\n- {a: 1, a: 2}\n", [(1, (1, "a"), (2, 10))], id="in a list"),
        pytest.param("x: {a: 1}\ny: {a: 1}\n", [], id="one in each of two"),
        pytest.param("a: 1\n---\na: 1\n---\nb:\n  c: 1\n  c: 2\n", [(3, ("b", "c"), (7, 3))], id="documents"),
        pytest.param("x: &x {a: 1}\ny:\n  <<: *x\n  a: 2\n  <<: *x\n", [], id="merged keys are overridden"),
        pytest.param("a: &a [1]\nb: *a\nb: 2\n", [(1, ("b",), (3, 1))], id="after an alias"),
        pytest.param("a: 1\na: 2\n---\n{", [(1, ("a",), (2, 1))], id="before what is broken"),
        pytest.param("? [a]\n: 1\n", [], id="keys that none can read"),
    ],
)
def test_in_yaml(text: str, expected: list[tuple[int, tuple[str | int, ...], tuple[int, int]]]) -> None:
    found = list(repeated_in_yaml(text.encode()))
    assert found == [(number, RepeatedKey(steps, Position(*at))) for number, steps, at in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a": 1, "b": {"a": 1}}', [], id="none"),
        pytest.param('{"a": [0, {"b": 1, "b": 2, "c": 1, "c": 3}]}', [("a", 1, "b"), ("a", 1, "c")], id="in a list"),
        pytest.param(b'{"a": "\xf2", "a": %s}' % (b"1" * 5000), [("a",)], id="beside what is no text, and no number"),
        pytest.param('{"z": {"a": 1, "a": 2}, "b": {"a": 1, "a": 2}}', [("z", "a"), ("b", "a")], id="in their order"),
    ],
)
def test_in_json(text: str | bytes, expected: list[tuple[str | int, ...]]) -> None:
    assert [key.steps for key in repeated_in_json(text.encode() if isinstance(text, str) else text)] == expected
