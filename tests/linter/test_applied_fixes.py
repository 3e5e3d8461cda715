"""Repairs keep comments and layout, and what they make of a text says what it is meant to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.linter.applied_fixes import apply_fixes
from kschedctl.linter.data_changes import CannotChangeError, changed, settled
from kschedctl.linter.fix import FieldEdit, FixAction
from kschedctl.linter.lint_files import LintFile, read_text
from kschedctl.linter.rule import Rule, RuleSubject
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, LintResult, lint_files
from kschedctl.linter.yaml_edits import edited
from kschedctl.text.tree import yaml_trees
from kschedctl.text.yaml import yaml_value

SET, REMOVE, RENAME, APPEND = FixAction.SET, FixAction.REMOVE, FixAction.RENAME, FixAction.APPEND
TEXT = """# head
a: 1   # one
b:
  c: x # see

  d: "y"
  # about e
  e:
  - name: n
    v: 1
  - {name: m, v: 2}
f: {g: 1, h: [1, 2]}
i:
"""


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (FieldEdit(SET, ("a",), 2), "a: 1   # one", "a: 2   # one"),
        (FieldEdit(SET, ("b", "d"), "true"), 'd: "y"', 'd: "true"'),
        (FieldEdit(SET, ("b", "new"), 1), "  # about e\n", "  new: 1\n  # about e\n"),
        (FieldEdit(SET, ("b", "new", "deep"), "z"), "  # about e\n", "  new:\n    deep: z\n  # about e\n"),
        (FieldEdit(SET, ("f", "new"), "34%"), "h: [1, 2]}", "h: [1, 2], new: 34%}"),
        (FieldEdit(SET, ("i",), {"j": 1}), "i:\n", "i: {j: 1}\n"),
        (FieldEdit(SET, ("i", "j"), 1), "i:\n", "i: {j: 1}\n"),
        (FieldEdit(SET, ("b", "e", 0, "w"), True), "    v: 1\n", "    v: 1\n    w: true\n"),
        (FieldEdit(RENAME, ("b", "c"), "k.io/c"), "c: x # see", "k.io/c: x # see"),
        (FieldEdit(REMOVE, ("a",)), "a: 1   # one\n", ""),
        (FieldEdit(REMOVE, ("b", "e", 0)), "  - name: n\n    v: 1\n", ""),
        (FieldEdit(REMOVE, ("b", "e", 0, "name")), "- name: n\n    v: 1", "- v: 1"),
        (FieldEdit(REMOVE, ("f", "g")), "{g: 1, h", "{h"),
        (FieldEdit(REMOVE, ("f", "h", 1)), "[1, 2]", "[1]"),
        (FieldEdit(APPEND, ("b", "e"), {"name": "z", "v": [1]}), "v: 2}\n", "v: 2}\n  - name: z\n    v: [1]\n"),
        (FieldEdit(APPEND, ("f", "h"), 3), "[1, 2]", "[1, 2, 3]"),
    ],
    ids=lambda value: f"{value.action.name} {value.steps}" if isinstance(value, FieldEdit) else "",
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_change_leaves_all_else_as_it_is(change: FieldEdit, before: str, after: str, newline: str) -> None:
    text = TEXT.replace("\n", newline)
    [root] = yaml_trees(text.encode())
    assert edited(text, root, change) == TEXT.replace(before, after).replace("\n", newline)


@pytest.mark.parametrize(
    "text",
    ["a: &x {b: 1}\nc: *x\n", "base: &x {b: 1}\nc:\n  <<: *x\n", "c: &x\n  b: 1\n", "c:\n  b: |\n    1\n    2\n"],
)
def test_what_stands_for_others_too_is_left_as_it_is(text: str) -> None:
    [root] = yaml_trees(text.encode())
    with pytest.raises(CannotChangeError):
        edited(text, root, FieldEdit(SET, ("c", "b"), 2))


KEYS = st.sampled_from(["a", "b", "c", "d.e/f", "true", "1"])
SCALARS = st.one_of(st.sampled_from(["x", "y z", "yes", "1", "", "34%", "a: b", "# c"]), st.integers(0, 9), st.none())
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)


@settings(max_examples=300)
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=3), st.data())
def test_the_text_of_a_change_says_what_the_change_says(value: dict[str, Any], data: st.DataObject) -> None:
    import yaml

    text = yaml.safe_dump(value, default_flow_style=data.draw(st.sampled_from([None, True, False])), sort_keys=False)
    before, _ = yaml_value(text.encode(), "")
    action = data.draw(st.sampled_from(list(FixAction)))
    steps = data.draw(st.sampled_from(list(ways(before))))
    new = data.draw(KEYS if action is RENAME else VALUES)
    change = settled(FieldEdit(action, steps, new), before)
    try:
        wanted = changed(before, change)
        after = edited(text, next(yaml_trees(text.encode())), change)
    except CannotChangeError:
        return
    assert yaml_value(after.encode(), "")[0] == wanted


def ways(value: Any) -> Any:
    if isinstance(value, dict):
        for key, each in value.items():
            yield (key,)
            yield from ((key, *way) for way in ways(each))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield (index,)
            yield from ((index, *way) for way in ways(each))


def lint(files: list[LintFile], rule: Rule) -> LintResult:
    return lint_files(files, LintRequest(rules=[rule]))


WITH_FIX = [
    rule
    for rule in RULES
    if rule.about != RuleSubject.IGNORES
    and not rule.snapshot
    and any(each.fix for each in lint([read_text(rule.fails.encode(), "f.yaml")], rule).found)
]


@pytest.mark.parametrize("rule", WITH_FIX, ids=lambda rule: rule.code)
def test_the_repair_of_a_rule_repairs_its_failing_example(rule: Rule) -> None:
    file = read_text(rule.fails.encode(), "f.yaml", on_disk=True)
    before = lint([file], rule)
    out = apply_fixes(before, lambda files: lint(list(files), rule), unsafe=True)
    with_fix = [each for each in before.found if each.fix is not None]
    assert out.count == len(with_fix)
    left = [each.message for each in out.linted.found if each.fix is not None]
    assert left == []
    # Repairs of behaviour are asked for by name.
    safe = apply_fixes(before, lambda files: lint(list(files), rule), unsafe=False)
    assert safe.count == sum(each.fix is not None and each.fix.safe for each in before.found)


def test_many_rules_can_repair() -> None:
    assert len(WITH_FIX) >= 30


def test_files_are_written_as_they_were_but_for_the_repair(tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    content = b"\xef\xbb\xbf# head\r\n---\r\napiVersion: v1\r\nkind: Pod\r\nmetadata: {name: a}\r\nspec:\r\n"
    content += b"  schedulingGates: # gates\r\n  - name: x\r\n  containers: [{name: a, image: b}]\r\n---\r\n# tail\r\n"
    path.write_bytes(content)
    [rule] = [rule for rule in RULES if rule.code == "KS120"]
    file = read_text(content.removeprefix(b"\xef\xbb\xbf"), str(path), on_disk=True)
    out = apply_fixes(lint([file], rule), lambda files: lint(list(files), rule))
    out.write()
    assert path.read_bytes() == content.replace(b"  schedulingGates: # gates\r\n  - name: x\r\n", b"")
