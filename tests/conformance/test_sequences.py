from collections.abc import Iterable, Iterator

import pytest

from conformance import recordings
from conformance.asking import Judge, ours
from conformance.builds import versions
from conformance.comparison import differences
from conformance.differing import compared
from conformance.jsonlines import Object
from conformance.sequences import follows, is_race, with_choices
from kschedctl.objects.releases.release import RELEASES

HEAD: Object = {"pod": "d/a", "node": "n"}
NEXT: Object = {"pod": "d/b", "node": "n"}
FAILED: Object = {"pod": "d/b", "message": "0/2"}
OTHER_TURN: Object = {"pod": "d/c", "message": "0/2"}


def answer(*attempts: Object) -> Object:
    return {"id": "s", "attempts": list(attempts), "pods": {}}


def test_choices_are_what_each_attempt_of_a_pod_came_to() -> None:
    attempts: list[Object] = [
        {"pod": "d/a", "message": "0/1", "nominated": "node-1", "victims": ["d/v"]},
        {"pod": "d/b", "message": "0/1"},
        {"pod": "d/a", "node": "node-1"},
    ]
    case = with_choices({"id": "s", "pods": []}, answer(*attempts))
    assert case["choices"] == {"d/a": ["node-1", "node-1"], "d/b": [""]}


def gang(*picks: str, nominated: str = "", outcome: str = "scheduled") -> Object:
    members = [{"pod": f"d/g-{i}", "nominated": nominated} for i in range(len(picks))]
    pairs = [[f"d/g-{i}", node] for i, node in enumerate(picks)]
    return {"group": "d/g", "outcome": outcome, "members": members, "picks": pairs}


def test_choices_of_a_group_are_the_nodes_of_its_picks() -> None:
    tried_in_vain: Object = {"group": "d/g", "outcome": "unschedulable", "members": None}
    case = with_choices({"id": "s", "pods": []}, answer(gang("n", ""), HEAD, tried_in_vain))
    assert case["choices"] == {"group d/g": [["n", ""], []], "d/a": ["n"]}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(gang("n", "n"), True, id="the same"),
        pytest.param(gang("n", "m", outcome="unschedulable"), True, id="another pick"),
        pytest.param(gang("n", "n", nominated="m"), False, id="another nominated node"),
        pytest.param(gang("n", "n", outcome="unschedulable"), False, id="another outcome of the same picks"),
        pytest.param({**gang("n", "n"), "group": "d/h"}, False, id="another group"),
        pytest.param(HEAD, False, id="a pod"),
    ],
)
def test_attempts_at_groups_may_differ_by_choices_only(other: Object, expected: bool) -> None:
    assert follows(answer(gang("n", "n"), HEAD), answer(other, HEAD)) is expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param([HEAD, NEXT], True, id="the same"),
        pytest.param([HEAD, {"pod": "d/b", "node": "m"}], True, id="another of the best nodes"),
        pytest.param([{"pod": "d/a", "node": "m"}, FAILED], True, id="what follows from a choice"),
        pytest.param([HEAD, {"pod": "d/c", "node": "n"}], False, id="another pod comes first"),
        pytest.param([HEAD, FAILED], False, id="a node or none"),
        pytest.param([HEAD], False, id="an attempt less"),
    ],
)
def test_sequences_may_differ_by_choices_only(other: list[Object], expected: bool) -> None:
    assert follows(answer(HEAD, NEXT), answer(*other)) is expected


@pytest.mark.parametrize(
    ("ours", "again", "expected"),
    [
        pytest.param([HEAD, FAILED], [[HEAD, NEXT, HEAD]], False, id="it says the same again"),
        pytest.param([HEAD, FAILED], [[HEAD, NEXT, HEAD], [HEAD, OTHER_TURN]], True, id="it takes another turn there"),
        pytest.param([HEAD, FAILED], [[HEAD, {"pod": "d/b", "node": "m"}]], False, id="it only chooses another node"),
        pytest.param([HEAD, FAILED], [[HEAD, NEXT, OTHER_TURN]], False, id="it takes another turn later than ours"),
        pytest.param([HEAD, NEXT, OTHER_TURN], [[HEAD, OTHER_TURN]], True, id="it takes another turn before ours"),
    ],
)
def test_a_race_is_where_the_scheduler_leaves_its_own_answer(
    ours: list[Object], again: list[list[Object]], expected: bool
) -> None:
    said = answer(HEAD, NEXT, HEAD)
    assert is_race(said, answer(*ours), (answer(*other) for other in again)) is expected


class Scripted(Judge):
    """A judge whose answers are given: the first to ``ask``, the others one by one."""

    def __init__(self, first: Object, *others: Object) -> None:
        super().__init__([])
        self._first, self._others = first, others
        self.n_asked = 0

    def ask(self, cases: Iterable[Object]) -> Iterator[Object]:
        return (self._first for _ in cases)

    def __call__(self, case: Object) -> Object:
        self.n_asked += 1
        return self._others[self.n_asked % len(self._others)]


def test_ours_follows_the_choices_of_the_judge() -> None:
    asked: list[Object] = []

    def side(case: Object) -> Object:
        asked.append(case)
        return answer(HEAD, NEXT)

    ((case, found),) = compared([{"id": "s", "pods": []}], Scripted(answer(HEAD, NEXT)), side)
    assert found is None
    assert asked == [case]
    assert case["choices"] == {"d/a": ["n"], "d/b": ["n"]}


@pytest.mark.parametrize(
    ("others", "race", "n_asked"),
    [
        pytest.param([answer(HEAD, NEXT)], False, 10, id="settled"),
        pytest.param([answer(HEAD, NEXT), answer(HEAD, OTHER_TURN)], True, 1, id="a race"),
    ],
)
def test_races_are_told_apart_by_asking_again(others: list[Object], race: bool, n_asked: int) -> None:
    judge = Scripted(answer(HEAD, NEXT), *others)
    ((case, found),) = compared([{"id": "s", "pods": []}], judge, lambda case: answer(HEAD, FAILED))
    assert found is not None
    assert (found.is_race, found.explained) == (race, race)
    assert list(found.parts) == ["attempts"]
    assert found.case == case
    assert judge.n_asked == n_asked


NEWEST = [*RELEASES][-1]
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


@pytest.mark.sample
@pytest.mark.parametrize(("theme", "version"), RECORDED)
def test_some_sequences_equal_the_recorded_ones(theme: str, version: str) -> None:
    assert differing(theme, version, slice(0, None, 15)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("theme", "version"), RECORDED)
def test_all_sequences_equal_the_recorded_ones(theme: str, version: str) -> None:
    assert differing(theme, version, slice(None)) == {}


@pytest.mark.parametrize(
    ("version", "theme", "source"),
    [("1.99", "sequence", NEWEST), ("1.99", "groups", NEWEST), ("1.36", "groups", "1.36"), ("1.35", "groups", None)],
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
