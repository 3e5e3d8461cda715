"""The judge itself, where it has been built: the real scheduler, asked small questions whose answers are plain."""

import json
import subprocess
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from benchmarks.real_scheduler import GROUP_RELEASES
from conformance import builds
from conformance.asking import Judge
from conformance.comparison import differences
from conformance.generate.groups_parts import APIS
from conformance.jsonlines import read
from conformance.recordings import RECORDINGS, has_answers, recorded_answers, sequence_themes, sequences
from conformance.sequences import with_choices
from kschedctl.objects.releases.feature_gates import known_gates
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD

N_RECORDED = 5


@pytest.fixture(scope="module", params=builds.versions())
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def judge(release: str) -> Iterator[Judge]:
    program = builds.built(release)
    if program is None:
        pytest.skip(f"no judge is built: python -m conformance build {release}")
    with Judge(program) as running:
        yield running


def node(name: str, cpu: str = "4", **spec: Any) -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    meta = {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name}}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": {"allocatable": allocatable},
    }  # fmt: skip


def pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    meta = {"name": name, "namespace": "d", "uid": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def test_a_pod_goes_where_it_fits(judge: Judge) -> None:
    answer = judge({"id": "x", "objects": [node("a"), node("b", unschedulable=True)], "pod": pod("p")})
    assert answer["best"] == ["a"]
    cordoned = {"code": "UnschedulableAndUnresolvable", "plugin": "NodeUnschedulable"}
    assert answer["filter"] == {"a": {"code": "Success"}, "b": {**cordoned, "reasons": ["node(s) were unschedulable"]}}


def test_what_does_not_fit_has_the_text_of_the_event(judge: Judge) -> None:
    answer = judge({"id": "x", "objects": [node("a")], "pod": pod("p", cpu="8")})
    assert answer["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert answer["preemption"]["status"]["code"] == "Unschedulable"


def test_victims_of_preemption(judge: Judge) -> None:
    low = pod("low", cpu="4", nodeName="a", priority=0)
    answer = judge({"id": "x", "objects": [node("a"), low], "pod": pod("p", cpu="4", priority=10)})
    assert answer["preemption"]["candidates"] == {"a": {"victims": ["d/low"], "pdbViolations": 0}}
    assert answer["preemption"]["nominated"] == ["a"]


def test_a_kind_that_the_release_does_not_know_has_no_answer(judge: Judge) -> None:
    stranger = {"apiVersion": "example.com/v1", "kind": "Stranger", "metadata": {"name": "s"}}
    answer = judge({"id": "x", "objects": [stranger], "pod": pod("p")})
    assert answer["unknown"].startswith("objects[0]: no kind ")
    assert set(answer) == {"id", "unknown"}


@pytest.mark.parametrize(
    ("version", "kind"), [("resource.k8s.io/v1", "ResourceClaim"), ("storage.k8s.io/v1", "VolumeAttributesClass")]
)
def test_what_older_releases_know_by_another_version_is_read_by_every_release(
    judge: Judge, version: str, kind: str
) -> None:
    found = {"apiVersion": version, "kind": kind, "metadata": {"name": "c", "namespace": "d"}, "spec": {}}
    assert judge({"id": "x", "objects": [node("a"), found], "pod": pod("p")})["best"] == ["a"]


def test_the_table_of_feature_gates_is_what_the_scheduler_lists(release: str, judge: Judge) -> None:
    if release not in RELEASES:
        pytest.skip(f"there are no rules of {release} yet")
    listed = subprocess.run([builds.cache() / release / "judge", "-gates"], capture_output=True, text=True, check=True)
    known = {
        name: f"{'on' if gate.default else 'off'}{'!' if gate.locked else ''}"
        for name, gate in known_gates(release).items()
    }
    assert dict(line.split() for line in listed.stdout.splitlines()) == known


def bench(release: str, *lines: Any) -> list[dict[str, Any]]:
    given = "".join(f"{json.dumps(line)}\n" for line in lines)
    program = builds.cache() / release / "judge"
    printed = subprocess.run([program, "-bench"], input=given, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


def test_the_bench_places_pods_one_after_another_and_finds_candidates(release: str, judge: Judge) -> None:
    lines = [node("a", cpu="2"), pod("low", nodeName="a", priority=0), [pod("fits")], [pod("p", cpu="2", priority=10)]]
    answers = bench(release, *lines)
    assert [(answer["placed"], answer["candidates"]) for answer in answers] == [(1, 0), (0, 1)]
    assert all(answer["seconds"] >= 0 for answer in answers)


def test_the_bench_tells_the_picks_and_the_victims_of_a_gang(release: str, judge: Judge) -> None:
    if release not in GROUP_RELEASES:
        pytest.skip(f"{release} does not preempt for groups by default")
    group = pod_group(release, 2)
    group["spec"]["priority"] = 10
    of_group = {"schedulerName": "default-scheduler", "schedulingGroup": {"podGroupName": "g"}, "priority": 10}
    members = [pod(name, cpu="2", **of_group) for name in ("one", "two")]
    low = [pod(f"low-{name}", cpu="2", nodeName=name, priority=0) for name in ("a", "b")]
    (answer,) = bench(release, node("a", cpu="2"), node("b", cpu="2"), *low, [group, *members])
    # The first search finds no node; then the whole group is tried without the pods of lower priority.
    assert (answer["picks"][0], sorted(answer["picks"][1:])) == ("", ["a", "b"])
    assert (answer["victims"], answer["placed"]) == (["d/low-a", "d/low-b"], 0)


def test_a_wrong_configuration_is_refused(judge: Judge) -> None:
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    config = {**header, "profiles": [{"schedulerName": "default-scheduler", "percentageOfNodesToScore": 101}]}
    assert judge({"id": "x", "objects": [], "pod": pod("p"), "config": config})["error"].startswith("config: ")


def test_a_sequence_evicts_and_comes_back(judge: Judge) -> None:
    low, high = pod("low", cpu="4", priority=0, nodeName="a"), pod("high", cpu="4", priority=10)
    # The scheduler deletes victims beside its loop: on a busy machine an answer can be written before it has.
    answers = (judge({"id": "x", "objects": [node("a"), low], "pods": [high]}) for _ in range(5))
    answer = next(found for found in answers if "victims" in found["attempts"][0])
    first, second = answer["attempts"]
    assert (first["pod"], first["nominated"], first["victims"]) == ("d/high", "a", ["d/low"])
    assert second == {"pod": "d/high", "node": "a"}
    assert answer["pods"] == {"d/high": "a"}


ALL_NEEDED = {
    version: dict.fromkeys((GENERIC_WORKLOAD, rules.gang_gate), True)
    for version, release in RELEASES.items()
    if (rules := release.pod_group_rules) is not None
}


def pod_group(release: str, minimum: int) -> dict[str, Any]:
    spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    meta = {"name": "g", "namespace": "d", "uid": "g"}
    return {"apiVersion": APIS[release].version, "kind": "PodGroup", "metadata": meta, "spec": spec}


def gang(n: int) -> list[dict[str, Any]]:
    return [pod(f"g-{i}", cpu="3", schedulingGroup={"podGroupName": "g"}) for i in range(1, n + 1)]


@pytest.fixture
def gates(release: str) -> dict[str, bool]:
    if release not in ALL_NEEDED:
        pytest.skip(f"{release} tries every pod by itself")
    return ALL_NEEDED[release]


def test_a_gang_waits_until_a_stage_brings_what_it_needs(judge: Judge, release: str, gates: dict[str, bool]) -> None:
    objects, then = [node("a"), pod_group(release, 2)], [{"create": [node("b")]}]
    answer = judge({"id": "x", "objects": objects, "pods": gang(2), "then": then, "featureGates": gates})
    *before, last = answer["attempts"]
    assert {made["outcome"] for made in before} == {"unschedulable"}
    assert before[0]["condition"]["status"] == "False"
    assert not any("condition" in made for made in before[1:])
    assert (last["group"], last["outcome"], last["condition"]["status"]) == ("d/g", "scheduled", "True")
    assert {member["pod"]: member["node"] for member in last["members"]} == answer["pods"]
    assert sorted(answer["pods"].values()) == ["a", "b"]
    assert [found["status"] for found in answer["groups"]["d/g"]] == ["True"]


def test_members_are_held_until_there_are_enough(judge: Judge, release: str, gates: dict[str, bool]) -> None:
    case = {"id": "x", "objects": [node("a"), pod_group(release, 2)], "pods": gang(1), "featureGates": gates}
    answer = judge(case)
    assert (answer["attempts"], answer["gated"]) == ([], ["d/g-1"])
    assert answer["held"]["d/g-1"]["plugin"] == "GangScheduling"
    gone = judge({**case, "then": [{"delete": [{"kind": "PodGroup", "namespace": "d", "name": "g"}]}]})
    assert "groups" not in gone
    text = "to appear" if release in ("1.36", "1.37") else "has not been created yet"
    assert text in gone["held"]["d/g-1"]["reasons"][0]


def test_gates_of_a_case_are_its_own(judge: Judge, release: str, gates: dict[str, bool]) -> None:
    case = {"id": "x", "objects": [node("a"), pod_group(release, 2)], "pods": gang(1)}
    asked: list[dict[str, Any]] = [case, {**case, "featureGates": gates}] * 5
    assert [len(answer["attempts"]) for answer in judge.ask(asked)] == [1, 0] * 5


def test_a_gate_that_the_release_does_not_know_has_no_answer(judge: Judge) -> None:
    answer = judge({"id": "x", "objects": [], "pod": pod("p"), "featureGates": {"NoSuchGate": True}})
    assert answer == {"id": "x", "unknown": "featureGates: no gate is named NoSuchGate"}


def test_recorded_sequences_of_groups_are_repeated_to_the_last_pick(judge: Judge, release: str) -> None:
    if "groups" not in sequence_themes(release):
        pytest.skip(f"no groups are recorded of {release}")
    recorded = sequences(release, "groups")[:N_RECORDED]
    for (case, expected), answer in zip(recorded, judge.ask([case for case, _ in recorded]), strict=True):
        assert differences(expected, answer) == {}
        assert with_choices(case, answer) == case


def test_it_still_says_what_was_recorded(judge: Judge, release: str) -> None:
    themes = [theme for theme in ("volumes", "spread", "preemption", "features") if has_answers(theme, release)]
    for theme in themes:
        recorded = recorded_answers(theme, release)
        asked = list(islice(read(RECORDINGS / "cases" / f"{theme}.jsonl.gz"), N_RECORDED))
        for case, answer in zip(asked, judge.ask(asked), strict=True):
            assert differences(recorded[case["id"]], answer) == {}
