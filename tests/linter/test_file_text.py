"""Large texts, which are compressed while they are not needed, and the documents that are shortened."""

import pytest

from kschedctl.linter.file_text import BRACES, IGNORE_WORDS, LARGE, PATCH_WORDS, Packed
from kschedctl.linter.lint_files import read_text
from kschedctl.linter.rules import RULES
from tests.linter.linting import lint

POD = """apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {ignore.kschedctl.io/KS125: on purpose}
spec:
  nodeName: node-1  # kschedctl: ignore KS119 on purpose
  nodeName: node-1
  containers: [{name: c, image: c, imag: c}]
"""
PADDING = "# nothing\r\n" * (LARGE // 10) + "---\n"
ASKED = [rule for rule in RULES if rule.code in ("KS903", "KS904", "KS119", "KS910")]


@pytest.mark.parametrize("mark", ["", "$patch: delete\n"])
def test_findings_of_large_files_are_those_of_small_ones(mark: str) -> None:
    small, large = (lint({"web.yaml": text}, ASKED) for text in (POD + mark, PADDING + POD + mark))
    n_lines = PADDING.count("\n")
    assert [(each.message, each.region.down(n_lines)) for each in small] == [
        (each.message, each.region) for each in large
    ]
    assert {each.rule.code for each in small} >= {"KS903", "KS904"}


def test_a_large_text_is_compressed_and_still_known() -> None:
    text = (PADDING + POD).encode()
    file = read_text(text, "web.yaml")
    assert isinstance(file.content, Packed)
    assert len(file.content.content) < len(text) / 10
    assert file.text == text
    assert file.lines == text.decode().replace("\r", "").split("\n")
    assert [document.text for document in file.documents] == [f"---\n{POD}".encode()]
    assert [file.has_any(words) for words in (PATCH_WORDS, IGNORE_WORDS, BRACES)] == [False, True, False]


CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webs.example.com}
spec:
  group: example.com
  versions: [{name: v1, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}]
"""
CRDS = "apiVersion: v1\nkind: List\nitems:\n- " + CRD.replace("\n", "\n  ").rstrip() + "\n"


@pytest.mark.parametrize(
    ("text", "n_left"),
    [
        pytest.param(CRD, 0, id="a definition"),
        pytest.param(CRD.replace("/v1", "/v1beta1", 1), 0, id="a former version"),
        pytest.param(CRDS, 0, id="in a list"),
        pytest.param(CRD.replace("type: string", "typ: string"), 1, id="with an unknown field"),
        pytest.param(CRD.replace("apiextensions.k8s.io", "example.com"), 1, id="of another group"),
    ],
)
def test_specs_of_definitions_that_no_rule_needs_are_not_cached(text: str, n_left: int) -> None:
    (document,) = read_text(text.encode(), "crd.yaml").documents
    objects = document.value.get("items", [document.value])
    assert sum("group" in obj["spec"] for obj in objects) == n_left
    unknown = lint(text, "KS904")
    assert [each.finding.field for each in unknown] == (
        ["spec.versions[0].schema.openAPIV3Schema.properties.a.typ"] if "typ:" in text else []
    )
