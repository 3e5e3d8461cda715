import json
from collections import Counter
from typing import Any

import pytest

from conformance import generate
from conformance.asking import ours
from conformance.generate.groups_parts import APIS
from conformance.jsonlines import line
from conformance.sequences import is_sequence
from kschedctl.objects.releases.feature_gates import known_gates
from kschedctl.objects.releases.release import LATEST, RELEASES

ALONE = [theme for theme in generate.THEMES if not is_sequence(generate.case(theme, 1, 1))]
COUNT = 30
GROUPS = [
    pytest.param(case, id=f"{release} {case['id']}")
    for release in APIS
    for case in generate.cases("groups", 1, COUNT, release=release)
] + [pytest.param(case, id=case["id"]) for case in generate.cases("trees", 1, COUNT)]


def objects(case: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [found for found in case["objects"] if found["kind"] == kind]


@pytest.mark.parametrize("theme", generate.THEMES)
def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(theme: str) -> None:
    first, again, other = (list(map(line, generate.cases(theme, seed, COUNT))) for seed in (1, 1, 2))
    assert first == again
    assert not set(first) & set(other)


@pytest.mark.parametrize("theme", ALONE)
def test_cases_are_clusters_that_can_be_decided(theme: str) -> None:
    side = ours(generate.release_of(theme))
    answers = [side(case) for case in generate.cases(theme, 1, COUNT)]
    decided = [answer for answer in answers if "error" not in answer]
    assert len(decided) >= COUNT * 3 / 4, [answer["error"] for answer in answers if "error" in answer]
    feasible = [bool(answer.get("best")) for answer in decided]
    assert any(feasible)


#: Since 1.38 victims that started at the same time have an order.
STARTED_TOGETHER = {"release138"}


@pytest.mark.parametrize("theme", generate.THEMES)
def test_nothing_in_a_case_hangs_on_chance(theme: str) -> None:
    for case in generate.cases(theme, 1, COUNT):
        names = Counter((o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in case["objects"])
        assert max(names.values()) == 1
        sizes = [json.dumps(pv["spec"]["capacity"]) for pv in objects(case, "PersistentVolume")]
        assert len(sizes) == len(set(sizes))
        starts = Counter((pod["spec"].get("nodeName"), pod["status"].get("startTime")) for pod in objects(case, "Pod"))
        if theme not in STARTED_TOGETHER:
            assert all(n == 1 for (_, start), n in starts.items() if start is not None)


@pytest.mark.parametrize("theme", generate.THEMES)
def test_what_pods_refer_to_is_there(theme: str) -> None:
    for case in generate.cases(theme, 1, COUNT):
        namespaces = {found["metadata"]["name"] for found in objects(case, "Namespace")}
        pods = [*objects(case, "Pod"), *case.get("pods", ()), *([case["pod"]] if "pod" in case else ())]
        assert {pod["metadata"]["namespace"] for pod in pods} <= namespaces


def test_large_clusters_are_as_large_as_asked() -> None:
    assert [len(objects(case, "Node")) for case in generate.cases("taints", 1, 3, 40)] == [40, 40, 40]


def test_sequences_have_pods_in_the_order_of_their_creation() -> None:
    for case in generate.cases("sequence", 1, COUNT):
        assert "pod" not in case
        keys = [pod["metadata"]["name"] for pod in case["pods"]]
        assert len(keys) == len(set(keys))
        for workload in {name.split("-")[0] for name in keys}:
            replicas = [int(name.split("-")[1]) for name in keys if name.startswith(f"{workload}-")]
            assert replicas == sorted(replicas)


def named(found: dict[str, Any]) -> tuple[str, str, str]:
    meta = found.get("metadata", found)
    return found["kind"], meta.get("namespace", ""), meta["name"]


@pytest.mark.parametrize("case", GROUPS)
def test_stages_create_what_is_not_there_and_delete_what_was(case: dict[str, Any]) -> None:
    there = {named(found) for found in (*case["objects"], *case["pods"])}
    assert len(there) == len(case["objects"]) + len(case["pods"])
    for stage in case.get("then", ()):
        created = [named(found) for found in stage.get("create", ())]
        assert len(created) == len(set(created))
        assert not there & set(created)
        there |= set(created)
        deleted = {named(name) for name in stage.get("delete", ())}
        assert deleted <= there
        there -= deleted


@pytest.mark.parametrize("release", RELEASES)
def test_groups_are_of_the_api_of_the_release(release: str) -> None:
    served = {f"scheduling.k8s.io/{version}" for version in RELEASES[release].validation.pod_group_versions}
    assert ("groups" in generate.themes(release)) == bool(served)
    for case in generate.cases("groups", 1, 5, release=release) if served else ():
        versions = {found["apiVersion"] for found in objects(case, "PodGroup")}
        assert versions <= served
        assert set(case["featureGates"]) <= set(known_gates(release))


def test_groups_are_of_every_kind() -> None:
    cases = list(generate.cases("groups", 1, 60))
    text = json.dumps(cases)
    fields = ("minCount", "basic", "schedulingConstraints", "all", "single", "nominatedNodeName", "schedulingGates")
    values = ("Never", "second", "PodDisruptionBudget", "PreemptionByScheduler")
    assert [word for word in (*fields, *values) if f'"{word}"' not in text] == []
    deleted = {name["kind"] for case in cases for stage in case.get("then", ()) for name in stage.get("delete", ())}
    assert deleted >= {"Pod", "PodGroup"}


def test_trees_are_of_every_kind() -> None:
    cases = list(generate.cases("trees", 1, 135))
    inner = [objects(case, "CompositePodGroup") for case in cases]
    assert sum(map(bool, inner)) > len(cases) * 3 / 4  # a stage creates the only one of the others
    assert max(len(found) for found in inner) > 3
    text = json.dumps(cases)
    fields = ("minGroupCount", "parentCompositePodGroupName", "topology", "all", "single", "basic", "another", "second")
    assert [word for word in fields if f'"{word}"' not in text] == []
    deleted = {name["kind"] for case in cases for stage in case.get("then", ()) for name in stage.get("delete", ())}
    assert "CompositePodGroup" in deleted


def test_a_theme_is_in_the_api_of_the_latest_release_that_can_answer_it() -> None:
    assert generate.release_of("taints") == LATEST.version
    assert "trees" in generate.themes(generate.release_of("trees"))
    assert "release138" not in generate.themes("1.37")
