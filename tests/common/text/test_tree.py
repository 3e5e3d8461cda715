"""The places of values: equal from both parsers where a text is JSON, and whole where only one value is needed."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.common.findings import Position
from kschedctl.common.text.tree import (
    RepeatedKey,
    Step,
    YamlNode,
    comments,
    json_tree,
    read_tree,
    repeated_in_json,
    repeated_in_yaml,
)
from tests.example_counts import scaled

TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["Cc"]), max_size=6)
SCALARS = st.one_of(TEXTS, st.integers(-9, 10**6), st.booleans(), st.none(), st.sampled_from([1.5, 1e30]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=10
)


def plain(node: YamlNode) -> Any:
    """Return everything that a node says."""
    children = {name: (at, plain(child)) for name, (at, child) in node.children.items()}
    flags = node.is_map, node.is_list, node.flow, node.anchor
    return node.start, node.end, flags, children, node.key_ends, node.borrowed, [plain(item) for item in node.elements]


@settings(max_examples=scaled(300))
@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_json_has_the_same_places_as_yaml(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps({"a": value}, indent=indent, ensure_ascii=ascii_only)
    other = read_tree(text.encode())
    assert other is not None
    assert plain(json_tree(text)) == plain(other)


def reach(node: YamlNode, steps: Sequence[Step]) -> YamlNode:
    for step in steps:
        node = node.children[step][1] if isinstance(step, str) else node.elements[step]
    return node


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("a: {b: 1}\nc: [{d: 1}, {d: [2, 3]}, {d: 4}]\n", ("c", 1)),
        ("a: &x {b: [1, 2]}\nc: [*x, {d: *x}, {d: 4}]\n", ("c", 1)),
        ("a: {b: &x [1, {e: 2}]}\nc: [{d: [1]}, {d: *x}]\n", ("c", 1)),
        ("a: &y\n  b:\n    e: &x {f: 1}\nb: {g: [*x]}\nc: [{d: [*x]}, {<<: *y, d: *x}]\n", ("c", 1)),
        ("a: [*x]\n", ("a",)),
        ("a: [[&x 1, *x], [*x]]\nb: [1, [*x]]\n", ("b", 1)),
        ("a:\n- b: [1, 2]\n  c: {d: 1}\n- b: 3\n  c: {d: [4]}\n", ("a", 1, "c")),
    ],
)
def test_a_value_is_whole_without_the_values_around_it(text: str, inside: tuple[Step, ...]) -> None:
    whole, part = read_tree(text.encode()), read_tree(text.encode(), 1, inside)
    assert (whole is None) == (part is None)
    if whole is not None and part is not None:
        assert plain(reach(part, inside)) == plain(reach(whole, inside))


def test_values_around_are_empty() -> None:
    part = read_tree(b"a: {b: [1, 2]}\nc: {d: 1}\n", 1, ("c",))
    assert part is not None
    assert dict(part.children["a"][1].children) == {}
    assert list(part.children["c"][1].children) == ["d"]


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# head\na: 1 # one\n", ["# head", "# one"]),
        ("a: 'x # y'\nb: x#y\nc: \"# z\"\n", []),
        ("a: |\n  # in the text\nb: 1\n# end", ["# end"]),
        (
            "a: [1, # first\n  2]  # list\n---\n# next\nb:\r\n  # inside\r\n",
            ["# first", "# list", "# next", "# inside"],
        ),
        ("", []),
    ],
)
def test_the_comments_of_a_text(text: str, found: list[str]) -> None:
    assert [comment.text for comment in comments(text)] == found
    assert [text[comment.start :][: len(comment.text)] for comment in comments(text)] == found
