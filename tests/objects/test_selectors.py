from typing import Any

import msgspec
import pytest

from kschedctl.common.errors import InputError
from kschedctl.objects.meta import LabelSelector
from kschedctl.objects.selectors import (
    NodeSelectorTerm,
    NodeTerm,
    Requirement,
    SelectorError,
    label_map_selector,
    matches,
    parse_label_query,
    parse_label_selector,
    parse_node_term,
)


@pytest.mark.parametrize(
    ("requirement", "value", "holds"),
    [
        (Requirement("k", "In", ("a", "b")), "a", True),
        (Requirement("k", "In", ("a", "b")), "c", False),
        (Requirement("k", "In", ("",)), None, False),
        (Requirement("k", "NotIn", ("a",)), "b", True),
        (Requirement("k", "NotIn", ("a",)), "a", False),
        (Requirement("k", "NotIn", ("a",)), None, True),
        (Requirement("k", "Exists"), "", True),
        (Requirement("k", "Exists"), None, False),
        (Requirement("k", "DoesNotExist"), None, True),
        (Requirement("k", "DoesNotExist"), "", False),
        (Requirement("k", "Gt", ("4",)), "5", True),
        (Requirement("k", "Gt", ("4",)), "4", False),
        (Requirement("k", "Gt", ("-4",)), "-3", True),
        (Requirement("k", "Gt", ("4",)), "5.5", False),
        (Requirement("k", "Gt", ("4",)), None, False),
        (Requirement("k", "Gt", ("4",)), "99999999999999999999", False),
        (Requirement("k", "Lt", ("4",)), "3", True),
        (Requirement("k", "Lt", ("4",)), "4", False),
        (Requirement("k", "Lt", ("4",)), "few", False),
    ],
)
def test_requirements(requirement: Requirement, value: str | None, holds: bool) -> None:
    assert requirement.holds(value) is holds


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        (Requirement("app", "In", ("web",)), "app=web"),
        (Requirement("app", "In", ("web", "db")), "app in (web,db)"),
        (Requirement("app", "NotIn", ("web",)), "app notin (web)"),
        (Requirement("app", "Exists"), "app"),
        (Requirement("app", "DoesNotExist"), "!app"),
        (Requirement("cores", "Gt", ("4",)), "cores > 4"),
        (Requirement("cores", "Lt", ("4",)), "cores < 4"),
    ],
)
def test_words(requirement: Requirement, text: str) -> None:
    assert str(requirement) == text


def test_all_requirements_must_hold() -> None:
    selector = label_map_selector({"b": "2", "a": "1"})
    assert [requirement.key for requirement in selector] == ["a", "b"]
    assert matches(selector, {"a": "1", "b": "2", "c": "3"})
    assert not matches(selector, {"a": "1"})
    assert matches((), {})


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def test_labels_and_expressions_are_requirements_alike() -> None:
    written = {"matchLabels": {"app": "web"}, "matchExpressions": [expression("tier", "NotIn", "db", "cache")]}
    selector = parse_label_selector(msgspec.convert(written, LabelSelector))
    assert selector == (Requirement("app", "In", ("web",)), Requirement("tier", "NotIn", ("db", "cache")))


LONG = "x" * 64


@pytest.mark.parametrize(
    ("written", "path", "problem"),
    [
        pytest.param({"matchLabels": {"": "a"}}, "matchLabels.", '"" is not a label key', id="an empty key"),
        pytest.param({"matchLabels": {"-a": "a"}}, "matchLabels.-a", '"-a" is not a label key', id="a leading dash"),
        pytest.param({"matchLabels": {"A.b/c": "a"}}, "matchLabels.A.b/c", "is not a label key", id="a capital domain"),
        pytest.param({"matchLabels": {LONG: "a"}}, f"matchLabels.{LONG}", "is not a label key", id="a long key"),
        pytest.param({"matchLabels": {"a": "b c"}}, "matchLabels.a", '"b c" is not a label value', id="a space"),
        pytest.param({"matchLabels": {"a": LONG}}, "matchLabels.a", "is not a label value", id="a long value"),
        pytest.param(
            {"matchExpressions": [expression("a", "Gt", "1")]},
            "matchExpressions[0].operator",
            '"Gt" is not a selector operator; operators: In, NotIn, Exists, DoesNotExist',
            id="Gt is for nodes",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Exists"), expression("a", "In")]},
            "matchExpressions[1].values",
            "In needs at least one value",
            id="In without values",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Exists", "b")]},
            "matchExpressions[0].values",
            "Exists takes no values",
            id="Exists with one",
        ),
    ],
)
def test_refused_label_selectors(written: dict[str, Any], path: str, problem: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(msgspec.convert(written, LabelSelector))
    assert caught.value.path == path
    assert problem in str(caught.value)


def test_a_node_term_has_labels_and_fields() -> None:
    written = {
        "matchExpressions": [expression("cores", "Gt", "4")],
        "matchFields": [expression("metadata.name", "In", "n1")],
    }
    assert parse_node_term(msgspec.convert(written, NodeSelectorTerm)) == NodeTerm(
        (Requirement("cores", "Gt", ("4",)),), (Requirement("metadata.name", "In", ("n1",)),)
    )


def test_an_empty_node_term_is_none() -> None:
    assert parse_node_term(NodeSelectorTerm()) is None


@pytest.mark.parametrize(
    ("written", "path", "problem"),
    [
        pytest.param(
            {"matchExpressions": [expression("a", "Gt", "x")]},
            "matchExpressions[0].values",
            "Gt needs exactly one whole number",
            id="Gt with a word",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Lt", "1", "2")]},
            "matchExpressions[0].values",
            "Lt needs exactly one whole number",
            id="Lt with two numbers",
        ),
        pytest.param(
            {"matchFields": [expression("metadata.name", "Exists")]},
            "matchFields[0].operator",
            '"Exists" is not an operator for a field; use In or NotIn',
            id="fields only In and NotIn",
        ),
        pytest.param(
            {"matchFields": [expression("metadata.name", "In", "a", "b")]},
            "matchFields[0].values",
            "must have one element",
            id="a field has one value",
        ),
    ],
)
def test_refused_node_terms(written: dict[str, Any], path: str, problem: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_node_term(msgspec.convert(written, NodeSelectorTerm))
    assert (caught.value.path, str(caught.value)) == (path, problem)


LABELS = {"app": "web", "tier": "front", "empty": ""}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier = front", True),
        ("app!=web", False),
        ("other!=web", True),
        ("app in (web, api)", True),
        ("app notin (web,api)", False),
        ("app in (api),tier=front", False),
        ("app", True),
        ("!app", False),
        ("!other", True),
        ("empty=", True),
        ("app=", False),
    ],
)
def test_selects(text: str, found: bool) -> None:
    assert matches(parse_label_query(text), LABELS) is found


@pytest.mark.parametrize("text", ["app in", "app in (", "=web", "a=b=c", "app=we b", "-app", "app>5", ",", "app=web,"])
def test_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a label selector"):
        parse_label_query(text)
