"""Files and their documents: what is broken, and where things stand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedctl.linter.lint_files import read_text
from tests.example_counts import scaled

POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  tolerations:\n  - key: a\n    effect: b\n"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (POD, ["Pod"]),
        (f"# nothing\n---\n{POD}---\n\n---\n{POD}...\n", ["Pod", None, "Pod"]),
        (f"--- # said\n{POD}", ["Pod"]),
        # What looks like a separator inside of text is none, unless it stands at the beginning of a line.
        ("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    ---\n    b\n", ["ConfigMap"]),
        (f"%YAML 1.1\n---\n{POD}", ["Pod"]),
        ('{"kind": "Pod", "apiVersion": "v1"}', ["Pod"]),
        ('{"kind": "Pod"}\n{"kind": "Node"}\n', ["Pod", "Node"]),
        ("{kind: Pod}\n", ["Pod"]),
        ("\ufeff" + POD, ["Pod"]),
        ("", [None]),
    ],
)
def test_documents_are_read_each_by_itself(text: str, kinds: list[str | None]) -> None:
    from kschedctl.common.text.characters import utf8_text

    file = read_text(utf8_text(text.encode(), "f"), "f.yaml")
    found = [each.value.get("kind") if isinstance(each.value, dict) else None for each in file.documents]
    assert found == kinds
    assert all(each.broken is None for each in file.documents)


@pytest.mark.parametrize(
    ("steps", "region"),
    [
        ((), (3, 1, 3, 11)),
        (("metadata", "name"), (6, 9, 6, 12)),
        # A block stands where its key does, an item where it begins.
        (("spec", "tolerations"), (8, 3, 8, 14)),
        (("spec", "tolerations", 0), (9, 5, 9, 8)),
        (("spec", "tolerations", 0, "effect"), (10, 13, 10, 14)),
        # What is not there stands where its nearest parent does.
        (("spec", "tolerations", 0, "value"), (9, 5, 9, 8)),
        (("spec", "affinity", "podAffinity"), (7, 1, 7, 5)),
    ],
)
@pytest.mark.parametrize("crlf", [False, True])
def test_fields_have_places(steps: tuple[str | int, ...], region: tuple[int, ...], crlf: bool) -> None:
    text = f"a: 1\n---\n{POD}"
    document = read_text((text.replace("\n", "\r\n") if crlf else text).encode(), "f.yaml").documents[1]
    assert document.region(steps) == region


def test_fields_of_json_have_places() -> None:
    document = read_text(b'{"kind": "Pod"}\n{"kind": "Pod",\n "spec": {"nodeName": "a"}}\n', "f.json").documents[1]
    assert document.region(("spec", "nodeName")) == (3, 23, 3, 26)


@settings(max_examples=scaled(200))
@given(st.lists(st.sampled_from(["a: 1\n", "---\n", "- b\n", "{{ x }}\n", "a: [\n", "...\n", '"\n', "\t\n", "| \n"])))
def test_any_text_is_read_or_told_to_be_broken(pieces: list[str]) -> None:
    file = read_text("".join(pieces).encode(), "f.yaml")
    for document in file.documents:
        assert document.broken is None or document.value is None
        region = document.region(("a", 0, "b"))
        assert 1 <= region.line <= region.end_line
        assert min(region.column, region.end_column) >= 1
