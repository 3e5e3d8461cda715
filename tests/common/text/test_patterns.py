"""Regular expressions that are compiled when they are first used."""

import re

import pytest

from kschedctl.common.text.patterns import pattern


def test_attributes_are_those_of_a_compiled_expression() -> None:
    words = pattern(r"(?P<first>[a-z])[a-z]*", re.IGNORECASE)
    assert words.findall("One two") == ["O", "t"]
    found = words.fullmatch("One")
    assert found is not None
    assert found["first"] == "O"
    assert (words.pattern, words.groups, dict(words.groupindex)) == (r"(?P<first>[a-z])[a-z]*", 1, {"first": 1})
    assert words.sub("-", "One two") == "- -"
    assert pattern(rb"\s+").split(b"a  b") == [b"a", b"b"]


def test_wrong_expression_is_an_error_when_it_is_used() -> None:
    wrong = pattern("(")
    with pytest.raises(re.error, match="missing"):
        wrong.search("")
    with pytest.raises(AttributeError):
        wrong._nonsense  # type: ignore[attr-defined]  # noqa: B018
