"""Objects of which a real API server told what it refuses: the same objects, the same words, the same order."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedctl.common.findings import Severity
from kschedctl.objects.releases.release import RELEASES
from kschedctl.objects.validation.validate import validate
from tests.objects.validation.generator import made_up
from tests.objects.validation.groups import GATES, GROUP_BASES, GROUP_KINDS, GroupProbe, group_probes, release_with
from tests.objects.validation.probes import BASES, NEWEST, NEWEST_GATES, NewestProbe, Probe, newest_probes, probes
from tests.objects.validation.saying import Said, said

EVERY = probes()


@pytest.mark.parametrize("probe", EVERY, ids=str)
def test_said_as_an_api_server_says_it(probe: Probe) -> None:
    before = copy.deepcopy(probe.object)
    found = said(probe.object)
    assert found == Said(probe.refused, probe.pods, found.warned)
    assert sorted(found.warned) == sorted(probe.warned)
    assert probe.object == before


def test_every_kind_and_every_verdict_is_probed() -> None:
    assert {probe.object["kind"] for probe in EVERY} == set(BASES)
    assert len({probe.what for probe in EVERY}) == len(EVERY) > 250
    assert sum(bool(probe.refused) for probe in EVERY) > 200
    assert any(probe.pods for probe in EVERY)
    assert any(probe.warned for probe in EVERY)


@pytest.mark.parametrize("probe", newest_probes(), ids=str)
def test_said_as_by_the_newest_api_server(probe: NewestProbe) -> None:
    release = RELEASES[NEWEST]
    if probe.gates_on:
        release = replace(release, features={**release.features, **dict.fromkeys(NEWEST_GATES, True)})
    assert said(probe.object, release) == Said(probe.refused, (), probe.warned)


GROUP_PROBES = group_probes()
KINDS = [(release, kind) for release, bases in GROUP_BASES.items() for kind in bases]
#: A PodGroup with a problem in every field of a feature gate.
GATED: dict[str, Any] = {
    "schedulingPolicy": {"basic": {}},
    "schedulingConstraints": {"topology": [{"key": "a b"}]},
    "resourceClaims": [{"name": "A", "resourceClaimName": "a"}],
}


@pytest.mark.parametrize("probe", GROUP_PROBES, ids=str)
def test_groups_are_answered_as_by_an_api_server(probe: GroupProbe) -> None:
    before = copy.deepcopy(probe.object)
    assert said(probe.object, release_with(probe.release, every_gate=probe.every_gate)) == Said(probe.refused, (), ())
    assert probe.object == before


def test_every_kind_of_group_and_every_verdict_is_probed() -> None:
    probed = {(probe.release, probe.object["apiVersion"], probe.object["kind"]) for probe in GROUP_PROBES}
    assert {kind for _, _, kind in probed} == {*GROUP_KINDS, "Pod"}
    assert {release for release, *_ in probed} == set(GATES)
    assert any(probe.refused for probe in GROUP_PROBES if not probe.every_gate)
    assert len(GROUP_PROBES) > 90
    assert 15 < sum(not probe.refused for probe in GROUP_PROBES) < 60


@given(st.sampled_from(KINDS), st.integers(0, 2**32), st.booleans())
def test_every_object_gets_an_answer(of: tuple[str, str], seed: int, every_gate: bool) -> None:
    release, kind = of
    obj = made_up(kind, seed, GROUP_BASES[release])
    for version in RELEASES:
        rules = release_with(version, every_gate=every_gate) if version in GATES else RELEASES[version]
        found = list(validate(obj["apiVersion"], obj["kind"], obj, rules))
        assert all(finding.problem and finding.rule for finding in found)
        assert obj["kind"] == "Pod" or all(finding.severity is Severity.ERROR for finding in found)


@pytest.mark.parametrize(
    ("api_version", "release", "n_problems"),
    [
        ("scheduling.k8s.io/v1alpha2", "1.36", 2),
        ("scheduling.k8s.io/v1alpha2", "1.37", 0),
        ("scheduling.k8s.io/v1beta1", "1.36", 0),
        ("scheduling.k8s.io/v1beta1", "1.37", 2),
        ("scheduling.k8s.io/v1alpha3", "1.37", 2),
        ("scheduling.k8s.io/v1alpha1", "1.37", 0),
        ("scheduling.k8s.io/v1beta1", "1.38", 2),
        ("scheduling.k8s.io/v1alpha3", "1.38", 2),
        ("scheduling.k8s.io/v1alpha2", "1.38", 0),
    ],
)
def test_a_version_has_rules_where_it_is_served(api_version: str, release: str, n_problems: int) -> None:
    obj = {"metadata": {"name": "web"}, "spec": GATED}
    assert len(list(validate(api_version, "PodGroup", obj, release_with(release)))) == n_problems


@pytest.mark.parametrize("release", GATES)
def test_fields_of_gates_that_are_off_are_dropped(release: str) -> None:
    version = {"1.36": "v1alpha2", "1.37": "v1beta1", "1.38": "v1beta1"}[release]
    obj = {"metadata": {"name": "web"}, "spec": GATED}
    assert list(validate(f"scheduling.k8s.io/{version}", "PodGroup", obj, RELEASES[release])) == []


def test_the_group_of_a_pod_is_dropped_where_the_gate_is_off() -> None:
    spec = {"containers": [{"name": "a", "image": "a"}], "schedulingGroup": {"podGroupName": "A B"}}
    pod = {"metadata": {"name": "web"}, "spec": spec}
    assert list(validate("v1", "Pod", pod, RELEASES["1.37"])) == []
    [finding] = validate("v1", "Pod", pod, release_with("1.37"))
    assert finding.field == "spec.schedulingGroup.podGroupName"
    template = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}}
    deployment = {"metadata": {"name": "web"}, "spec": template}
    [finding] = validate("apps/v1", "Deployment", deployment, release_with("1.37"))
    assert finding.field == "spec.template.spec.schedulingGroup.podGroupName"
