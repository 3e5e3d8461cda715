import pytest

from kschedctl.objects.releases.feature_gates import known_gates
from kschedctl.objects.releases.names import RELEASE_NAMES
from kschedctl.objects.releases.release import LATEST, RELEASES, Release

SCORING = "StorageCapacityScoring"
LIMITS = "VolumeLimitScaling"
GATES = ("NodeDeclaredFeatures", SCORING, LIMITS, "PodLevelResources")


def test_the_newest_release_is_the_default() -> None:
    assert list(RELEASES)[-1] == LATEST.version
    assert tuple(RELEASES) == RELEASE_NAMES


def test_gates_have_the_defaults_of_their_release() -> None:
    assert {gate: [r.enabled(gate) for r in RELEASES.values()] for gate in GATES} == {
        "NodeDeclaredFeatures": [False, False, False, True, True],
        SCORING: [False, False, False, False, True],
        LIMITS: [False, False, False, False, True],
        "PodLevelResources": [False, True, True, True, True],
    }
    assert not LATEST.enabled("NoSuchGate")


def test_setting_a_gate_gives_another_release() -> None:
    off = LATEST.with_features({"PodLevelResources": False})
    assert not off.enabled("PodLevelResources")
    assert LATEST.enabled("PodLevelResources")
    assert off.version == LATEST.version


def test_a_gate_brings_its_plugin_at_the_end_of_the_profile() -> None:
    release = RELEASES["1.35"]
    on = release.with_features({"NodeDeclaredFeatures": True})
    assert on.default_plugins == (*release.default_plugins, ("NodeDeclaredFeatures", 0))


def test_dynamic_resources_came_with_1_34_and_has_a_weight_from_1_35_on() -> None:
    weights = [dict(release.default_plugins).get("DynamicResources") for release in RELEASES.values()]
    assert weights == [None, 0, 2, 2, 2]


def test_node_name_comes_before_node_unschedulable_from_1_37_on() -> None:
    first = [[name for name, _ in release.default_plugins[2:4]] for release in RELEASES.values()]
    older = ["NodeUnschedulable", "NodeName"]
    assert first == [*[older] * 4, older[::-1]]


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_modelled_gates_are_those_of_kube_scheduler(release: Release) -> None:
    known = known_gates(release.version)
    assert {gate: known[gate].default for gate in release.features} == dict(release.features)
    assert all(known[gate].decides for gate in release.features)


@pytest.mark.parametrize(
    ("gate", "free"),
    [
        ("InPlacePodVerticalScaling", ["1.33", "1.34"]),
        ("NodeDeclaredFeatures", ["1.35", "1.36"]),
        (SCORING, [*RELEASES]),
    ],
)
def test_gates_are_locked_once_their_feature_is_generally_available(gate: str, free: list[str]) -> None:
    known = [release for release in RELEASES.values() if gate in release.features]
    assert [release.version for release in known if gate not in release.locked_features] == free
    assert all("NodeInclusionPolicyInPodTopologySpread" in release.locked_features for release in RELEASES.values())


def test_a_gate_that_decides_nothing_is_kept_on_record() -> None:
    release = LATEST.with_features({"SchedulerAsyncPreemption": False, "PodLevelResources": False})
    assert release.idle_gates == ("SchedulerAsyncPreemption",)
    assert dict(release.features) == dict(LATEST.features) | {"PodLevelResources": False}
