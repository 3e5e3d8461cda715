"""The pods that wait, as data."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

import kschedctl
import kschedctl.report
from kschedctl.cli.provenance import provenance
from kschedctl.report.pending.answer import pending_answer
from kschedctl.report.pending.data import Pending, schema
from kschedctl.report.render.json import as_json

SCHEMA = Path(kschedctl.report.__file__).parent / "schema" / "pending.json"
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def answer(most: int) -> Pending:
    cluster = kschedctl.load("fixtures/pending/cluster.yaml")
    groups, found = cluster.pending(most=most)
    return pending_answer(cluster.cluster, groups, found, provenance(cluster, many=True), NOW)


def test_schema_file_is_made_from_the_types(request: pytest.FixtureRequest) -> None:
    text = json.dumps(schema(), indent=2) + "\n"
    if request.config.getoption("--rewrite-golden"):
        SCHEMA.write_text(text)
    assert SCHEMA.read_text() == text, "write it anew with make golden"


@pytest.mark.parametrize("most", [0, 3])
def test_answers_are_valid_by_the_schema(most: int) -> None:
    value = json.loads(as_json(answer(most)))
    jsonschema.validate(value, schema(), cls=jsonschema.Draft202012Validator)


def test_the_first_line_says_how_many_wait_and_what_would_help() -> None:
    assert answer(3).summary == ("11 pods wait in 4 groups; the oldest for 2 d. Three changes would place 10 of them.")
    assert answer(0).summary == "11 pods wait in 4 groups; the oldest for 2 d."


def test_names_are_those_of_the_pods() -> None:
    assert answer(0).names()[0] == "pod/shop/web-10"
