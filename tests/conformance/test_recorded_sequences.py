"""Recorded sequences: many pods through kube-scheduler's own loop, every attempt compared."""

import pytest

from conformance import recordings
from conformance.asking import ours
from conformance.builds import versions
from conformance.comparison import differences
from conformance.sequences import with_choices
from kschedctl.objects.releases.release import LATEST, RELEASES

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


@pytest.mark.parametrize(
    ("version", "theme", "source"),
    [
        ("1.99", "sequence", LATEST.version),
        ("1.99", "groups", LATEST.version),
        ("1.36", "groups", "1.36"),
        ("1.35", "groups", None),
    ],
    ids=["a new release runs those of the one before", "groups too", "its own", "none before the first"],
)
def test_the_source_of_sequences(version: str, theme: str, source: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "versions", lambda: {**versions(), "1.99": "1.99.0"})
    assert recordings.sequence_source(version, theme) == source


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
