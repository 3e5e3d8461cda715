"""The pages of rules as data and as text."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import kschedctl.report
from kschedctl.lint.rules import RULES
from kschedctl.report.render.json import as_json
from kschedctl.report.rule.answer import pages
from kschedctl.report.rule.data import schema
from kschedctl.report.rule.text import document
from tests.report.printing import lines

SCHEMA = Path(kschedctl.report.__file__).parent / "schema" / "rule.json"


def test_the_schema_is_written_down(request: pytest.FixtureRequest) -> None:
    text = f"{json.dumps(schema(), indent=2)}\n"
    if request.config.getoption("--rewrite-golden"):
        SCHEMA.write_text(text)
    assert SCHEMA.read_text() == text


def test_pages_are_as_the_schema_says() -> None:
    jsonschema.validate(json.loads(as_json(pages(RULES))), schema())


def test_one_rule_has_its_page_and_several_a_line_each() -> None:
    one = lines(document(pages(RULES[:1]), wide=False))
    assert one[0] == "KS101 node-affinity-unsatisfiable"
    assert "Fails" in one
    assert "Passes" in one
    several = lines(document(pages(RULES), wide=False))
    assert len([line for line in several if line.strip().startswith("KS")]) == len(RULES)
