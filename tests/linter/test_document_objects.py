"""Documents and items of lists that are meant as objects: those without kind or version are found fault with."""

from __future__ import annotations

import pytest

from kschedctl.linter.lint_files import read_text
from kschedctl.linter.manifest_set import LintManifests
from kschedctl.linter.rules import RULES
from kschedctl.linter.run import LintRequest, lint_files
from tests.linter.linting import lint

REST = "metadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n"
LIST = "apiVersion: v1\nkind: List\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"apiVersion: v1\nkind: Pod\n{REST}", []),
        (f"Kind: Pod\napiVersion: v1\n{REST}", ["1 kind is missing: did you mean kind in place of Kind?"]),
        (f"apiVersion: v1\nknid: Pod\n{REST}", ["2 kind is missing: did you mean kind in place of knid?"]),
        (
            f"apiversion: apps/v1\nkind: Deployment\n{REST}",
            ["1 apiVersion is missing: did you mean apiVersion in place of apiversion?"],
        ),
        (f"Kind: Pod\napiversion: v1\n{REST}", ["1 kind is missing: did you mean kind in place of Kind?"]),
        (f"kind: Pod\n{REST}", ["1 apiVersion is missing: every object needs apiVersion and kind"]),
        (f"apiVersion: v1\n{REST}", ["1 kind is missing: every object needs apiVersion and kind"]),
        (f"apiVersion: v1\nkind:\n{REST}", ["2 kind is missing: every object needs apiVersion and kind"]),
        (f"apiVersion: v1\nkind: [Pod]\n{REST}", ['2 kind: ["Pod"] is not text: ']),
        (f"apiVersion: 1\nkind: Pod\n{REST}", ["1 apiVersion: 1 is not text: "]),
        # Files of other tools.
        (REST, []),
        ("apiVersion: v2\nname: web\nversion: 1.0.0\n", []),
        ("kind: Pod\nreplicas: 2\n", []),
        (f"kind: role\nversion: v7\n{REST}", []),
        (f"kind: '{{{{ kind }}}}'\n{REST}", []),
        (f"apiVersion: '{{{{ version }}}}'\nkind:\n{REST}", []),
        (f"- kind: Pod\n  {REST.replace(chr(10), chr(10) + '  ')}", []),
        # Lists.
        (f"{LIST}items: []\n", []),
        (f"{LIST}items:\n", []),
        (f"{LIST}items: all\n", ['3 items: "all" is not a list: ']),
        (f"{LIST}items: {{kind: Pod}}\n", ['3 items: {"kind": "Pod"} is not a list: ']),
        (f"{LIST}item: []\n", ["3 items is missing: did you mean items in place of item?"]),
        (LIST, ["1 items is missing: an empty list has items: []"]),
        ("apiVersion: v1\nkind: PodList\nmetadata: {}\n", ["1 items is missing: an empty list has items: []"]),
        ("kind: List\nitems: []\n", ["1 apiVersion is missing: every object needs apiVersion and kind"]),
        (f"{LIST}items:\n- apiVersion: v1\n", ["4 kind is missing: every object needs apiVersion and kind"]),
        (f"{LIST}items:\n- {{metadata: {{}}}}\n", ["4 kind is missing: every object needs apiVersion and kind"]),
        (f"{LIST}items: [web]\n", ['3 "web" is not a Kubernetes object: ']),
        (f"{LIST}items: [{{apiVersion: v1, kind: List, items: [7]}}]\n", ["3 7 is not a Kubernetes object: "]),
        # A kind of another group may end with List.
        ("apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: web}\n", []),
    ],
)
def test_a_value_that_is_meant_as_an_object_needs_kind_and_version(text: str, expected: list[str]) -> None:
    assert [f"{each.region.line} {each.message}: {each.help}" for each in lint(text, "KS912")] == expected


@pytest.mark.parametrize(
    ("name", "beside", "found"),
    [
        ("web.yaml", {}, 1),
        ("templates/web.yaml", {"Chart.yaml": "apiVersion: v2\nname: web\n"}, 1),
        ("values.yaml", {"Chart.yaml": "apiVersion: v2\nname: web\n"}, 0),
        ("patch.yaml", {"kustomization.yaml": "patches: [{path: patch.yaml}]\n"}, 0),
    ],
)
def test_values_of_charts_and_patches_are_no_objects(name: str, beside: dict[str, str], found: int) -> None:
    texts = {name: f"kind: Deployment\n{REST}", **beside}
    files = [read_text(text.encode(), each) for each, text in texts.items()]
    request = LintRequest(rules=[rule for rule in RULES if rule.code == "KS912"])
    assert len(lint_files(files, request).found) == found


@pytest.mark.parametrize("kind", ["PodList", "Pod"])
def test_items_of_a_typed_list_have_its_kind(kind: str) -> None:
    pod = "{metadata: {name: web}, spec: {nodeName: node-1, containers: [{name: a, image: b}]}}"
    text = f"apiVersion: v1\nkind: {kind}\nitems:\n- {pod}\n"
    [obj] = LintManifests([read_text(text.encode(), "pods.yaml")]).objects
    assert (obj.api_version, obj.kind, obj.name, obj.typed is not None) == ("v1", "Pod", "web", True)
    assert [f"{each.region.line} {each.rule.code}" for each in lint(text, "KS119")] == ["4 KS119"]
