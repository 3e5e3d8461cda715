"""The promises are kept by tests that exist, and the list of fields in a snapshot equals the program's."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kschedctl.sources.live import limits
from kschedctl.sources.snapshot import archives
from kschedctl.sources.snapshot.archives import size_text
from kschedctl.sources.snapshot.capture import READ_ANNOTATIONS, READ_CONDITIONS, READ_MESSAGES, kept_fields
from tests.cli.in_process import run
from tests.docs.test_pages import check_command
from tests.docs.test_readme import LINK
from tests.docs.test_workflows import MAKEFILE
from tests.paths import ROOT

PAGE = ROOT / "docs" / "promises.md"
BLOCK = re.compile(r"(<!-- kept -->\n).*?(<!-- /kept -->)", re.DOTALL)
ROW = re.compile(r"^\| (?!promised|---)(.+?) \| (.+?) \|$", re.MULTILINE)
NAME = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`")
#: The prefix of fields in the pod template of a kind.
TEMPLATE = re.compile(r"^(.*template)\.(?=metadata\.|spec\.)")

KEPT = "## Contents of a snapshot"
TABLES = PAGE.read_text().partition(KEPT)[0]
PROMISES = ROW.findall(TABLES)


def folded(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths with common beginnings factored out: ``a.{b, c}``; a map is also listed itself, for its keys."""
    below: dict[str, list[str]] = defaultdict(list)
    whole = set()
    for path in paths:
        first, _, rest = path.partition(".")
        below[first] += [rest] if rest else []
        if not rest:
            whole.add(first)
    for first, rests in below.items():
        inner = list(folded(rests))
        if first in whole:
            yield first
        if inner:
            yield f"{first}.{inner[0]}" if len(inner) == 1 else f"{first}.{{{', '.join(inner)}}}"


def unfolded(text: str, before: str = "") -> set[str]:
    """Return the paths in a text with the paths from ``folded``, joined by commas."""
    found: set[str] = set()
    depth, word = 0, ""
    for character in f"{text},":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and not depth:
            name, brace, inner = word.strip().partition("{")
            found |= unfolded(inner.removesuffix("}"), before + name) if brace else {before + name}
            word = ""
        else:
            word += character
    return found


def by_kind() -> dict[str, list[str]]:
    fields: dict[str, list[str]] = defaultdict(list)
    for kind, path in kept_fields():
        fields[kind].append(path)
    return fields


def is_of_pods(template: str, paths: list[str]) -> bool:
    """Report whether a template is one of pods: others are of nodes or machines."""
    return any(path.startswith(f"{template}.spec.containers[]") for path in paths)


def kept() -> str:
    """Return the table of the fields that a snapshot keeps."""
    fields = by_kind()
    metadata = [path for path in fields["Pod"] if path.startswith("metadata.")]
    rows = [f"| all | `{', '.join(folded(metadata))}` |"]
    for kind, paths in fields.items():
        templates = {
            found[1]: None for path in paths if (found := TEMPLATE.match(path)) and is_of_pods(found[1], paths)
        }
        own = [
            path for path in paths if path not in metadata and not path.startswith(tuple(f"{t}." for t in templates))
        ]
        parts = [f"`{', '.join(folded(own))}`"] if own else []
        parts += [f"`{template}`: `metadata` and `spec` as of a Pod" for template in templates]
        rows.append(f"| {kind} | {'; '.join(parts) or 'no more'} |")
    annotations = ", ".join(f"`{name}`" for name in sorted(READ_ANNOTATIONS))
    conditions = ", ".join(f"`{name}`" for name in sorted(READ_CONDITIONS))
    messages = ", ".join(f"`{name}`" for name in sorted(READ_MESSAGES))
    return "\n".join(
        [
            "| kind | fields |",
            "|---|---|",
            *rows,
            "",
            f"Of the annotations these are kept: {annotations}; of the conditions {conditions}, with the message of "
            f"{messages} alone.",
            "",
        ]
    )


def test_the_page_lists_what_is_kept(request: pytest.FixtureRequest) -> None:
    written = PAGE.read_text()
    made = BLOCK.sub(lambda found: f"{found[1]}{kept()}{found[2]}", written)
    if request.config.getoption("--rewrite-golden"):
        PAGE.write_text(made)
    else:
        assert written == made, "make golden writes the list anew"


def test_nothing_is_lost_between_the_fields_and_the_page() -> None:
    rows = dict(ROW.findall(PAGE.read_text().partition(KEPT)[2]))
    fields = by_kind()
    of_all = unfolded(rows.pop("all").strip("`"))
    of_pods = {path for path in fields["Pod"] if not path.startswith("status.")}
    for kind, paths in fields.items():
        read = set(of_all)
        for part in rows[kind].split("; "):
            name, _, template = part.partition(": ")
            if template:
                read |= {f"{name.strip('`')}.{path}" for path in of_pods}
            elif part != "no more":
                read |= unfolded(part.strip("`"))
        assert read == set(paths), kind


def test_the_help_of_snapshot_names_the_page() -> None:
    assert str(PAGE.relative_to(ROOT)) in " ".join(run("snapshot", "--help").out.split())


@pytest.mark.parametrize(("promise", "holders"), PROMISES, ids=[promise for promise, _ in PROMISES])
def test_every_promise_is_held_by_a_test(promise: str, holders: str) -> None:
    names = NAME.findall(holders)
    assert names
    assert NAME.sub("", holders).strip(", ") == ""
    for file, test in names:
        tree = ast.parse((ROOT / file).read_text())
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{file} has no {test}"


@pytest.mark.parametrize(
    "words",
    [
        f"unpacks at most {size_text(archives.MAX_UNPACKED)}, and nothing to more than {archives.MAX_RATIO} times",
        f"`batch` has at most {size_text(archives.MAX_LINE)}",
        f"has at most {size_text(limits.MAX_ANSWER)}, also unpacked, all of them {size_text(limits.MAX_READING)}",
    ],
)
def test_numbers_are_those_of_the_program(words: str) -> None:
    assert words in TABLES


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
