"""Repairs keep comments and layout, and what they make of a text says what it is meant to say."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.common.text.tree import comments, yaml_trees
from kschedctl.common.text.yaml import yaml_value
from kschedctl.linter.applied_fixes import FixResult, apply_fixes
from kschedctl.linter.fix import FieldEdit, FixAction
from kschedctl.linter.fixed_text import CannotChangeError, changed, edited, settled
from kschedctl.linter.lint_files import LintFile, read_text
from kschedctl.linter.rule import Rule, RuleSubject
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, LintResult, lint_files
from tests.example_counts import scaled

#: A line with a key and at most a plain value in block style, after which a comment changes no value.
_KEY: Final = re.compile(r"^( *)(- )*[A-Za-z./-]+:( [^|>&*'\"#]*)?$")
_BLOCK_SCALAR: Final = re.compile(r"[|>][-+0-9]*$")


@st.composite
def commented(draw: st.DrawFn, text: str) -> str:
    """Return a text with comments before, beside and after random lines, and with either kind of line ends."""
    out: list[str] = []
    scalar = -1
    for number, line in enumerate(text.splitlines()):
        indent = len(line) - len(line.lstrip())
        if scalar >= 0 and (not line.strip() or indent > scalar):
            out.append(line)
            continue
        scalar = indent if _BLOCK_SCALAR.search(line) else -1
        where = draw(st.sampled_from(["", "", "before", "beside", "after"])) if _KEY.fullmatch(line) else ""
        pad = " " * (indent + draw(st.sampled_from([0, 2]))) if where else ""
        out += [f"{pad}# before {number}"] if where == "before" else []
        out.append(f"{line}  # beside {number}" if where == "beside" else line)
        out += [f"{pad}# after {number}"] if where == "after" else []
    return draw(st.sampled_from(["\n", "\n", "\r\n"])).join([*out, ""])


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


CLASS = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: a\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("provisioner: a\nparameters:\n  b: c\nreclaimPolicy: Retain  # d\n", "mountOptions:\n- e\n"),
        ("provisioner: a\n", "parameters:\n  b: c\n"),
        ("provisioner: a\n", ""),
        ("", ""),
    ],
)
def test_a_field_of_an_object_is_added_to_its_short_fields_after_the_metadata(before: str, after: str) -> None:
    text = CLASS + before + after
    [root] = yaml_trees(text.encode())
    added = edited(text, root, FieldEdit(SET, ("volumeBindingMode",), "Immediate"))
    assert added == f"{CLASS}{before}volumeBindingMode: Immediate\n{after}"


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


@settings(max_examples=scaled(300))
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
    and any(each.fix for each in lint([read_text(rule.failing_manifests.encode(), "f.yaml")], rule).found)
]


@pytest.mark.parametrize("rule", WITH_FIX, ids=lambda rule: rule.code)
def test_the_repair_of_a_rule_repairs_its_failing_example(rule: Rule) -> None:
    file = read_text(rule.failing_manifests.encode(), "f.yaml", on_disk=True)
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
    content += (
        b"  schedulingGates:\r\n  - name: x\r\n  # pods\r\n  containers: [{name: a, image: b}]\r\n---\r\n# tail\r\n"
    )
    path.write_bytes(content)
    [rule] = [rule for rule in RULES if rule.code == "KS120"]
    file = read_text(content.removeprefix(b"\xef\xbb\xbf"), str(path), on_disk=True)
    out = apply_fixes(lint([file], rule), lambda files: lint(list(files), rule))
    out.write()
    assert path.read_bytes() == content.replace(b"  schedulingGates:\r\n  - name: x\r\n", b"")


def repaired(texts: Mapping[str, str], *, unsafe: bool = False, codes: str | tuple[str, ...] = "KS") -> FixResult:
    """Return the result of one run of --fix with the rules whose codes begin with one of `codes`."""
    request = LintRequest(rules=[rule for rule in RULES if not rule.snapshot and rule.code.startswith(codes)])
    files = [read_text(text.encode(), name, on_disk=True) for name, text in texts.items()]
    return apply_fixes(lint_files(files, request), lambda files: lint_files(list(files), request), unsafe=unsafe)


POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n"
CONTAINERS = "  containers: [{name: web, image: nginx}]\n"


def test_all_copies_of_an_object_are_repaired_in_one_run() -> None:
    gated = f"{POD}  schedulingGates: [{{name: x}}]\n{CONTAINERS}"
    out = repaired({"a.yaml": gated, "b.yaml": f"{gated}---\n{gated}"}, codes="KS120")
    assert out.count == 3
    whole = f"{POD}{CONTAINERS}"
    assert {name: after.decode() for name, (_, after) in out.texts.items()} == {
        "a.yaml": whole,
        "b.yaml": f"{whole}---\n{whole}",
    }


def test_two_rules_add_one_toleration() -> None:
    tolerated = "  tolerations:\n  - {key: node-role.kubernetes.io/master, effect: NoSchedule, operator: Exists}\n"
    text = f'{POD}  nodeSelector: {{node-role.kubernetes.io/control-plane: ""}}\n{tolerated}{CONTAINERS}'
    out = repaired({"a.yaml": text}, unsafe=True, codes=("KS106", "KS107"))
    assert out.texts["a.yaml"][1].decode().count("key: node-role.kubernetes.io/control-plane") == 1
    assert (out.count, out.linted.found) == (2, [])


@pytest.mark.parametrize("code", ["KS106", "KS107", "KS109", "KS110", "KS114"])
def test_a_repair_that_changes_where_pods_go_is_not_safe(code: str) -> None:
    [rule] = [rule for rule in RULES if rule.code == code]
    fixes = [each.fix for each in lint([read_text(rule.failing_manifests.encode(), "f.yaml")], rule).found]
    assert [fix.safe for fix in fixes if fix is not None] == [False] * len(fixes)


@pytest.mark.parametrize(
    ("before", "safe"),
    [
        ("  schedulingGates:\n  - name: x\n", True),
        ("  # why\n  schedulingGates:\n  - name: x\n", True),
        ("  schedulingGates:\n  - name: x\n  # next\n", True),
        ("  schedulingGates:  # why\n  - name: x\n", False),
        ("  schedulingGates:\n  # why\n  - name: x\n", False),
        ("  schedulingGates:\n  - name: x  # why\n", False),
        ("  schedulingGates: [{name: x}]  # why\n", False),
    ],
)
def test_a_repair_that_drops_a_comment_is_not_safe(before: str, safe: bool) -> None:
    text = f"{POD}{before}{CONTAINERS}"
    [rule] = [rule for rule in RULES if rule.code == "KS120"]
    [found] = lint([read_text(text.encode(), "a.yaml")], rule).found
    assert found.fix is not None
    assert found.fix.safe is safe
    out = repaired({"a.yaml": text}, codes="KS120")
    assert out.count == safe
    assert "schedulingGates" not in repaired({"a.yaml": text}, codes="KS120", unsafe=True).texts["a.yaml"][1].decode()


def test_a_removal_leaves_the_items_of_a_list() -> None:
    change = FieldEdit(REMOVE, ("list", 0, "only"))
    assert settled(change, {"list": [{"only": {"x": 1}}]}) == change


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("rule", WITH_FIX, ids=lambda rule: rule.code)
@given(data=st.data())
def test_repairs_keep_comments_and_settle(rule: Rule, unsafe: bool, data: st.DataObject) -> None:
    """Repairs give the same objects with and without comments, keep comments if they are safe, and need one run."""
    text = data.draw(commented(rule.failing_manifests.replace("  # <-", "")))
    out = repaired({"a.yaml": text, "b.yaml": text}, unsafe=unsafe)
    after = [file.text.decode() for file in out.linted.files]
    assert after[0] == after[1]
    if unsafe:
        plain = repaired({"a.yaml": rule.failing_manifests.replace("  # <-", "")}, unsafe=True)
        assert values(after[0]) == values(plain.linted.files[0].text.decode())
    else:
        assert [each.text for each in comments(text)] == [each.text for each in comments(after[0])]
    assert repaired({"a.yaml": after[0]}, unsafe=unsafe).texts == {}


def values(text: str) -> list[Any]:
    return [document.value for document in read_text(text.encode(), "f.yaml").documents]
