"""The choices of the reference scheduler on clusters of which it looks at a sample, start by start."""

import pytest

from conformance import jsonlines
from conformance.samples import CASES, answers, cases, differing
from kschedctl.objects.releases.release import RELEASES

RECORDED = {case["id"]: case for case in jsonlines.read(CASES)}


def recorded(version: str) -> dict[str, list[str]]:
    return {answer["id"]: answer["nodes"] for answer in jsonlines.read(answers(version))}


@pytest.mark.parametrize("version", RELEASES)
def test_the_choice_of_every_cycle_is_a_best_node_of_its_sample(version: str) -> None:
    found = recorded(version)
    assert list(found) == list(RECORDED)
    # The first two cases have the adaptive percentage; the others are compared by the slow test.
    for name in list(found)[:2]:
        assert differing(RECORDED[name], found[name], version) == []


@pytest.mark.slow
@pytest.mark.parametrize("version", RELEASES)
def test_all_recorded_choices(version: str) -> None:
    for name, nodes in recorded(version).items():
        assert differing(RECORDED[name], nodes, version) == []


def test_another_choice_is_reported() -> None:
    name, nodes = next(iter(recorded("1.36").items()))
    other = next(each for each in reversed(nodes) if each not in ("", nodes[0]))
    (pod, node, expected), *_ = differing(RECORDED[name], [other, *nodes[1:]], "1.36")
    assert (pod, node) == ("p00", other)
    assert nodes[0] in expected


def test_samples_matter_in_the_recorded_cases() -> None:
    # Over all nodes, as with 100 %, some choices would be others.
    name, nodes = next(iter(recorded("1.36").items()))
    case = RECORDED[name]
    profile = {**case["config"]["profiles"][0], "percentageOfNodesToScore": 100}
    assert differing({**case, "config": {**case["config"], "profiles": [profile]}}, nodes, "1.36")


def test_cases_depend_on_seed_and_number_only() -> None:
    first, *_ = cases(7, 2)
    assert first == next(cases(7, 1))
    assert first != next(cases(8, 1))
