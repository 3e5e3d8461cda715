from __future__ import annotations

import pytest

from kschedctl.objects.device import ResourceClaim
from kschedctl.scheduler.devices.usage import DeviceID, gather_usage
from tests.scheduler.devices.builders import DRIVER, make_claim

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
    usage = gather_usage([claim], shares=shares)
    found = "whole" if DEVICE in usage.whole else "shared" if DEVICE in usage.shared else "free"
    assert (found, usage.allocated(DEVICE)) == (use, use != "free")


def test_shares_add_up_and_holders_are_known() -> None:
    first = make_claim("a", holds=["node/gpu-0"], result=SHARE)
    second = make_claim("b", holds=["node/gpu-0"], result={"shareID": "s2", "consumedCapacity": {"memory": "5Gi"}})
    third = make_claim("c", holds=["node/gpu-0"], result={"shareID": "s3"})
    usage = gather_usage([first, second, third], shares=True)
    assert usage.consumed == {DEVICE: {"memory": 15 * 2**30 * 10**9}}
    assert [claim.name for claim in usage.holders[DEVICE]] == ["a", "b", "c"]
