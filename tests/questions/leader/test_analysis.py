"""The leader of an election, as data."""

import json
from pathlib import Path

import pytest

from tests.answer_schema import validate
from tests.cli.in_process import run
from tests.cli.transcript import make_room


@pytest.mark.parametrize(
    "words",
    [
        "leader --snapshot {room}/elections.yaml",
        "leader --snapshot {room}/elections.yaml --config {room}/election.yaml",
        "leader --snapshot {room}/shop",
        "leader simulate --crash 20s-40s --slow-api 1s@50s-60s --upgrade 70s --clock-skew 2s --clock-drift 1%",
        "leader simulate --no-release --fail-over 20s",
    ],
)
def test_answers_are_valid_by_the_schema(words: str, room: Path) -> None:
    printed = run(*words.format(room=room).split(), "-o", "json")
    assert printed.code in (0, 1), printed.err
    validate(json.loads(printed.out))


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        ("--duration 1000000h", "3 candidates for 3,600,000,000 s make 5,400,000,000 attempts", "use a shorter"),
        ("--duration 1000000h --candidates 1", "1 candidate for 3,600,000,000 s make", "use a shorter"),
        ("--candidates 50 --duration 72h", "50 candidates for 259,200 s make 6,480,000", "fewer --candidates"),
        ("--partition 1s-1000000h=all", "make 5,400,000,068 attempts", "until the last fault"),
        ("--retry-period 1ns", "at most 5,000,000 are simulated", "a longer --retry-period"),
        ("--fail-over 1000000h", "3.6e+09 s until another leads is too long", "at most 1 hour"),
    ],
)
def test_an_election_that_takes_too_long_is_refused(words: str, problem: str, hint: str) -> None:
    printed = run("leader", "simulate", *words.split())
    assert printed.code == 2
    assert problem in printed.err
    assert hint in printed.err


@pytest.mark.parametrize("option", ["--crash", "--partition", "--slow-api"])
@pytest.mark.parametrize("digits", ["0", "4", "9" * 5000])
def test_a_candidate_that_does_not_exist_is_refused(option: str, digits: str) -> None:
    printed = run("leader", "simulate", option, f"20s={digits}")
    assert printed.code == 2
    assert "is not a candidate: 1 to 3, leader or all" in " ".join(printed.err.replace("│", "").split())
    assert len(printed.err) < 1000


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room")
    make_room(folder)
    return folder
