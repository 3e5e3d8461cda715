"""The JSON Schema of all answers."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kschedctl.questions.schema
from kschedctl.questions.schema.schema import ANSWERS, schema

FILE = Path(kschedctl.questions.schema.__file__).parent / "schema.json"


def test_the_file_is_made_from_the_types(request: pytest.FixtureRequest) -> None:
    text = json.dumps(schema(), indent=2) + "\n"
    if request.config.getoption("--rewrite-golden"):
        FILE.write_text(text)
    assert FILE.read_text() == text


def test_every_part_has_a_name_of_its_own() -> None:
    assert not [name for name in schema()["$defs"] if "." in name], "two types of answers have one name"


PARTS = schema()["$defs"]


@pytest.mark.parametrize("part", [name for name, part in PARTS.items() if "properties" in part])
def test_every_field_is_described(part: str) -> None:
    assert PARTS[part].get("description"), "the docstring of the type is its description"
    fields = PARTS[part]["properties"]
    assert not [name for name, field in fields.items() if not field.get("description", "").endswith(".")]


def test_amounts_of_resources_are_quantities() -> None:
    numbers = [
        f"{part}.{name}: {field['description']}"
        for part, value in PARTS.items()
        for name, field in value.get("properties", {}).items()
        if re.search("milli-CPU|bytes|amount", field["description"]) and field.get("type") in ("integer", "number")
    ]
    assert not numbers


def test_an_unfinished_answer_has_one_name() -> None:
    """``finished: true`` beside "cannot be drained" was read as a success; only a rollout finishes."""
    having = [part for part, value in PARTS.items() if "finished" in value.get("properties", {})]
    assert having == ["RolledOut"]


def test_kinds_tell_answers_apart() -> None:
    kinds = [kind.__struct_config__.tag for of in ANSWERS.values() for kind in of]
    assert len(set(kinds)) == len(kinds)


def test_every_module_of_answers_is_described() -> None:
    questions = {kind.__module__.split(".")[2] for of in ANSWERS.values() for kind in of}
    # The server has the answers of all commands; its own are lists of objects.
    commands = {"inventory" if command == "serve" else command.partition(" ")[0] for command in ANSWERS}
    assert questions | {"rule"} >= commands


def test_answers_are_read_without_numpy() -> None:
    code = "import sys, kschedctl.questions.schema.schema; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
