"""Recorded sequences: many pods through kube-scheduler's own loop, every attempt compared."""

from __future__ import annotations

import gzip
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from kschedctl.plugins.registry import in_tree_registry
from kschedctl.releases.release import RELEASES
from kschedctl.report.batch.sequence import sequence_answer
from kschedctl.simulate.cases import SequenceCase, run_sequence

FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "conformance" / "sequences"
#: Sequences in which chance decided more than the choices tell, by release.
RACES: Final[dict[str, list[str]]] = tomllib.loads((FOLDER / "races.toml").read_text())["races"]
RECORDED: Final = [version for version in RELEASES if (FOLDER / f"v{version}.cases.jsonl.gz").exists()]
#: All that is compared of an answer.
PARTS: Final = ("attempts", "pods", "nominations", "gated")


def lines(version: str, what: str) -> Iterator[bytes]:
    with gzip.open(FOLDER / f"v{version}.{what}.jsonl.gz") as file:
        yield from file


def answers(version: str) -> dict[str, dict[str, Any]]:
    return {answer["id"]: answer for answer in map(msgspec.json.decode, lines(version, "answers"))}


def differing(version: str, numbers: slice) -> list[str]:
    recorded = answers(version)
    cases = [msgspec.json.decode(line, type=SequenceCase) for line in lines(version, "cases")]
    wrong = []
    for case in cases[numbers]:
        if case.id in RACES.get(version, ()):
            continue
        played = run_sequence(case, RELEASES[version], in_tree_registry())
        ours = msgspec.json.decode(msgspec.json.encode(sequence_answer(case.id, played)))
        wrong += [f"{case.id}: {part}" for part in PARTS if ours.get(part) != recorded[case.id].get(part)]
    return wrong


@pytest.mark.parametrize("version", RECORDED)
def test_some_sequences_equal_the_recorded_ones(version: str) -> None:
    assert differing(version, slice(0, 150, 15)) == []


@pytest.mark.slow
@pytest.mark.parametrize("version", RECORDED)
def test_all_sequences_equal_the_recorded_ones(version: str) -> None:
    assert differing(version, slice(None)) == []


def test_races_are_recorded_sequences() -> None:
    for version, names in RACES.items():
        assert set(names) <= set(answers(version))
