"""Pods for which kube-scheduler 1.35 cannot score nodes, as some of their claims are allocated already."""

from __future__ import annotations

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.releases.release import RELEASES
from tests.builders import decide, make_cluster, make_node
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_device, make_slice

OLD, NEW = make_claim("old", holds=["x/y"]), make_claim("new")
START = "kube-scheduler 1.35 cannot score nodes for a pod with both allocated and new ResourceClaims: "


@pytest.mark.parametrize(
    ("release", "nodes", "claims", "cause"),
    [
        pytest.param("1.35", "ab", [OLD, NEW], f"{START}allocated old, new new", id="the allocated claim first"),
        pytest.param("1.35", "ab", [NEW, OLD], f"{START}allocated old, new new", id="the new claim first"),
        pytest.param("1.35", "ab", [NEW], "", id="a new claim"),
        pytest.param("1.35", "ab", [OLD], "", id="an allocated claim"),
        pytest.param("1.35", "a", [OLD, NEW], "", id="one node, which is not scored"),
        pytest.param("1.34", "ab", [OLD, NEW], "", id="the release before, which does not score devices"),
        pytest.param("1.36", "ab", [OLD, NEW], "", id="the release after"),
    ],
)
def test_scoring_fails(release: str, nodes: str, claims: list[ResourceClaim], cause: str) -> None:
    slices = [make_slice(name, make_device("gpu-0"), node=name) for name in nodes]
    cluster = make_cluster([make_node(name) for name in nodes], [], make_class(), *slices, *claims)
    pod = claiming_pod(*(claim.name for claim in claims))
    decision = decide(pod, cluster, release=RELEASES[release])
    assert bool(decision.error) == bool(cause)
    assert [found.cause for found in diagnose(decision)] == ([cause] if cause else [])
