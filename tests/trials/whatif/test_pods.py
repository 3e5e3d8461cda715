"""ResourceClaims when pods are removed and added."""

from __future__ import annotations

from typing import Any

import pytest

from kschedctl.controllers.workloads.template import fresh_pod
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate
from kschedctl.objects.pod import Pod
from kschedctl.trials.whatif.pods import move_pods
from tests.builders import decide, make_cluster, make_node, make_object, make_pod
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_slice, request

TEMPLATE = make_object(
    ResourceClaimTemplate,
    "gpus",
    namespace="default",
    spec={"spec": {"devices": {"requests": [request()]}}},
)


def templated(name: str, claim: str, **fields: Any) -> Pod:
    """Return a pod whose claim is created from a template."""
    entry = {"name": "gpu", "resourceClaimTemplateName": "gpus"}
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": claim}]}
    return make_pod(name, resourceClaims=[entry], status=status if claim else {}, **fields)


def held(name: str, *pods: str, **fields: Any) -> ResourceClaim:
    return make_claim(name, holds=[f"a/{name}"], node="a", reserved=pods, **fields)


def shown(claims: Any) -> dict[str, str]:
    """Return per claim the pods for which it is reserved, or that it has no devices."""
    return {
        claim.name: " ".join(user.name for user in claim.status.reserved_for) or "nobody"
        if claim.status.allocation is not None
        else "no devices"
        for claim in claims
    }


@pytest.mark.parametrize(
    ("claims", "left", "freed"),
    [
        pytest.param([held("c", "x")], {"c": "no devices"}, ("default/c",), id="its last pod goes"),
        pytest.param([held("c", "x", "y")], {"c": "y"}, (), id="another pod stays"),
        pytest.param([held("c", "y")], {"c": "y"}, (), id="a pod that is not meant"),
        pytest.param([held("c")], {"c": "nobody"}, (), id="one that was reserved for nobody keeps them"),
        pytest.param([held("c", "x", owner="x")], {}, ("default/c",), id="one that was made for the pod goes with it"),
        pytest.param([make_claim("c", owner="x")], {}, (), id="also without devices"),
        pytest.param(
            [held("c", "x"), held("d", "x", "y"), held("e", "x")],
            {"c": "no devices", "d": "y", "e": "no devices"},
            ("default/c", "default/e"),
            id="several",
        ),
    ],
)
def test_a_pod_goes(claims: list[ResourceClaim], left: dict[str, str], freed: tuple[str, ...]) -> None:
    pods = [make_pod("x", node="a"), make_pod("y", node="a"), make_pod("x", namespace="other", node="a")]
    cluster = make_cluster([make_node("a")], pods, *claims)
    moved = move_pods(cluster, removed=[0])
    assert shown(moved.cluster.list(ResourceClaim)) == left
    assert moved.freed == freed
    assert shown(cluster.list(ResourceClaim)) == shown(claims)


def test_what_is_told() -> None:
    claims = [held("c", "x"), held("d", "x")]
    cluster = make_cluster([make_node("a")], [make_pod("x", node="a"), make_pod("y", node="a")], *claims)
    assert move_pods(cluster, removed=[0]).told == ("2 ResourceClaims (default/c and default/d) release their devices",)
    assert move_pods(cluster, removed=[1]).told == ()


def test_a_pod_in_the_place_of_another_gets_a_claim_of_its_own() -> None:
    """The new pod has its own claim, and finds the device that the old pod had."""
    old = templated("x", "x-gpu-f7k2p", node="a")
    cluster = make_cluster(
        [make_node("a")],
        [old],
        TEMPLATE,
        make_class(),
        make_slice("s", node="a"),
        make_claim("x-gpu-f7k2p", holds=["a/gpu-0"], node="a", reserved=["x"], owner="x"),
    )
    moved = move_pods(cluster, removed=[0], added=[fresh_pod(old)])
    assert [claim.name for claim in moved.cluster.list(ResourceClaim)] == ["x-gpu"]
    new = moved.cluster.pods.pod(moved.cluster.pods.index["default", "x"])
    assert decide(new, moved.cluster).best == ("a",)
    assert decide(claiming_pod("x-gpu-f7k2p"), moved.cluster).best == ()


def test_a_pod_whose_template_is_not_there_waits_for_its_claim() -> None:
    cluster = make_cluster([make_node("a")], [])
    moved = move_pods(cluster, added=[templated("x", "")])
    decision = decide(moved.cluster.pods.pod(0), moved.cluster)
    assert decision.pre_enqueue.message == 'pod "default/x": ResourceClaim not created yet'
