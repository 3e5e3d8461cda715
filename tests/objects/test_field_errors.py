import pytest

from kschedctl.common.findings import Finding
from kschedctl.objects import field_errors


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
