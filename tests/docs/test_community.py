"""SECURITY and the forms for issues name tests, commands and targets that exist; forms are as the host wants them."""

import ast
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.docs.test_make import MAKEFILE
from tests.docs.test_pages import check_command
from tests.docs.test_readme import LINK
from tests.paths import ROOT

FOLDER = ROOT / ".github"
FORMS = sorted(path for path in (FOLDER / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
SECURITY = ROOT / "SECURITY.md"
TEXTS = [SECURITY, ROOT / "CODE_OF_CONDUCT.md", FOLDER / "pull_request_template.md", *FORMS]
TEST = re.compile(r"`(tests/[a-z_/]+\.py)::(\w+)`")
#: A command between backticks, on a line of its own, or as an example in a field.
COMMAND = re.compile(r"(?:`|^ +|: )(kschedctl [a-z-][^`\n]*?)(?=`|$)", re.MULTILINE)
TARGET = re.compile(r"`make (\w+)[^`]*`")
_TEXT = {"type": "string", "minLength": 1}
_ATTRIBUTES = ("label", "description", "placeholder", "value", "render")
#: The syntax of forms, as far as it is used here: a form with another field is refused by the code host.
FORM = {
    "type": "object",
    "required": ["name", "description", "body"],
    "additionalProperties": False,
    "properties": {
        "name": _TEXT,
        "description": _TEXT,
        "labels": {"type": "array", "items": _TEXT},
        "body": {
            "type": "array",
            "contains": {"properties": {"type": {"enum": ["textarea", "input"]}}},
            "items": {
                "type": "object",
                "required": ["type", "attributes"],
                "additionalProperties": False,
                "properties": {
                    "type": {"enum": ["markdown", "textarea", "input"]},
                    "id": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
                    "attributes": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": dict.fromkeys(_ATTRIBUTES, _TEXT),
                        "anyOf": [{"required": ["label"]}, {"required": ["value"]}],
                    },
                    "validations": {"properties": {"required": {"type": "boolean"}}, "additionalProperties": False},
                },
                "if": {"properties": {"type": {"const": "markdown"}}},
                "then": {"properties": {"attributes": {"required": ["value"]}, "validations": False}},
                "else": {"required": ["id"], "properties": {"attributes": {"required": ["label"]}}},
            },
        },
    },
}
CLAIMS = TEST.findall(SECURITY.read_text())


@pytest.mark.parametrize(("file", "test"), sorted(set(CLAIMS)), ids=[test for _, test in sorted(set(CLAIMS))])
def test_what_security_says_is_tested(file: str, test: str) -> None:
    tree = ast.parse((ROOT / file).read_text())
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_row_of_a_table_of_security_has_its_test() -> None:
    rows = re.findall(r"^\| (?!what|rule|---)(.*)$", SECURITY.read_text(), re.MULTILINE)
    assert len(rows) >= 15
    assert [row for row in rows if not TEST.search(row)] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_commands_targets_and_links_exist(path: Path) -> None:
    text = path.read_text()
    for command in COMMAND.findall(text):
        if command != "kschedctl --version":
            check_command(command)
    targets = set(TARGET.findall(text))
    assert targets <= set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    assert [link for link in LINK.findall(text) if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_forms_are_as_the_host_wants_them(path: Path) -> None:
    form: dict[str, Any] = yaml.safe_load(path.read_text())
    jsonschema.validate(form, FORM)
    ids = [field["id"] for field in form["body"] if "id" in field]
    assert len(ids) == len(set(ids))


def test_a_wrong_answer_comes_with_its_case_and_its_versions() -> None:
    text = (FOLDER / "ISSUE_TEMPLATE" / "wrong-answer.yml").read_text()
    commands = {command.split()[1] for command in COMMAND.findall(text)}
    assert commands == {"verify", "snapshot", "explain", "--version"}
    required = {field["id"] for field in yaml.safe_load(text)["body"] if field.get("validations", {}).get("required")}
    assert {"case", "version", "release"} <= required
