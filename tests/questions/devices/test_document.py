"""The charts of devices: devices of pools by state, and the nodes that can use them."""

from kschedctl.questions.devices.answer import DevicesOverview, DeviceSupply
from kschedctl.questions.devices.document import devices_map, pools_bars, supply_map
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from tests.builders import make_cluster, make_loaded, make_node, overview_of
from tests.questions.drawn import about, cells, coloured, parts
from tests.scheduler.devices.builders import make_claim, make_class, make_device, make_slice, request

SHARE = {"shareID": "1", "consumedCapacity": {"memory": "10Gi"}}
CLUSTER = make_loaded(
    make_cluster(
        [make_node(name) for name in "abcd"],
        [],
        make_slice("s", make_device("x"), make_device("y", "40Gi", allowMultipleAllocations=True),
                   make_device("z"), node="a"),
        make_slice("t", make_device("x"), node="b"),
        make_slice("u", make_device("x"), node="c", slices=2),
        make_claim("whole", holds=["a/x"], node="a"),
        make_claim("part", holds=["a/y"], node="a", result=SHARE),
        make_claim("wanted", request()),
        make_class(),
    )
)  # fmt: skip


def test_devices_of_pools_by_state() -> None:
    answer = SchedulingCluster(CLUSTER).devices()
    assert isinstance(answer, DevicesOverview)
    chart = pools_bars(answer)
    assert [row[1:] for row in cells(chart)] == [
        ("3 devices", "2 devices", "1 device"),
        ("1 device", "0 devices", "1 device"),
        ("1 device", "0 devices", "0 devices"),
    ]
    assert list(parts(chart).values()) == [
        ["free: 1 device", "shared: 1 device", "held: 1 device"],
        ["free: 1 device"],
        ["in a pool that is not used: 1 device"],
    ]


def test_nodes_by_their_free_devices() -> None:
    answer = SchedulingCluster(CLUSTER).devices()
    assert isinstance(answer, DevicesOverview)
    chart = devices_map(answer, overview_of(CLUSTER))
    expected = {"a": "some devices free", "b": "all devices free", "c": "no devices", "d": "no devices"}
    assert coloured(chart) == expected
    assert about(chart)["a"][0].endswith("/a: 1 of 3 devices free")
    assert "not used: 1 of 2 slices are present" in about(chart)["c"][0]


def test_nodes_on_which_a_claim_can_be_allocated() -> None:
    answer = SchedulingCluster(CLUSTER).devices("default/wanted")
    assert isinstance(answer, DeviceSupply)
    chart = supply_map(answer, overview_of(CLUSTER))
    assert {name for name, kind in coloured(chart).items() if kind == "can be allocated"} == {"a", "b"}
    assert set(coloured(chart).values()) == {"can be allocated", "cannot allocate all claims"}
