"""Expected orders and weights are those of kube-scheduler."""

from typing import Any

import pytest

from kschedctl.objects.releases.release import RELEASES
from kschedctl.scheduler.framework.config.profile import Profile
from kschedctl.scheduler.framework.extension_point import ExtensionPoint
from tests.scheduler.framework.config.config_builders import load, make_config, make_plugins, refusal


def profile_of(**plugins: Any) -> Profile:
    return load(make_config({"plugins": plugins})).profiles["default-scheduler"]


def test_default_profile_runs_the_default_plugins_in_their_order() -> None:
    profile = profile_of()
    assert profile.plugins[ExtensionPoint.QUEUE_SORT] == ("PrioritySort",)
    assert profile.plugins[ExtensionPoint.POST_FILTER] == ("DynamicResources", "DefaultPreemption")
    assert profile.plugins[ExtensionPoint.FILTER][:3] == ("NodeName", "NodeUnschedulable", "TaintToleration")
    assert profile.plugins[ExtensionPoint.FILTER][-1] == "NodeDeclaredFeatures"
    assert profile.plugins[ExtensionPoint.PERMIT] == ()
    assert dict(profile.weights) == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_default_plugins_are_those_of_the_release() -> None:
    plugins = load(make_config(), RELEASES["1.34"]).profiles["default-scheduler"].plugins
    assert "NodeDeclaredFeatures" not in plugins[ExtensionPoint.FILTER]
    assert plugins[ExtensionPoint.FILTER][:2] == ("NodeUnschedulable", "NodeName")


@pytest.mark.parametrize(
    ("point", "name", "versions"),
    [
        pytest.param("filter", "DeferredPodScheduling", ["1.37", "1.38"], id="of a gate that came with 1.37"),
        pytest.param("multiPoint", "DeferredPodScheduling", ["1.37", "1.38"], id="at all its points"),
        pytest.param("permit", "GangScheduling", ["1.35", "1.36", "1.37"], id="of a gate that came with 1.35"),
        pytest.param("reserve", "GangScheduling", ["1.35"], id="and left a point"),
        pytest.param("placementScore", "PodGroupPodsCount", ["1.36", "1.37", "1.38"], id="for groups only"),
        pytest.param(
            "multiPoint", "TopologyPlacementGenerator", ["1.36", "1.37", "1.38"], id="for groups, at all points"
        ),
        pytest.param("podGroupPostFilter", "DynamicResources", ["1.37", "1.38"], id="a point of groups"),
    ],
)
def test_plugins_of_gates_that_are_off_may_be_named_and_have_no_effect(
    point: str, name: str, versions: list[str]
) -> None:
    for version, release in RELEASES.items():
        config = make_config({"plugins": {point: make_plugins(name)}})
        if version in versions:
            default = load(make_config(), release).profiles["default-scheduler"]
            assert load(config, release).profiles["default-scheduler"].plugins == default.plugins
        else:
            assert "does not e" in refusal(config, release) or "unknown field" in refusal(config, release)


def test_what_is_no_plugin_of_groups_is_refused_there() -> None:
    config = make_config({"plugins": {"podGroupPostFilter": make_plugins("NodeName")}})
    assert refusal(config).endswith('plugin "NodeName" does not extend PodGroupPostFilterPlugin plugin')


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        pytest.param(
            {"multiPoint": make_plugins("ImageLocality=5 NodeAffinity", "VolumeBinding")},
            "TaintToleration=3 NodeAffinity=1 NodeResourcesFit=1 PodTopologySpread=2 InterPodAffinity=2 "
            "DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=5",
            id="a default plugin that is enabled again keeps its place and loses its weight",
        ),
        pytest.param(
            {"multiPoint": make_plugins("PrioritySort DefaultBinder ImageLocality NodeAffinity=4", "*")},
            "ImageLocality=1 NodeAffinity=4",
            id="with all default plugins disabled the order is that of the file",
        ),
        pytest.param(
            {"score": make_plugins("Custom=7 ImageLocality=9 NodeAffinity", "TaintToleration VolumeBinding")},
            "ImageLocality=9 NodeAffinity=1 NodeResourcesFit=1 PodTopologySpread=2 InterPodAffinity=2 "
            "DynamicResources=2 NodeResourcesBalancedAllocation=1 Custom=7",
            id="at a point, first what overrides multiPoint, then multiPoint, then the rest",
        ),
        pytest.param(
            {"score": make_plugins("ImageLocality NodeAffinity=3", "*")},
            "ImageLocality=1 NodeAffinity=3",
            id="with all disabled at a point only what is enabled there runs",
        ),
        pytest.param(
            {"score": make_plugins("ImageLocality=2", "ImageLocality *")},
            "ImageLocality=2",
            id="enabled wins over disabled",
        ),
    ],
)
def test_score_plugins(plugins: dict[str, Any], expected: str) -> None:
    assert " ".join(f"{name}={weight}" for name, weight in profile_of(**plugins).weights.items()) == expected


def test_overriding_is_said() -> None:
    plugins = {"multiPoint": make_plugins("NodeAffinity"), "score": make_plugins("ImageLocality")}
    assert load(make_config({"plugins": plugins})).warnings == (
        "Default plugin is explicitly re-configured; overriding: NodeAffinity",
        "MultiPoint plugin is explicitly re-configured; overriding: ImageLocality",
    )
