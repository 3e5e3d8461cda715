"""Recorded sequences: many pods through kube-scheduler's own loop, every attempt compared."""

from __future__ import annotations

import pytest

from conformance import recordings
from conformance.asking import ours
from conformance.comparison import differences

RECORDED = recordings.sequence_releases()


def differing(version: str, numbers: slice) -> dict[str, dict[str, str]]:
    """Return the differences in some of a release's sequences, without the races."""
    side, races = ours(version), recordings.races(version)
    found = {
        case["id"]: differences(recorded, side(case))
        for case, recorded in recordings.sequences(version)[numbers]
        if case["id"] not in races
    }
    return {name: parts for name, parts in found.items() if parts}


@pytest.mark.parametrize("version", RECORDED)
def test_some_sequences_equal_the_recorded_ones(version: str) -> None:
    assert differing(version, slice(0, 150, 15)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("version", RECORDED)
def test_all_sequences_equal_the_recorded_ones(version: str) -> None:
    assert differing(version, slice(None)) == {}


@pytest.mark.parametrize("version", RECORDED)
def test_races_are_recorded_sequences(version: str) -> None:
    assert set(recordings.races(version)) <= {case["id"] for case, _ in recordings.sequences(version)}
