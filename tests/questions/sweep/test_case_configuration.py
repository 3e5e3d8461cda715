"""Configurations with other weights and arguments, as they are written and as kube-scheduler reads them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kschedctl.common.errors import ConfigError
from kschedctl.objects.releases.release import LATEST
from kschedctl.questions.sweep.case_configuration import configured
from kschedctl.scheduler.framework.config.load import load_configuration
from kschedctl.scheduler.framework.config.profile import Profile
from kschedctl.scheduler.framework.config.types import NodeResourcesFitArgs
from kschedctl.scheduler.plugins.registry import in_tree_registry
from tests.builders import make_profile

FIT = "NodeResourcesFit"
TAINTS = "TaintToleration"
PLAIN = make_profile()
SCORE = "score"


def profiles(config: dict[str, Any]) -> list[Profile]:
    points = in_tree_registry().extension_points(LATEST)
    return list(load_configuration(config, release=LATEST, implements=points).profiles.values())


DEFAULT = dict(profiles(PLAIN)[0].weights)


def with_score(**plugins: Any) -> dict[str, Any]:
    return make_profile(plugins={SCORE: plugins})


@pytest.mark.parametrize(
    ("config", "weights", "expected"),
    [
        (None, {FIT: 7}, DEFAULT | {FIT: 7}),
        (PLAIN, {FIT: 7, TAINTS: 1}, DEFAULT | {FIT: 7, TAINTS: 1}),
        (PLAIN, {FIT: 0}, {name: weight for name, weight in DEFAULT.items() if name != FIT}),
        (with_score(enabled=[{"name": FIT, "weight": 3}]), {FIT: 7}, DEFAULT | {FIT: 7}),
        (with_score(disabled=[{"name": FIT}]), {FIT: 7}, DEFAULT | {FIT: 7}),
        (with_score(disabled=[{"name": "*"}]), {FIT: 7}, {FIT: 7}),
        (make_profile(plugins={"multiPoint": {"enabled": [{"name": FIT, "weight": 3}]}}), {FIT: 7}, DEFAULT | {FIT: 7}),
        (with_score(enabled=[{"name": FIT, "weight": 3}]), {TAINTS: 9}, DEFAULT | {FIT: 3, TAINTS: 9}),
    ],
)
def test_weights(config: dict[str, Any] | None, weights: dict[str, int], expected: dict[str, int]) -> None:
    before = deepcopy(config)
    (profile,) = profiles(configured(config, weights, {}))
    assert dict(profile.weights) == expected
    assert config == before


def test_arguments_are_set_beside_those_that_are_there() -> None:
    given = make_profile(pluginConfig=[{"name": FIT, "args": {"ignoredResources": ["example.com/x"]}}])
    (profile,) = profiles(configured(given, {}, {FIT: {"scoringStrategy.type": "MostAllocated"}}))
    args = profile.args[FIT]
    assert isinstance(args, NodeResourcesFitArgs)
    assert (args.ignored_resources, args.scoring_strategy.type) == (("example.com/x",), "MostAllocated")
    assert [resource.name for resource in args.scoring_strategy.resources] == ["cpu", "memory"]


def test_all_profiles_change() -> None:
    two = {**PLAIN, "profiles": [{"schedulerName": "one"}, {"schedulerName": "two"}]}
    found = profiles(configured(two, {FIT: 7}, {FIT: {"scoringStrategy.type": "MostAllocated"}}))
    assert [(p.scheduler_name, p.weights[FIT], p.args[FIT].scoring_strategy.type) for p in found] == [  # type: ignore[attr-defined]
        ("one", 7, "MostAllocated"),
        ("two", 7, "MostAllocated"),
    ]


def test_nothing_changes_without_changes() -> None:
    assert configured(PLAIN, {}, {}) == PLAIN


@pytest.mark.parametrize("config", [{"profiles": {}, "x": 1}, {"profiles": ["x"]}, {"profiles": [{"plugins": []}]}])
def test_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configured(config, {FIT: 1}, {})
