"""JSONPath templates as kubectl has them; the expectations are of its documentation and its own tests' kind."""

from typing import Any

import pytest

from kschedctl.output.forms import FormError
from kschedctl.output.jsonpath import JsonPath, JsonPathError, evaluate, parse_template

DATA: dict[str, Any] = {
    "kind": "List",
    "empty": [],
    "nothing": None,
    "flag": True,
    "items": [
        {"name": "a", "cpu": 4, "labels": {"app.kubernetes.io/name": "web", "tier": "front"}, "ready": True},
        {"name": "b", "cpu": 8, "labels": {"tier": "back"}},
        {"name": "c", "cpu": 2.5, "labels": {}},
    ],
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain text", "plain text"),
        ("kind is {.kind}!", "kind is List!"),
        ("{$.kind}", "List"),
        ("{@.kind}", "List"),
        ("{.items[*].name}", "a b c"),
        ("{.items[0].name}", "a"),
        ("{.items[-1].name}", "c"),
        ("{.items[0:2].name}", "a b"),
        ("{.items[::2].name}", "a c"),
        ("{.items[-2:].name}", "b c"),
        ("{.items[0,2].name}", "a c"),
        ("{['kind']}", "List"),
        ("{.items[0].labels['app.kubernetes.io/name']}", "web"),
        (r"{.items[0].labels.app\.kubernetes\.io/name}", "web"),
        ("{.items[0]['name','cpu']}", "a 4"),
        ("{.items[0].labels.*}", "web front"),
        ("{..name}", "a b c"),
        ("{.items[?(@.cpu>3)].name}", "a b"),
        ("{.items[?(@.cpu<=4)].name}", "a c"),
        ('{.items[?(@.name=="b")].cpu}', "8"),
        ("{.items[?(@.name!='b')].name}", "a c"),
        ("{.items[?(@.ready)].name}", "a"),
        ("{.items[?(@.ready==true)].name}", "a"),
        ("{.items[?(@.labels.tier=='back')].name}", "b"),
        ('{range .items[*]}{.name}{"\\t"}{.cpu}{"\\n"}{end}', "a\t4\nb\t8\nc\t2.5\n"),
        ("{range .items[0:2]}[{range .labels.*}<{@}>{end}]{end}", "[<web><front>][<back>]"),
        ("{range .empty[*]}x{end}y", "y"),
        ("{.flag} {.nothing}", "true null"),
        ("{.items[1]}", '{"cpu":8,"labels":{"tier":"back"},"name":"b"}'),
        ("{.missing}{.missing.deeper}", ""),
        ("{.empty[*].x}", ""),
        (r"{'it\'s'}", "it's"),
        ("", ""),
    ],
)
def test_prints(template: str, text: str) -> None:
    assert evaluate(parse_template(template), DATA) == text


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.a", "has no closing brace"),
        ("{end}", "{end} has no {range}"),
        ("{kind}", "begins with a dot"),
        ("{.items[x]}", "not an index, slice or quoted key"),
        ("{.items[]}", "not an index, slice or quoted key"),
        ("{.items[::0]}", "must be greater than 0"),
        ("{.a,b}", "cannot be parsed"),
    ],
)
def test_wrong_templates_are_refused(template: str, problem: str) -> None:
    with pytest.raises(JsonPathError, match=problem.replace("{", r"\{")):
        parse_template(template)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.items[5]}", "index 5, length 3"),
        ("{.empty[0]}", "index 0, length 0"),
        ("{.items[1:9]}", "out of bounds"),
        ("{.kind[0]}", "is not an array"),
        ("{.items[?(@.name>3)]}", "cannot be compared"),
        ("{.items[?(@..x==1)].name}{.items[?(@['name','cpu']=='a')]}", "more than one value"),
    ],
)
def test_templates_that_do_not_go_with_the_data(template: str, problem: str) -> None:
    with pytest.raises(JsonPathError, match=problem):
        evaluate(parse_template(template), DATA)


def test_an_empty_template_is_refused() -> None:
    with pytest.raises(FormError, match="needs a template, such as"):
        JsonPath.parse("")
