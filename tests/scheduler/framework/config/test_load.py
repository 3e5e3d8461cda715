"""Rejections of a configuration, and most messages, are kube-scheduler's."""

from typing import Any

import pytest

from kschedctl.common.errors import ConfigError
from kschedctl.common.findings import Position
from kschedctl.objects.duration import Duration
from kschedctl.objects.releases.release import LATEST, RELEASES
from kschedctl.scheduler.framework.config import types as api
from kschedctl.scheduler.framework.config.load import default_configuration, load_configuration
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.scheduler.framework.config.config_builders import IMPLEMENTS, load, make_config, make_plugins, refusal

ARGS = "profiles[0].pluginConfig[0].args"


def make_args(name: str, args: Any) -> dict[str, Any]:
    return make_config({"pluginConfig": [{"name": name, "args": args}]})


def test_defaults() -> None:
    config = default_configuration(LATEST, IMPLEMENTS)
    args = config.profiles["default-scheduler"].args
    assert list(config.profiles) == ["default-scheduler"]
    assert config.percentage_of_nodes_to_score == 0
    assert config.settings.pod_max_backoff_seconds == 10
    assert args == api.default_args(LATEST)
    assert args["DynamicResources"] == api.DynamicResourcesArgs(binding_timeout=Duration.seconds(600))
    assert args["NodeResourcesFit"] == api.NodeResourcesFitArgs(
        scoring_strategy=api.ScoringStrategy(
            type="LeastAllocated",
            resources=(api.ResourceSpec(name="cpu", weight=1), api.ResourceSpec(name="memory", weight=1)),
        )
    )


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(make_config(profiles=[], parallelism=None, leaderElection=None), id="null is absent"),
        pytest.param(make_config(profiles=[None]), id="a null profile is the default one"),
        pytest.param(make_args("NodeResourcesFit", None), id="null args are the default ones"),
        pytest.param(make_args("NodeResourcesFit", {"kind": "NodeResourcesFitArgs"}), id="args may say their kind"),
        pytest.param(make_args("Unknown", 5), id="args of an unknown plugin"),
        pytest.param(make_config(clientConnection={"qps": -1, "burst": 0}), id="a burst of 0 is none"),
        pytest.param(make_config({"plugins": {"placementScore": make_plugins("NodeResourcesFit")}}), id="placement"),
        pytest.param(
            make_config({"plugins": {"multiPoint": make_plugins(disabled="NodeResourcesFit")}, "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "x"}}}]}),
            id="nobody looks at the args of NodeResourcesFit where it does not run",
        ),
    ],
)  # fmt: skip
def test_accepts(data: Any) -> None:
    load(data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"kind": "KubeSchedulerConfiguration"}, "apiVersion: Required value"),
        (
            make_config() | {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
            'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3"',
        ),
        (make_config(foo=1), "foo: unknown field"),
        (make_config(parallelism="1"), 'parallelism: expected int32, got string "1"'),
        (make_config(parallelism=1.0), "parallelism: expected int32, got number 1.0"),
        (make_config(parallelism=True), "parallelism: expected int32, got bool true"),
        (make_config(parallelism=2**31), "parallelism: expected int32, got number 2147483648"),
        (make_config(parallelism=0), "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        (make_config(leaderElection={"retryPeriod": None}), 'leaderElection.retryPeriod: time: invalid duration ""'),
        (
            make_config(leaderElection={"leaseDuration": "3s"}),
            'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
        ),
        (
            make_config(percentageOfNodesToScore=101),
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ),
        (make_config({"schedulerName": "a"}, {}), "profiles[1].schedulerName: Required value"),
        (
            make_config({"schedulerName": "a"}, {"schedulerName": "a"}),
            'profiles[1].schedulerName: Duplicate value: "a"',
        ),
        (
            make_config({"plugins": {"score": make_plugins("Missing")}}),
            'profiles[0].plugins.score.enabled[0]: ScorePlugin "Missing" does not exist',
        ),
        (
            make_config({"plugins": {"multiPoint": make_plugins("Missing"), "preFilter": make_plugins(disabled="*")}}),
            'profiles[0].plugins.multiPoint.enabled[0]: FilterPlugin "Missing" does not exist',
        ),
        (
            make_config({"plugins": {"filter": make_plugins("ImageLocality")}}),
            'profiles[0].plugins.filter.enabled[0]: plugin "ImageLocality" does not extend FilterPlugin plugin',
        ),
        (
            make_config({"plugins": {"score": make_plugins("ImageLocality ImageLocality=2")}}),
            'profiles[0].plugins.score.enabled[1]: plugin "ImageLocality" already registered as "ScorePlugin"',
        ),
        (
            make_config({"plugins": {"score": make_plugins("ImageLocality=-3")}}),
            "profiles[0].plugins.score: total score of Score plugins could overflow",
        ),
        (
            make_config({"plugins": {"bind": make_plugins(disabled="*")}}),
            'profiles[0].plugins.bind: at least one bind plugin is needed for profile with scheduler name "default-sch',
        ),
        (
            make_config({"plugins": {"multiPoint": make_plugins("Custom")}}),
            "profiles[0].plugins.queueSort: only one queue sort plugin required for profile with scheduler name "
            '"default-scheduler", but got 2',
        ),
        (
            make_config(
                {"schedulerName": "a", "plugins": {"queueSort": make_plugins("PrioritySort")}}, {"schedulerName": "b"}
            ),
            'profiles[1].plugins.queueSort: Invalid value: {"Enabled":null,"Disabled":null}: must be the same',
        ),
        (
            make_config(
                {"schedulerName": "a"},
                {"schedulerName": "b", "pluginConfig": [{"name": "PrioritySort", "args": {"x": 1}}]},
            ),
            'profiles[1].pluginConfig: different queue sort plugin args for profile "b"',
        ),
        (
            make_config({"pluginConfig": [{"name": "Custom"}, {"name": "Custom"}]}),
            'profiles[0].pluginConfig[1]: Duplicate value: "Custom"',
        ),
        (
            make_config({"pluginConfig": [{"name": "EBSLimits"}]}),
            'profiles[0].pluginConfig[0]: Invalid value: "EBSLimits": was invalid in version "v1"',
        ),
        (make_args("NodeAffinity", {"addedAffinity": {"x": {}}}), f"{ARGS}.addedAffinity.x: unknown field"),
        (make_args("NodeAffinity", {"kind": "Other"}), f'{ARGS}: "Other" of version "" is not NodeAffinityArgs of'),
        (make_args("NodeAffinity", []), f"{ARGS}: expected object, got array"),
        (
            make_args("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": [
                {"name": "cpu", "weight": 101}]}}),
            f"{ARGS}.scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid "
            "range (0, 100]",
        ),
        (
            make_args("NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio"}}),
            f"{ARGS}.scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is",
        ),
        (
            make_args("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 2}]}),
            f"{ARGS}.resources[0].weight: Invalid value: 2: must be 1",
        ),
        (
            make_args("PodTopologySpread", {"defaultConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}),
            f'{ARGS}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
        ),
        (
            make_args("InterPodAffinity", {"hardPodAffinityWeight": 101}),
            f"{ARGS}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        ),
        (
            make_args("VolumeBinding", {"shape": [{"utilization": 1}, {"utilization": 1}]}),
            f"{ARGS}.shape[1].utilization: Invalid value: 1: values must be sorted in increasing order",
        ),
        (
            make_args("VolumeBinding", {"shape": [{"utilization": 0, "score": 11}]}),
            f"{ARGS}.shape[0].score: Invalid value: 11: not in valid range [0, 10]",
        ),
        (
            make_config(extenders=[{"prioritizeVerb": "x"}]),
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
        (
            make_config(extenders=[{"managedResources": [{"name": "cpu"}]}]),
            'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
        ),
        (make_config(extenders=[{"enableHttps": True}]), "extenders[0].enableHttps: unknown field"),
        (make_config(extenders=[{"tlsConfig": {"caData": "!"}}]), "extenders[0].tlsConfig.caData: illegal base64 data"),
    ],
)  # fmt: skip
def test_refuses(data: Any, expected: str) -> None:
    assert refusal(data).startswith(expected)


def test_reports_all_problems_at_once() -> None:
    args = {"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1}
    assert refusal(make_args("DefaultPreemption", args)) == (
        "2 problems\n"
        f"  {ARGS}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]\n"
        f"  {ARGS}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"
    )


def test_releases_differ() -> None:
    timeout = make_args("DynamicResources", {"bindingTimeout": "10s"})
    assert refusal(timeout, RELEASES["1.34"]) == f"{ARGS}.bindingTimeout: unknown field"
    assert refusal(timeout, RELEASES["1.35"]).startswith(f"{ARGS}.bindingTimeout: Forbidden: DRADeviceBinding")
    load(timeout, RELEASES["1.36"])
    ratio = make_args(
        "NodeResourcesFit",
        {"scoringStrategy": {"type": "LeastAllocated", "requestedToCapacityRatio": {"shape": [{"utilization": 1}]}}},
    )
    load(ratio, RELEASES["1.35"])
    assert "must be nil when type is not RequestedToCapacityRatio" in refusal(ratio, RELEASES["1.36"])
    placement = make_config({"plugins": {"placementScore": {}}})
    assert refusal(placement, RELEASES["1.35"]) == "profiles[0].plugins.placementScore: unknown field"
    for_groups = make_config({"plugins": {"podGroupPostFilter": make_plugins("DynamicResources")}})
    assert refusal(for_groups, RELEASES["1.36"]) == "profiles[0].plugins.podGroupPostFilter: unknown field"
    load(for_groups, RELEASES["1.37"])
    shape = make_args("VolumeBinding", {"shape": []})
    assert refusal(shape, RELEASES["1.36"]).startswith(f"{ARGS}.shape: Invalid value: []: unexpected field `shape`")
    load(shape, RELEASES["1.37"])


TREES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
NO_PLACEMENTS = "requires TopologyAwareWorkloadScheduling feature gate to be enabled"


def outcome(data: Any, version: str, gates: dict[str, bool]) -> str:
    """Return the error of a configuration with the in-tree plugins of a release; empty if it is accepted."""
    release, registry = RELEASES[version].with_features(gates), in_tree_registry()
    points = registry.extension_points(release)
    try:
        load_configuration(data, release=release, implements=points, args_types=registry.args_types)
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("point", "plugin", "gates", "old", "new"),
    [
        pytest.param("placementFeasible", "GangScheduling", {}, "unknown field", "", id="a gang, gates off"),
        pytest.param("placementFeasible", "GangScheduling", TREES, "unknown field", "", id="a gang, gates on"),
        pytest.param(
            "placementFeasible",
            "NodeName",
            {},
            "unknown field",
            'plugin "NodeName" does not extend PlacementFeasiblePlugin plugin',
            id="a plugin without that point",
        ),
        pytest.param(
            "placementFeasible",
            "Missing",
            {},
            "unknown field",
            'PlacementFeasiblePlugin "Missing" does not exist',
            id="a plugin that does not exist",
        ),
        pytest.param(
            "permit",
            "GangScheduling",
            TREES,
            "",
            'plugin "GangScheduling" does not extend PermitPlugin plugin',
            id="a gang at its former point",
        ),
        pytest.param(
            "reserve",
            "DefaultPreemption",
            {},
            'plugin "DefaultPreemption" does not extend ReservePlugin plugin',
            "",
            id="preemption at its new point",
        ),
    ],
)
def test_points_of_1_38(point: str, plugin: str, gates: dict[str, bool], old: str, new: str) -> None:
    config = make_config({"plugins": {point: make_plugins(plugin)}})
    for version, expected in (("1.37", old), ("1.38", new)):
        found = outcome(config, version, gates)
        assert found.endswith(expected) if expected else not found


@pytest.mark.parametrize(
    ("percentage", "gates", "old", "new"),
    [
        pytest.param(
            50, {}, "unknown field", f"Forbidden: percentageOfPlacementsToScore {NO_PLACEMENTS}", id="gates off"
        ),
        pytest.param(50, TREES, "unknown field", "", id="gates on"),
        pytest.param(0, TREES, "unknown field", "", id="the least"),
        pytest.param(100, TREES, "unknown field", "", id="the most"),
        pytest.param(101, TREES, "unknown field", "Invalid value: 101: not in valid range [0-100]", id="too much"),
        pytest.param(-1, TREES, "unknown field", "Invalid value: -1: not in valid range [0-100]", id="too little"),
    ],
)
@pytest.mark.parametrize("of_profile", [False, True], ids=["of the configuration", "of a profile"])
def test_percentage_of_placements(
    of_profile: bool, percentage: int, gates: dict[str, bool], old: str, new: str
) -> None:
    field = {"percentageOfPlacementsToScore": percentage}
    config = make_config(field) if of_profile else make_config(**field)
    path = "profiles[0].percentageOfPlacementsToScore" if of_profile else "percentageOfPlacementsToScore"
    for version, expected in (("1.37", old), ("1.38", new)):
        assert outcome(config, version, gates) == (f"{path}: {expected}" if expected else "")


@pytest.mark.parametrize(
    ("of_config", "of_profile", "expected"),
    [
        pytest.param({}, {}, None, id="none"),
        pytest.param({"percentageOfPlacementsToScore": 40}, {}, 40, id="that of the configuration"),
        pytest.param({}, {"percentageOfPlacementsToScore": 70}, 70, id="that of the profile"),
        pytest.param(
            {"percentageOfPlacementsToScore": 40},
            {"percentageOfPlacementsToScore": 70},
            70,
            id="the profile's own first",
        ),
        pytest.param(
            {"percentageOfPlacementsToScore": 40}, {"percentageOfPlacementsToScore": 0}, 0, id="also where it is 0"
        ),
    ],
)
def test_percentage_of_placements_that_applies(
    of_config: dict[str, int], of_profile: dict[str, int], expected: int | None
) -> None:
    config = load(make_config(of_profile, **of_config), RELEASES["1.38"].with_features(TREES))
    assert config.profiles["default-scheduler"].percentage_of_placements_to_score == expected


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        pytest.param({}, [(0, 10), (100, 0)], id="without one, storage with much room scores high"),
        pytest.param({"shape": []}, [(0, 10), (100, 0)], id="an empty one is none"),
        pytest.param({"shape": [{"utilization": 50, "score": 3}]}, [(50, 3)], id="as given"),
    ],
)
def test_the_shape_of_volume_binding(given: dict[str, Any], shape: list[tuple[int, int]]) -> None:
    args = load(make_args("VolumeBinding", given)).profiles["default-scheduler"].args["VolumeBinding"]
    assert isinstance(args, api.VolumeBindingArgs)
    assert [(point.utilization, point.score) for point in args.shape or ()] == shape


def test_a_release_without_scoring_by_storage_has_no_shape() -> None:
    args = load(make_args("VolumeBinding", {}), RELEASES["1.36"]).profiles["default-scheduler"].args["VolumeBinding"]
    assert args == api.VolumeBindingArgs()


def test_args_of_other_plugins_are_kept_as_written() -> None:
    config = load(make_config({"pluginConfig": [{"name": "Custom", "args": {"a": [1]}}, {"name": "Gone", "args": 5}]}))
    assert config.profiles["default-scheduler"].args["Custom"] == api.RawArgs({"a": [1]})
    assert config.warnings == ('profiles[0].pluginConfig[1]: there is no plugin "Gone"; its args have no effect',)


@pytest.mark.parametrize(
    ("name", "warned"),
    [
        ("ImageLocalty", ' "ImageLocalty" (did you mean ImageLocality?)'),
        ("SelectorSpread", ' "SelectorSpread"'),
        ("ImageLocality", ""),
        ("GangScheduling", ""),
        ("*", ""),
    ],
)
def test_disabling_what_is_not_there_is_said(name: str, warned: str) -> None:
    config = load(make_config({"plugins": {"score": {"disabled": [{"name": name}]}}}))
    expected = f"profiles[0].plugins.score.disabled[0]: there is no plugin{warned}; disabling it has no effect"
    assert config.warnings == ((expected,) if warned else ())


def test_extenders_that_may_be_ignored_come_last_and_replace_ignored_resources() -> None:
    first = {"urlPrefix": "a", "ignorable": True}
    second = {"urlPrefix": "b", "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}]}
    ignored = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/other"]}}
    config = load(make_config({"pluginConfig": [ignored]}, extenders=[first, second]))
    assert [extender.url_prefix for extender in config.extenders] == ["b", "a"]
    fit = config.profiles["default-scheduler"].args["NodeResourcesFit"]
    assert fit == api.NodeResourcesFitArgs(ignored_resources=("example.com/gpu",))


def test_weights_of_zero_are_one() -> None:
    config = load(make_args("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 0}]}))
    args = config.profiles["default-scheduler"].args["NodeResourcesBalancedAllocation"]
    assert args == api.NodeResourcesBalancedAllocationArgs(resources=(api.ResourceSpec(name="cpu", weight=1),))


HEAD = b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
JSON_HEAD = b'{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"'


def test_reads_text() -> None:
    assert load(HEAD + b"parallelism: 4\n---\nother: 1\n").settings.parallelism == 4
    assert load(b" \n" + JSON_HEAD + b',"parallelism":4}').settings.parallelism == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD + b"parallelism: 1\nparallelism: 2\n", 'line 4: key "parallelism" already set in map'),
        (JSON_HEAD + b',"parallelism":1,"parallelism":2}', "parallelism: duplicate field"),
        (JSON_HEAD + b',"parallelism":1e1}', "parallelism: expected int32, got number 10.0"),
        (JSON_HEAD, "is not JSON: "),
        (b"", "is not an object"),
        (b"[]", "is not an object"),
        (b"a: [", "file.yaml, document 1"),
        (JSON_HEAD + b',"x":' + b"[" * 100_000, "is nested too deeply"),
        (JSON_HEAD + b',"x":"\xff"}', "is not JSON: "),
        (JSON_HEAD + b',"profiles":[{"plugins":{"score":{"enabled":[{"name":"\\ud800"}]}}}]}', "does not exist"),
        (JSON_HEAD + b',"extenders":[{"managedResources":[{"name":"\\ud800"}]}]}', "name part must consist of"),
    ],
)
def test_refuses_text(text: bytes, expected: str) -> None:
    assert expected in refusal(text, where="file.yaml")


def test_a_key_given_twice_tells_its_position() -> None:
    with pytest.raises(ConfigError) as refused:
        load(HEAD + b"leaderElection:\n  leaderElect: true\n  leaderElect: false\n", where="file.yaml")
    (finding,) = refused.value.findings
    assert (finding.place, finding.field, finding.position) == ("file.yaml", "line 5", Position(5, 3))
