import pytest

from conformance.builds import versions
from kschedctl.common.errors import UnsupportedError
from kschedctl.objects.releases.choice import choose_release
from kschedctl.objects.releases.feature_gates import known_gates
from kschedctl.objects.releases.names import RELEASE_NAMES
from kschedctl.objects.releases.release import LATEST, PATCH_RELEASES, RELEASES, Release

SCORING = "StorageCapacityScoring"
LIMITS = "VolumeLimitScaling"
GATES = ("NodeDeclaredFeatures", SCORING, LIMITS, "PodLevelResources")


def test_the_newest_published_release_is_the_default() -> None:
    published = [version for version in RELEASES if "-" not in versions()[version]]
    assert published[-1] == LATEST.version
    assert tuple(RELEASES) == RELEASE_NAMES


def test_gates_have_the_defaults_of_their_release() -> None:
    assert {gate: [r.enabled(gate) for r in RELEASES.values()] for gate in GATES} == {
        "NodeDeclaredFeatures": [False, False, False, True, True, True],
        SCORING: [False, False, False, False, True, True],
        LIMITS: [False, False, False, False, True, True],
        "PodLevelResources": [False, True, True, True, True, True],
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
    assert weights == [None, 0, 2, 2, 2, 2]


def test_node_name_comes_before_node_unschedulable_from_1_37_on() -> None:
    first = [[name for name, _ in release.default_plugins[2:4]] for release in RELEASES.values()]
    older = ["NodeUnschedulable", "NodeName"]
    assert first == [*[older] * 4, *[older[::-1]] * 2]


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_modelled_gates_are_those_of_kube_scheduler(release: Release) -> None:
    known = known_gates(release.version)
    gates = {gate: on for gate, on in release.features.items() if gate in known}
    assert {gate: known[gate].default for gate in gates} == gates
    assert all(known[gate].decides for gate in gates)
    # What is no gate any more is on for good.
    assert all(on for gate, on in release.features.items() if gate not in known)


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


NEWEST = LATEST.version


@pytest.mark.parametrize(
    ("requested", "server", "kubelets", "version", "why"),
    [
        pytest.param("1.34", "v1.36.3", ["v1.35.0"], "1.34", "as requested", id="an option counts most"),
        pytest.param("v1.35.2", "", [], "1.35", "as requested", id="a patch version means its minor"),
        pytest.param("", "v1.35.4", ["v1.36.0"], "1.35", "the control plane is v1.35.4", id="then the control plane"),
        pytest.param("", "v1.35.4-gke.100", [], "1.35", "the control plane is v1.35.4-gke.100", id="of any vendor"),
        pytest.param(
            "", "", ["v1.34.1", "v1.36.0", "v1.35.9"], "1.36", "the newest kubelet is v1.36.0", id="then the kubelets"
        ),
        pytest.param("", "", [], NEWEST, "the snapshot has no version", id="else the newest release"),
        pytest.param("", "unknown", ["", "dev"], NEWEST, "the snapshot has no version", id="no version at all"),
    ],
)
def test_choice(requested: str, server: str, kubelets: list[str], version: str, why: str) -> None:
    choice = choose_release(requested, server, kubelets)
    assert (choice.release.version, choice.why, choice.warning) == (version, why, "")


@pytest.mark.parametrize(
    ("requested", "server", "kubelets", "patched"),
    [
        pytest.param("1.37", "v1.37.2", [], False, id="a minor release means its first patch release"),
        pytest.param("1.37.0", "", [], False, id="before the change"),
        pytest.param("1.37-gke.100", "", [], False, id="a version without a patch number"),
        pytest.param("v1.37.1", "", [], True, id="with the change"),
        pytest.param("", "v1.37.12-gke.100", [], True, id="after it, in the control plane"),
        pytest.param("", "v1.37.0", ["v1.37.2"], False, id="the control plane counts more than the kubelets"),
        pytest.param("", "", ["v1.36.9", "v1.37.2"], True, id="the newest kubelet"),
    ],
)
def test_patch_releases(requested: str, server: str, kubelets: list[str], patched: bool) -> None:
    ((number, rules),) = PATCH_RELEASES["1.37"]
    release = choose_release(requested, server, kubelets).release
    assert (number, release.version) == (1, "1.37")
    assert release is (rules if patched else RELEASES["1.37"])


@pytest.mark.parametrize(("server", "version"), [("v1.29.1", "1.33"), ("v1.99.0", "1.38"), ("v2.0.0", "1.38")])
def test_for_a_release_that_is_not_modelled_the_nearest_counts_with_a_warning(server: str, version: str) -> None:
    choice = choose_release("", server, [])
    assert choice.release.version == version
    text = f"not modelled: the cluster's version {server}; the rules of Kubernetes {version}"
    assert choice.warning.startswith(text)


@pytest.mark.parametrize("requested", ["1.29", "latest", "1"])
def test_what_is_asked_for_and_not_modelled_is_refused(requested: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        choose_release(requested, "", [])
    assert str(caught.value) == f"Kubernetes {requested} is not modelled\n  the versions are {', '.join(RELEASES)}"


IN_1_36 = "GenericWorkload GangScheduling"
PLACES = "TopologyPlacementGenerator PodGroupPodsCount"
GROUP_PLUGINS = {"GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"}


@pytest.mark.parametrize(
    ("version", "gates", "plugins", "properties"),
    [
        pytest.param("1.36", "", "", "", id="1.36 without gates"),
        pytest.param("1.36", "GenericWorkload", "", "pod_groups", id="1.36: the cycle without gangs"),
        pytest.param("1.36", IN_1_36, "GangScheduling", "pod_groups gangs", id="1.36: gangs"),
        pytest.param(
            "1.36",
            f"{IN_1_36} WorkloadAwarePreemption",
            "GangScheduling",
            "pod_groups gangs groups_preempt",
            id="1.36: preemption by groups",
        ),
        pytest.param(
            "1.36",
            "GenericWorkload TopologyAwareWorkloadScheduling",
            PLACES,
            "pod_groups places_groups",
            id="1.36: placements without gangs",
        ),
        pytest.param("1.37", "", "", "", id="1.37 without gates"),
        pytest.param(
            "1.37", "GenericWorkload", "GangScheduling", "pod_groups gangs groups_preempt", id="1.37: one for all three"
        ),
        pytest.param(
            "1.37",
            "GenericWorkload TopologyAwareWorkloadScheduling",
            f"GangScheduling {PLACES}",
            "pod_groups gangs groups_preempt places_groups",
            id="1.37: placements",
        ),
    ],
)
def test_gates_turn_on(version: str, gates: str, plugins: str, properties: str) -> None:
    release = RELEASES[version].with_features(dict.fromkeys(gates.split(), True))
    by_default = [(name, weight) for name, weight in release.default_plugins if name in GROUP_PLUGINS]
    assert by_default == [(name, int(name == "PodGroupPodsCount")) for name in plugins.split()]
    assert release.default_plugins[: -len(by_default) or None] == RELEASES[version].default_plugins
    names = ("pod_groups", "gangs", "groups_preempt", "places_groups")
    assert [name for name in names if getattr(release, name)] == [name for name in names if name in properties.split()]


@pytest.mark.parametrize(
    ("version", "gates", "problem"),
    [
        pytest.param(
            "1.36",
            "GangScheduling",
            "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]\n"
            "  add GenericWorkload=true",
            id="gangs need the cycle",
        ),
        pytest.param(
            "1.36",
            "GenericWorkload WorkloadAwarePreemption",
            "WorkloadAwarePreemption is enabled, but depends on features that are disabled: [GangScheduling]\n"
            "  add GangScheduling=true",
            id="preemption by groups needs gangs",
        ),
        pytest.param(
            "1.37",
            "TopologyAwareWorkloadScheduling",
            "TopologyAwareWorkloadScheduling is enabled, but depends on features that are disabled: [GenericWorkload]\n"
            "  add GenericWorkload=true",
            id="placements need the cycle",
        ),
        pytest.param(
            "1.37",
            "PodGroupPreemptionPolicy",
            "PodGroupPreemptionPolicy is enabled, but depends on features that are disabled: [GenericWorkload]\n"
            "  add GenericWorkload=true",
            id="the group's policy needs the cycle",
        ),
        pytest.param("1.37", "GangScheduling", "unrecognized feature gate: GangScheduling", id="gone in 1.37"),
        pytest.param("1.37", "WorkloadAwarePreemption", "unrecognized feature gate: Workload", id="gone in 1.37 too"),
        pytest.param("1.36", "PodGroupPreemptionPolicy", "unrecognized feature gate: PodGroup", id="not yet in 1.36"),
        pytest.param("1.34", "GenericWorkload", "unrecognized feature gate: GenericWorkload", id="not yet in 1.34"),
        pytest.param("1.35", "GenericWorkload", "feature gate GenericWorkload is not modelled", id="another API"),
        pytest.param(
            "1.37", "CompositePodGroup", "feature gate CompositePodGroup is not modelled", id="groups of groups"
        ),
    ],
)
def test_gates_are_refused(version: str, gates: str, problem: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        RELEASES[version].with_features(dict.fromkeys(gates.split(), True))
    assert str(caught.value).startswith(problem)
