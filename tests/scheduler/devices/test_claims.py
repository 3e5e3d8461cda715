from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.rules import DEVICES_1_35, DEVICES_1_36, DEVICES_1_37, DEVICES_1_38, DeviceRules
from kschedctl.scheduler.devices.claims import (
    ClaimProblemError,
    DeviceID,
    alternatives_score,
    available_on,
    check_classes,
    gather_usage,
    is_lost,
    pod_claims,
)
from tests.builders import LONG_AGO, make_cluster, make_node, make_object, make_pod
from tests.scheduler.devices.builders import DRIVER, claiming_pod, either, make_claim, make_class, request

FROM_TEMPLATE = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
MADE = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "claim"}]}
NOT_NEEDED = {"resourceClaimStatuses": [{"name": "gpu"}]}
NOT_OURS = "ResourceClaim default/claim was not created for {}od default/pod ({}od is not owner)"


@pytest.mark.parametrize(
    ("pod", "objects", "rules", "found"),
    [
        pytest.param(claiming_pod("claim"), [make_claim()], DEVICES_1_36, "claim", id="by its name"),
        pytest.param(
            claiming_pod("claim"), [], DEVICES_1_36, 'could not find ResourceClaim "default/claim"', id="not there"
        ),
        pytest.param(
            claiming_pod("gone"),
            [make_object(ResourceClaim, "gone", namespace="default")],
            DEVICES_1_36,
            "gone",
            id="of an empty spec",
        ),
        pytest.param(
            make_pod(resourceClaims=FROM_TEMPLATE),
            [],
            DEVICES_1_36,
            'pod "default/pod": ResourceClaim not created yet',
            id="from a template, not made yet",
        ),
        pytest.param(
            make_pod(resourceClaims=FROM_TEMPLATE, status=MADE),
            [make_claim(owner="pod")],
            DEVICES_1_36,
            "claim",
            id="from a template, made",
        ),
        pytest.param(
            make_pod(resourceClaims=FROM_TEMPLATE, status=NOT_NEEDED), [], DEVICES_1_36, "", id="none is needed"
        ),
        pytest.param(
            make_pod(resourceClaims=FROM_TEMPLATE, status=MADE),
            [make_claim(owner="other")],
            DEVICES_1_36,
            NOT_OURS.format("P", "P"),
            id="of another pod",
        ),
        pytest.param(
            make_pod(resourceClaims=FROM_TEMPLATE, status=MADE),
            [make_claim()],
            DEVICES_1_35,
            NOT_OURS.format("p", "p"),
            id="1.35: of nobody",
        ),
        pytest.param(
            make_pod(resourceClaims=[{"name": "gpu"}]),
            [],
            DEVICES_1_36,
            'pod "default/pod", spec.resourceClaim "gpu": none of the supported fields are set',
            id="neither claim nor template",
        ),
    ],
)
def test_the_claims_of_a_pod(pod: Any, objects: list[ApiObject], rules: DeviceRules, found: str) -> None:
    cluster = make_cluster([make_node()], [], *objects)
    try:
        names = " ".join(claim.name for claim in pod_claims(cluster, pod, rules))
    except ClaimProblemError as problem:
        names = str(problem)
    assert names == found


def test_a_claim_that_is_being_deleted() -> None:
    metadata = {"name": "claim", "namespace": "default", "deletionTimestamp": LONG_AGO}
    cluster = make_cluster([make_node()], [], make_object(ResourceClaim, "claim", namespace="default"))
    assert pod_claims(cluster, claiming_pod("claim"), DEVICES_1_36)
    gone = msgspec.convert({"metadata": metadata}, ResourceClaim)
    with pytest.raises(ClaimProblemError, match='resourceclaim "claim" is being deleted'):
        pod_claims(cluster.with_added([gone]), claiming_pod("claim"), DEVICES_1_36)


@pytest.mark.parametrize(
    ("requests", "problem"),
    [
        pytest.param([request()], "", id="the class is there"),
        pytest.param([request(of="x")], "request r: device class x does not exist", id="it is not"),
        pytest.param(
            [either("r", request("a"), request("b", of="x"))],
            "request r/b: device class x does not exist",
            id="that of an alternative",
        ),
        pytest.param([{"name": "r"}], "resource claim default/claim, request r: unknown request type", id="no request"),
    ],
)
def test_classes(requests: list[dict[str, Any]], problem: str) -> None:
    cluster = make_cluster([make_node()], [], make_class())
    found = ""
    try:
        check_classes(cluster, make_claim("claim", *requests))
    except ClaimProblemError as error:
        found = str(error)
    assert found == problem


def test_where_an_allocated_claim_can_be_used() -> None:
    cluster = make_cluster([make_node("a"), make_node("b")])
    there = make_claim(holds=["b/gpu-0"], node="b")
    assert available_on(cluster, there, DEVICES_1_36).tolist() == [False, True]
    assert available_on(cluster, make_claim(holds=["b/gpu-0"]), DEVICES_1_36).tolist() == [True, True]


@pytest.mark.parametrize(("rules", "nodes"), [(DEVICES_1_36, [True, True]), (DEVICES_1_37, [False, True])])
def test_operations_that_a_node_must_know_to_skip(rules: DeviceRules, nodes: list[bool]) -> None:
    cluster = make_cluster([make_node("a"), make_node("b", declaredFeatures=["DRAOptionalNodeOperations"])])
    claim = make_claim(holds=["b/gpu-0"], result={"skipNodeOperations": ["NodePrepareResources"]})
    assert available_on(cluster, claim, rules).tolist() == nodes


NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
CONDITIONS = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}


def _device(**conditions: str) -> dict[str, Any]:
    found = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return {"driver": "gpu.example.com", "pool": "node", "device": "gpu-0", "conditions": found}


@pytest.mark.parametrize(
    ("since", "devices", "lost"),
    [
        pytest.param("2026-01-01T11:55:00Z", [], False, id="nothing is known of it, for five minutes"),
        pytest.param("2026-01-01T11:49:59Z", [], True, id="for more than ten"),
        pytest.param("2026-01-01T11:55:00Z", [_device(ready="False", failed="True")], True, id="it has failed"),
        pytest.param("2026-01-01T00:00:00Z", [_device(ready="True", failed="False")], False, id="it is ready"),
        pytest.param("2026-01-01T00:00:00Z", [_device(ready="False")], True, id="it is late"),
        pytest.param(None, [_device(ready="False")], False, id="since when is not known"),
    ],
)
def test_devices_that_become_ready_after_allocation(since: str | None, devices: list[Any], lost: bool) -> None:
    claim = make_claim(
        holds=["node/gpu-0"], result=CONDITIONS, allocation={"allocationTimestamp": since}, devices=devices
    )
    assert is_lost(claim, NOW) is lost


@pytest.mark.parametrize(
    ("chosen", "score"),
    [
        pytest.param(["r/a"], 8, id="the first alternative"),
        pytest.param(["r/b", "r/b"], 7, id="the second, twice"),
        pytest.param(["s"], 0, id="a request without"),
    ],
)
def test_score_of_alternatives(chosen: list[str], score: int) -> None:
    claim = make_claim("claim", either("r", request("a"), request("b")), request("s"))
    assert alternatives_score(claim, chosen) == score


DEVICE = DeviceID(DRIVER, "node", "gpu-0")
SHARE = {"shareID": "s1", "consumedCapacity": {"memory": "10Gi"}}


@pytest.mark.parametrize(
    ("claim", "shares", "use"),
    [
        pytest.param(make_claim(), True, "free", id="not allocated"),
        pytest.param(make_claim(holds=["node/gpu-0"]), True, "whole", id="allocated"),
        pytest.param(make_claim(holds=["node/gpu-0"], result={"adminAccess": True}), True, "free", id="admin access"),
        pytest.param(make_claim(holds=["node/gpu-0"], result=SHARE), True, "shared", id="a share"),
        pytest.param(make_claim(holds=["node/gpu-0"], result=SHARE), False, "whole", id="where shares are not known"),
    ],
)
def test_what_an_allocation_uses(claim: ResourceClaim, shares: bool, use: str) -> None:
    usage = gather_usage([claim], DEVICES_1_36 if shares else DEVICES_1_35)
    found = "whole" if DEVICE in usage.whole else "shared" if DEVICE in usage.shared else "free"
    assert (found, usage.allocated(DEVICE)) == (use, use != "free")


def test_shares_add_up_and_holders_are_known() -> None:
    first = make_claim("a", holds=["node/gpu-0"], result=SHARE)
    second = make_claim("b", holds=["node/gpu-0"], result={"shareID": "s2", "consumedCapacity": {"memory": "5Gi"}})
    third = make_claim("c", holds=["node/gpu-0"], result={"shareID": "s3"})
    usage = gather_usage([first, second, third], DEVICES_1_36)
    assert usage.consumed == {DEVICE: {"memory": 15 * 2**30 * 10**9}}
    assert [claim.name for claim in usage.holders[DEVICE]] == ["a", "b", "c"]


def test_negative_consumed_capacity() -> None:
    claims = [
        make_claim(name, holds=["node/gpu-0"], result={"shareID": name, "consumedCapacity": {"a": "1", "b": amount}})
        for name, amount in (("y", "-0.5"), ("x", "-1"), ("z", "1"))
    ]
    assert gather_usage(claims, DEVICES_1_37).problem == ""
    assert gather_usage(claims[2:], DEVICES_1_38).problem == ""
    text = f'claim default/{{}}, device {DRIVER}/node/gpu-0: consumed capacity "b" must not be negative, got {{}}'
    assert gather_usage(claims[:1], DEVICES_1_38).problem == text.format("y", "-500m")
    more = " (and 1 more claims with invalid consumed capacity)"
    assert gather_usage(claims, DEVICES_1_38).problem == text.format("x", "-1") + more
