import pytest

from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.rules import DEVICES_1_36
from kschedctl.scheduler.devices.inventory import Inventory
from kschedctl.scheduler.devices.overview import pool_overviews
from tests.builders import make_cluster, make_node
from tests.scheduler.devices.builders import make_claim, make_device, make_slice

SHARE = {"shareID": "1", "consumedCapacity": {"memory": "10Gi"}}


def _inventory(*objects: ApiObject) -> Inventory:
    return Inventory(make_cluster([make_node("a"), make_node("b")], [], *objects), DEVICES_1_36)


def test_devices_and_their_holders() -> None:
    devices = [make_device("x"), make_device("y"), make_device("z", "40Gi", allowMultipleAllocations=True)]
    claims = [make_claim("one", holds=["a/x"]), make_claim("two", holds=["a/z"], result=SHARE)]
    (pool,) = pool_overviews(_inventory(make_slice("s", *devices, node="a"), *claims))
    found = [(d.id.device, d.free, d.whole, [claim.name for claim in d.holders]) for d in pool.devices]
    assert found == [("x", False, True, ["one"]), ("y", True, False, []), ("z", False, False, ["two"])]
    assert pool.devices[2].consumed == {"memory": 10 * 2**30 * 10**9}
    assert pool.rows.tolist() == [0]


@pytest.mark.parametrize(
    ("slices", "shown"),
    [
        pytest.param([make_slice("s", node="a")], "1 of 1, outdated 0: ", id="as it should be"),
        pytest.param(
            [make_slice("s", node="a", slices=2)], "1 of 2, outdated 0: 1 of 2 slices are present", id="incomplete"
        ),
        pytest.param(
            [make_slice("s", make_device(), make_device(), node="a")],
            "1 of 1, outdated 0: duplicate device name gpu-0",
            id="invalid",
        ),
        pytest.param(
            [make_slice("s", node="a"), make_slice("t", node="a", generation=2)], "1 of 1, outdated 1: ", id="outdated"
        ),
    ],
)
def test_the_state_of_a_pool(slices: list[ApiObject], shown: str) -> None:
    (pool,) = pool_overviews(_inventory(*slices))
    assert f"{pool.n_slices} of {pool.n_slices_wanted}, outdated {pool.n_outdated}: {pool.problem}" == shown
