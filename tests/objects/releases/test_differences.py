"""The rules that differ between releases, and their words for people who upgrade."""

from dataclasses import fields, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import structs

from kschedctl.objects.releases.differences import NOT_OF_ONE_POD, differing_rules, with_values_of
from kschedctl.objects.releases.release import LATEST, RELEASES, Release
from kschedctl.objects.releases.rule_words import RULE_WORDS
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD, DeviceRules, PodGroupRules

PAIRS = [*pairwise(RELEASES.values())]


@pytest.mark.parametrize(("older", "newer"), PAIRS, ids=[f"{old.version} to {new.version}" for old, new in PAIRS])
def test_every_rule_that_differs_has_words(older: Release, newer: Release) -> None:
    """A new field with another value in a release needs words: add it to rule_words.py.

    If it has no effect on the decision for one pod, it belongs to NOT_OF_ONE_POD in differences.py instead.
    """
    assert [rule.path for rule in differing_rules(older, newer) if rule.path not in RULE_WORDS] == []


def test_words_are_about_fields_and_gates_that_exist() -> None:
    gates = {f"features.{gate}" for release in RELEASES.values() for gate in release.features}
    known = {field.name for field in fields(Release)} | gates
    known |= {f"devices.{name}" for name in DeviceRules.__struct_fields__}
    known |= {f"pod_group_rules.{name}" for name in PodGroupRules.__struct_fields__}
    assert set(RULE_WORDS) <= known
    assert set(NOT_OF_ONE_POD) <= known
    assert set(RULE_WORDS).isdisjoint(NOT_OF_ONE_POD)


def test_rules_have_names_of_their_own() -> None:
    names = [words.name for words in RULE_WORDS.values()]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(("older", "newer"), PAIRS, ids=[f"{old.version} to {new.version}" for old, new in PAIRS])
def test_all_rules_of_the_older_release_leave_no_difference(older: Release, newer: Release) -> None:
    rules = differing_rules(older, newer)
    assert rules
    assert differing_rules(older, with_values_of(newer, older, rules)) == ()


@pytest.mark.parametrize(
    ("changes", "path", "values", "since", "before", "after"),
    [
        pytest.param(
            {"names_untolerated_taint": True},
            "names_untolerated_taint",
            (False, True),
            "",
            "the message of TaintToleration does not name the taint",
            "the message of TaintToleration names the taint",
            id="a field",
        ),
        pytest.param(
            {"devices": structs.replace(LATEST.devices, taints=False)},
            "devices.taints",
            (True, False),
            "",
            "taints of devices count",
            "taints of devices are ignored",
            id="a field of a part",
        ),
        pytest.param(
            {"features": MappingProxyType({**LATEST.features, "StorageCapacityScoring": False})},
            "features.StorageCapacityScoring",
            (True, False),
            "",
            "VolumeBinding prefers nodes by the free storage for volumes that are provisioned",
            "the free storage of nodes does not change their scores",
            id="a gate",
        ),
        pytest.param(
            {"features": MappingProxyType({**LATEST.features, GENERIC_WORKLOAD: True})},
            f"features.{GENERIC_WORKLOAD}",
            (False, True),
            "",
            "the feature gate GenericWorkload is off",
            "the feature gate GenericWorkload is on",
            id="a gate without words of its own",
        ),
        pytest.param(
            {"claim_in_use": "in use"},
            "claim_in_use",
            (LATEST.claim_in_use, "in use"),
            "",
            f'the message about a ReadWriteOncePod claim that another pod uses: "{LATEST.claim_in_use}"',
            'the message about a ReadWriteOncePod claim that another pod uses: "in use"',
            id="a text",
        ),
    ],
)
def test_difference(
    changes: dict[str, Any], path: str, values: tuple[object, object], since: str, before: str, after: str
) -> None:
    changed = replace(LATEST, **changes)
    (rule,) = differing_rules(LATEST, changed)
    assert (rule.path, rule.values, rule.since) == (path, values, since)
    assert (rule.text(0), rule.text(1)) == (before, after)
    assert with_values_of(changed, LATEST, (rule,)) == LATEST


@pytest.mark.parametrize(
    ("first", "second", "path", "since"),
    [
        ("1.36", "1.38", "preemption_names_node", "1.37"),
        ("1.38", "1.36", "preemption_names_node", "1.37"),
        ("1.37", "1.38", "empty_spread_selector_counts", "1.38"),
        ("1.34", "1.35", "devices.distinct_attribute", "1.35"),
        ("1.35", "1.37", "devices.distinct_attribute", "1.36"),
    ],
)
def test_the_release_that_changed_a_rule(first: str, second: str, path: str, since: str) -> None:
    found = {rule.path: rule.since for rule in differing_rules(RELEASES[first], RELEASES[second])}
    assert found[path] == since


def test_a_rule_that_changed_and_changed_back_does_not_differ() -> None:
    paths = [rule.path for rule in differing_rules(RELEASES["1.34"], RELEASES["1.36"])]
    assert "devices.distinct_attribute" not in paths
