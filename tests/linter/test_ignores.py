"""The rules that an ignore names: known ones are suppressed, unknown ones are reported."""

import pytest

from kschedctl.linter.rules import RULES
from tests.linter.linting import lint

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: web, image: nginx}]\n"


IGNORED = "# kschedctl: ignore KS119 because\n"


@pytest.mark.parametrize(
    ("name", "text", "reported"),
    [
        ("web.yaml", f"{POD}{IGNORED}", True),
        ("web.yaml", f"{POD}{IGNORED}---\nkind: Pod\napiVersion: v1\nspec: {{\n", False),
        ("web.yaml", f"{POD}{IGNORED}  nodeName: {{{{ .Values.node }}}}\n", False),
        ("web/templates/web.yaml", f"{POD}{IGNORED}  nodeName: '{{{{ .Values.node }}}}'\n", False),
        ("web/templates/web.yaml", f"{POD}{IGNORED}", True),
    ],
)
def test_an_ignore_is_unused_only_where_all_is_checked(name: str, text: str, reported: bool) -> None:
    rules = [rule for rule in RULES if rule.code in ("KS119", "KS910")]
    assert [each.rule.code for each in lint({name: text}, rules) if each.rule.code == "KS910"] == ["KS910"] * reported


@pytest.mark.parametrize(
    ("words", "suppressed", "messages"),
    [
        ("KS119", True, []),
        ("KS119,KS999", True, ['"KS999" is not a rule']),
        ("KS999,KS119", True, ['"KS999" is not a rule']),
        ("KS999", False, ['"KS999" is not a rule']),
        ("all,KS999", True, ['"KS999" is not a rule']),
        ("all", True, []),
    ],
)
def test_an_ignore_comment(words: str, suppressed: bool, messages: list[str]) -> None:
    rules = [rule for rule in RULES if rule.code in ("KS119", "KS910")]
    found = lint(f"{POD}  nodeName: node-1  # kschedctl: ignore {words} because\n", rules)
    assert [each.rule.code for each in found if each.rule.code == "KS119"] == ([] if suppressed else ["KS119"])
    assert [each.message for each in found if each.rule.code == "KS910"] == messages
