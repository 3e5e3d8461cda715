"""The leader of an election, as data."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kschedctl.answers.schema import schema
from tests.cli.in_process import run
from tests.cli.transcript import make_room, set_age


@pytest.mark.parametrize(
    "words",
    [
        "leader --snapshot {room}/elections.yaml",
        "leader --snapshot {room}/elections.yaml --config {room}/election.yaml",
        "leader --snapshot {room}/shop",
        "leader simulate --crash 20s-40s --slow-api 1s@50s-60s --upgrade 70s --clock-skew 2s --clock-drift 1%",
        "leader simulate --no-release --runs 0 --fail-over 20s",
    ],
)
def test_answers_are_valid_by_the_schema(words: str, room: Path) -> None:
    printed = run(*words.format(room=room).split(), "-o", "json")
    assert printed.code in (0, 1), printed.err
    jsonschema.validate(json.loads(printed.out), schema(), cls=jsonschema.Draft202012Validator)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room")
    make_room(folder)
    set_age(folder)
    return folder
