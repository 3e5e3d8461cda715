"""Recorded sequences: many pods through kube-scheduler's own loop, every attempt compared."""

from __future__ import annotations

import pytest

from conformance import recordings
from conformance.asking import ours
from conformance.comparison import differences
from conformance.sequences import with_choices
from kschedctl.releases.release import RELEASES

RECORDED = [(theme, version) for version in RELEASES for theme in recordings.sequence_themes(version)]


def differing(theme: str, version: str, numbers: slice) -> dict[str, dict[str, str]]:
    """Return the differences in some of a release's sequences of a theme, without the races."""
    side, races = ours(version), recordings.races(version)
    found = {
        case["id"]: differences(recorded, side(case))
        for case, recorded in recordings.sequences(version, theme)[numbers]
        if case["id"] not in races
    }
    return {name: parts for name, parts in found.items() if parts}


@pytest.mark.parametrize(("theme", "version"), RECORDED)
def test_some_sequences_equal_the_recorded_ones(theme: str, version: str) -> None:
    assert differing(theme, version, slice(0, None, 15)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "version"), RECORDED)
def test_all_sequences_equal_the_recorded_ones(theme: str, version: str) -> None:
    assert differing(theme, version, slice(None)) == {}


@pytest.mark.parametrize("version", recordings.sequence_releases())
def test_races_are_recorded_sequences(version: str) -> None:
    themes = recordings.sequence_themes(version)
    names = {case["id"] for theme in themes for case, _ in recordings.sequences(version, theme)}
    assert set(recordings.races(version)) <= names


@pytest.mark.parametrize("version", recordings.sequence_releases("groups"))
def test_recorded_groups_contain_the_choices_of_their_answers(version: str) -> None:
    recorded = recordings.sequences(version, "groups")
    assert len(recorded) == len({case["id"] for case, _ in recorded}) >= 200
    for case, answer in recorded:
        assert with_choices(case, answer)["choices"] == case["choices"]
        assert case["featureGates"]["GenericWorkload"]
