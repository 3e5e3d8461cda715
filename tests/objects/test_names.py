"""Texts of other forms than names and the errors of fields: what is right, and what is said of what is not."""

import pytest

from kschedctl.common.findings import Finding
from kschedctl.objects import field_errors, names


@pytest.mark.parametrize(
    ("name", "n_problems"),
    [("http", 0), ("a-b", 0), ("0a", 0), ("a" * 16, 1), ("80", 1), ("a--b", 1), ("-a", 1), ("A b", 1), ("", 2)],
)
def test_port_names(name: str, n_problems: int) -> None:
    assert len(list(names.port_name_problems(name))) == n_problems


@pytest.mark.parametrize(
    ("text", "fine"), [("0%", True), ("25%", True), ("1", False), ("33.5%", False), ("-1%", False)]
)
def test_percents(text: str, fine: bool) -> None:
    assert (not names.percent_problems(text)) == fine


@pytest.mark.parametrize(
    ("name", "relaxed", "strict"),
    [("A_B", True, True), ("1A", True, False), ("a b", True, False), ("a=b", False, False)],
)
def test_env_vars(name: str, relaxed: bool, strict: bool) -> None:
    assert (not list(names.env_var_problems(name, relaxed=True))) == relaxed
    assert (not list(names.env_var_problems(name, relaxed=False))) == strict


@pytest.mark.parametrize(
    ("text", "relaxed", "strict", "usual"),
    [
        ("10.0.0.1", True, True, "10.0.0.1"),
        ("010.0.0.1", True, False, "10.0.0.1"),
        ("::ffff:1.2.3.4", True, False, "1.2.3.4"),
        ("0:0::1", True, True, "::1"),
        ("10.0.0", False, False, "10.0.0"),
        ("fe80::1%eth0", False, False, "fe80::1%eth0"),
    ],
)
def test_addresses(text: str, relaxed: bool, strict: bool, usual: str) -> None:
    assert (not list(names.ip_problems(text, strict=False))) == relaxed
    assert (not list(names.ip_problems(text, strict=True))) == strict
    assert names.usual_ip(text) == usual


@pytest.mark.parametrize(
    ("finding", "rule", "text"),
    [
        pytest.param(field_errors.required("a.b"), "FieldValueRequired", "a.b: Required value", id="required"),
        pytest.param(
            field_errors.required("a", "can not be empty"),
            "FieldValueRequired",
            "a: Required value: can not be empty",
            id="required-because",
        ),
        pytest.param(
            field_errors.invalid("a[0]", {"b": "ü"}, "must be short"),
            "FieldValueInvalid",
            'a[0]: Invalid value: {"b":"ü"}: must be short',
            id="invalid",
        ),
        pytest.param(
            field_errors.forbidden("a", "not here"), "FieldValueForbidden", "a: Forbidden: not here", id="forbidden"
        ),
        pytest.param(
            field_errors.duplicate("a", "x"), "FieldValueDuplicate", 'a: Duplicate value: "x"', id="duplicate"
        ),
        pytest.param(
            field_errors.unsupported("a", "x", ("y", "z")),
            "FieldValueNotSupported",
            'a: Unsupported value: "x": supported values: "y", "z"',
            id="unsupported",
        ),
    ],
)
def test_the_words_and_types_of_field_errors(finding: Finding, rule: str, text: str) -> None:
    assert (finding.rule, str(finding)) == (rule, text)
