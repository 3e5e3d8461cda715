from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from kschedctl.cluster.nodes import Nodes
from kschedctl.objects.device import DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceSlice
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.rules import DEVICES_1_34, DEVICES_1_35, DEVICES_1_36, DEVICES_1_37, DeviceRules
from kschedctl.scheduler.devices.inventory import Inventory, PoolView, gather_pools
from kschedctl.scheduler.devices.overview import pool_overviews
from kschedctl.scheduler.devices.taints import untolerated, with_taint_rules
from tests.builders import make_cluster, make_node
from tests.scheduler.devices.builders import DRIVER, make_claim, make_device, make_slice

MODEL = f"device.attributes['{DRIVER}'].model == 'a'"


def test_an_attribute_that_cannot_be_read_is_an_error_whatever_is_looked_at() -> None:
    broken = make_device("y", model="a")
    broken["attributes"]["firmware"] = {"version": "one"}
    devices = [make_device("x", model="a"), broken, make_device("z", model="b")]
    inventory = Inventory(make_cluster([make_node()], [], make_slice("s", *devices)), DEVICES_1_36)
    answers, errors = inventory.answers(MODEL)
    assert answers.tolist() == [1, 2, 0]
    assert errors == [
        "CEL runtime error: attribute firmware: parse semantic version: No Major.Minor.Patch elements found"
    ]


def test_every_device_stands_in_its_slice() -> None:
    slices = [
        make_slice("s", make_device("a"), make_device("b")),
        make_slice("none", sharedCounters=[{"name": "c"}], pool="q"),
        make_slice("t", make_device("c"), pool="r"),
    ]
    inventory = Inventory(make_cluster([make_node()], [], *slices), DEVICES_1_36)
    assert [inventory.slice_of(number).name for number in range(3)] == ["s", "s", "t"]


NODES = Nodes((make_node("a", zone="x"), make_node("b", zone="y")))
ZONE_X: Any = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In"}]}]}
ZONE_X["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] = ["x"]
RULES = {"1.34": DEVICES_1_34, "1.35": DEVICES_1_35, "1.36": DEVICES_1_36, "1.37": DEVICES_1_37}
COUNTERS: Any = {"sharedCounters": [{"name": "mem", "counters": {"gi": {"value": "40"}}}]}


def _shown(view: PoolView) -> str:
    nodes = "".join(NODES.names[row] for row in view.rows)
    state = "incomplete" if view.incomplete else view.invalid or " ".join(one.name for one in view.slices)
    return f"{view.id.pool}@{nodes}: {state}"


def _pools(slices: Sequence[ResourceSlice], rules: DeviceRules = DEVICES_1_36) -> list[str]:
    return [_shown(view) for view in gather_pools(slices, NODES, rules)]


def _part_of_group(name: str) -> dict[str, object]:
    return make_device(name, consumesCounters=[{"counterSet": "mem", "compatibilityGroups": ["g"]}])


def _parts(*names: str) -> list[dict[str, object]]:
    uses = [{"counterSet": "mem", "counters": {"gi": {"value": "20"}}}]
    return [make_device(name, consumesCounters=uses) for name in names]


@pytest.mark.parametrize(
    ("slices", "pools"),
    [
        pytest.param([make_slice("s", node="a")], ["a@a: s"], id="a node's own"),
        pytest.param([make_slice("s", node="gone")], [], id="of a node that is not there"),
        pytest.param([make_slice("s", pool="p", allNodes=True)], ["p@ab: s"], id="for all nodes"),
        pytest.param([make_slice("s", pool="p", nodeSelector=ZONE_X)], ["p@a: s"], id="for a zone"),
        pytest.param(
            [make_slice("2", node="a", slices=2), make_slice("1", make_device("gpu-9"), node="a", slices=2)],
            ["a@a: 1 2"],
            id="slices by their names",
        ),
        pytest.param(
            [make_slice("z", node="b"), make_slice("y", node="a", driver="z.example"), make_slice("x", node="a")],
            ["a@a: x", "b@b: z", "a@a: y"],
            id="pools by driver, then name",
        ),
        pytest.param(
            [make_slice("s", make_device(bindingConditions=["ready"]), node="a"), make_slice("t", node="b")],
            ["b@b: t", "a@a: s"],
            id="those that become ready later come last",
        ),
        pytest.param(
            [make_slice("old", node="a", generation=1), make_slice("new", node="a", generation=2)],
            ["a@a: new"],
            id="old generations are left out",
        ),
        pytest.param(
            [make_slice("s", make_device(), make_device(), node="a")],
            ["a@a: duplicate device name gpu-0"],
            id="the same device twice",
        ),
        pytest.param(
            [make_slice("s", *_parts("x"), node="a")], ["a@a: counter set mem not found"], id="counters from nowhere"
        ),
    ],
)
def test_pools_as_nodes_see_them(slices: list[ResourceSlice], pools: list[str]) -> None:
    assert _pools(slices) == pools


@pytest.mark.parametrize(
    ("version", "slices", "pools"),
    [
        pytest.param("1.34", [make_slice("s", node="a", slices=2)], ["a@a: incomplete"], id="1.34: slices are missing"),
        pytest.param(
            "1.34",
            [make_slice("s", node="a", pool="p", slices=2), make_slice("t", node="b", pool="p", slices=2)],
            ["p@a: incomplete", "p@b: incomplete"],
            id="1.34: slices of other nodes are missed",
        ),
        pytest.param(
            "1.35",
            [make_slice("s", node="a", pool="p", slices=2), make_slice("t", node="b", pool="p", slices=2)],
            ["p@a: s", "p@b: t"],
            id="1.35: and looked for",
        ),
        pytest.param(
            "1.34",
            [make_slice("s", node="a", pool="p"), make_slice("t", node="b", pool="p", generation=2)],
            ["p@a: s", "p@b: t"],
            id="1.34: generations by node",
        ),
        pytest.param(
            "1.35",
            [make_slice("s", node="a", pool="p", slices=2), make_slice("t", node="b", pool="p", generation=2)],
            ["p@b: t"],
            id="1.35: a newer one elsewhere makes a pool obsolete",
        ),
        pytest.param(
            "1.35",
            [make_slice("c", node="a", slices=2, **COUNTERS), make_slice("s", node="a", slices=2)],
            ["a@a: s"],
            id="1.35: slices with counters are not read",
        ),
        pytest.param(
            "1.36",
            [make_slice("c", node="a", slices=2, **COUNTERS), make_slice("s", *_parts("x"), node="a", slices=2)],
            ["a@a: s", "a@b: "],
            id="1.36: read on every node",
        ),
        pytest.param(
            "1.37",
            [make_slice("c", node="a", slices=2, **COUNTERS), make_slice("s", *_parts("x"), node="a", slices=2)],
            ["a@a: s"],
            id="1.37: where they are for",
        ),
        pytest.param(
            "1.37",
            [make_slice("s", _part_of_group("x"), node="a", slices=2), make_slice("t", node="a", slices=2)],
            ["a@a: incomplete"],
            id="1.37: without slices of compatibility groups",
        ),
        pytest.param(
            "1.35",
            [make_slice("s", make_device(nodeName="a"), pool="p", perDeviceNodeSelection=True)],
            [],
            id="1.35: node selection per device is not known",
        ),
    ],
)
def test_releases(version: str, slices: list[ResourceSlice], pools: list[str]) -> None:
    assert sorted(_pools(slices, RULES[version])) == sorted(pools)


def test_devices_of_one_slice_for_different_nodes() -> None:
    devices = [make_device("x", nodeName="a"), make_device("y", nodeName="b"), make_device("z", allNodes=True)]
    views = gather_pools([make_slice("s", *devices, pool="p", perDeviceNodeSelection=True)], NODES, DEVICES_1_36)
    assert {NODES.names[view.rows[0]]: sorted(view.elsewhere) for view in views} == {"a": [(0, 1)], "b": [(0, 0)]}


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


TAINT = DeviceTaint(key="ill", value="yes", effect="NoSchedule")


@pytest.mark.parametrize(
    ("effect", "toleration", "kept_away"),
    [
        pytest.param("NoSchedule", None, True, id="nothing tolerates it"),
        pytest.param("NoExecute", None, True, id="NoExecute keeps away as well"),
        pytest.param("None", None, False, id="None does not"),
        pytest.param("Odd", None, False, id="nor what is not known"),
        pytest.param("NoSchedule", {"key": "ill", "operator": "Exists"}, False, id="the key"),
        pytest.param("NoSchedule", {"operator": "Exists"}, False, id="every key"),
        pytest.param("NoSchedule", {"key": "ill", "value": "yes"}, False, id="key and value; Equal by default"),
        pytest.param("NoSchedule", {"key": "ill", "operator": "Equal", "value": "no"}, True, id="another value"),
        pytest.param("NoSchedule", {"key": "ill", "operator": "Exists", "effect": "NoExecute"}, True, id="effect"),
        pytest.param("NoSchedule", {"key": "ill", "operator": "Odd"}, True, id="an operator that is not known"),
    ],
)
def test_tolerations(effect: str, toleration: dict[str, Any] | None, kept_away: bool) -> None:
    taint = DeviceTaint(key="ill", value="yes", effect=effect)
    tolerations = [] if toleration is None else [msgspec.convert(toleration, DeviceToleration)]
    assert untolerated([taint], tolerations) == (taint if kept_away else None)


@pytest.mark.parametrize(
    ("selector", "tainted"),
    [
        pytest.param(None, "gpu-0 gpu-1", id="no selector: every device, and none since 1.37.1"),
        pytest.param({}, "gpu-0 gpu-1", id="an empty one likewise"),
        pytest.param({"driver": DRIVER}, "gpu-0 gpu-1", id="a driver"),
        pytest.param({"driver": "other"}, "", id="another driver"),
        pytest.param({"pool": "node", "device": "gpu-1"}, "gpu-1", id="a device of a pool"),
    ],
)
def test_rules_that_taint_devices(selector: dict[str, str] | None, tainted: str) -> None:
    taint = {"key": "ill", "effect": "NoSchedule"}
    rule = msgspec.convert({"spec": {"deviceSelector": selector, "taint": taint}}, DeviceTaintRule)
    slices = [make_slice("s", make_device("gpu-0"), make_device("gpu-1"))]
    (found,) = with_taint_rules(slices, [rule], needs_selector=False)
    assert " ".join(device.name for device in found.spec.devices if device.taints) == tainted
    assert with_taint_rules(slices, [rule], needs_selector=True) == (slices if selector is None else [found])
