"""The gates of pod groups: what they turn on, which others they need, and in which release they exist."""

import pytest

from kschedctl.common.errors import UnsupportedError
from kschedctl.objects.releases.release import RELEASES

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
