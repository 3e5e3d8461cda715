"""Devices, claims and classes, as data."""

import json

import pytest

from kschedctl.objects.device import DeviceClass, ResourceClaim
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.releases.choice import choose_release
from kschedctl.output.data_forms import as_json
from kschedctl.questions.devices.analysis import claim_answer, class_answer, overview_answer
from kschedctl.questions.devices.answer import DevicesList, DevicesOverview, DeviceSupply
from kschedctl.questions.devices.document import devices_map, pools_bars, supply_map
from kschedctl.questions.provenance import Provenance
from kschedctl.questions.scheduling_cluster import SchedulingCluster
from kschedctl.scheduler.devices.inventory import Inventory
from tests.answer_schema import validate
from tests.builders import make_cluster, make_loaded, make_node, overview_of
from tests.questions.drawn import about, cells, coloured, parts
from tests.scheduler.devices.builders import make_claim, make_class, make_device, make_slice, request

SHARE = {"shareID": "1", "consumedCapacity": {"memory": "10Gi"}}
DEVICES = [make_device("x"), make_device("y", "40Gi", allowMultipleAllocations=True), make_device("z")]
USED = [
    make_slice("s", *DEVICES, node="a"),
    make_claim("whole", holds=["a/x"], node="a", reserved=["web"]),
    make_claim("part", holds=["a/y"], node="a", result=SHARE),
    make_class(),
]


def ask(subject: ApiObject | None, *objects: ApiObject) -> DevicesOverview | DeviceSupply:
    asked = [] if subject is None else [subject]
    cluster = make_cluster([make_node("a"), make_node("b")], [], *asked, *objects)
    choice = choose_release("1.36", "", ())
    inventory = Inventory(cluster, choice.release.devices)
    rests_on = Provenance(release_choice=choice, paths=("here",), n_pods=0)
    if isinstance(subject, ResourceClaim):
        return claim_answer(subject, inventory, rests_on)
    return (
        class_answer(subject, inventory, rests_on)
        if isinstance(subject, DeviceClass)
        else overview_answer(inventory, rests_on)
    )


ANSWERS = {
    "no devices": ask(None),
    "devices": ask(None, *USED),
    "a pool that is not used": ask(None, make_slice("s", node="a", slices=2)),
    "devices with taints": ask(
        None,
        make_slice(
            "s",
            *(make_device(effect, taints=[{"key": "sick", "effect": effect}]) for effect in ("NoSchedule", "None")),
            node="a",
        ),
        make_slice("t", node="gone"),
    ),
    "a claim": ask(make_claim("c"), *USED),
    "a claim for more": ask(make_claim("c", request("r", 2)), *USED),
    "a claim with devices": ask(USED[1], USED[0], USED[3]),
    "a claim of no class": ask(make_claim("c", request("r", of="absent")), *USED),
    "a claim that is not modelled": ask(make_claim("c", request("r", 1, "[1].distinct() == [1]")), *USED),
    "a class": ask(USED[3], *USED[:3]),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_are_valid_by_the_schema(case: str) -> None:
    value = json.loads(as_json(ANSWERS[case]))
    validate(value)


def test_lists_are_valid_by_the_schema() -> None:
    value = json.loads(as_json(DevicesList(items=tuple(ANSWERS.values()))))
    validate(value)


@pytest.mark.parametrize(
    ("case", "usable", "complete", "summary"),
    [
        ("no devices", True, True, "The snapshot has no devices."),
        ("devices", True, True, "3 devices in 1 pool: 1 free, 2 held."),
        (
            "a pool that is not used",
            False,
            True,
            "1 device in 1 pool: 0 free, 0 held, 1 tainted or not used; the devices of 1 pool are not used.",
        ),
        ("devices with taints", True, True, "3 devices in 2 pools: 1 free, 0 held, 2 tainted or not used."),
        ("a claim", True, True, "default/c can be allocated on 1 of 2 nodes: a."),
        ("a claim for more", False, True, "default/c can be allocated on none of 2 nodes."),
        ("a claim with devices", True, True, "default/whole is allocated and can be used on 1 of 2 nodes: a."),
        (
            "a claim of no class",
            False,
            True,
            "default/c cannot be allocated on any node: request r: device class absent does not exist.",
        ),
        ("a claim that is not modelled", False, False, "default/c can be allocated on none of 2 nodes."),
        ("a class", True, True, "A device of class gpu can be allocated on 1 of 2 nodes: a."),
    ],
)
def test_what_is_said(case: str, usable: bool, complete: bool, summary: str) -> None:
    answer = ANSWERS[case]
    assert (answer.usable, answer.complete, answer.summary) == (usable, complete, summary)


def test_devices_and_their_holders() -> None:
    value = json.loads(as_json(ANSWERS["devices"]))
    x, y, _ = value["pools"][0]["devices"]
    assert x["holders"] == [{"claim": "default/whole", "pods": ["web"]}]
    assert (x["free"], x["shared"], y["shared"], y["consumed"]) == (False, False, True, {"memory": "10Gi"})


def test_free_devices_can_be_allocated() -> None:
    assert ANSWERS["devices with taints"].names() == ("gpu.example.com/a/None",)
    assert ANSWERS["a pool that is not used"].names() == ()


def test_what_is_behind_a_refusal() -> None:
    value = json.loads(as_json(ANSWERS["a claim for more"]))
    supply = value["places"][0]["operands"]["requests"][0]
    # A device that is shared is free for another share, but not for all of its memory.
    found = [supply[name] for name in ("wanted", "here", "matching", "free", "exhausted")]
    assert found == [2, 3, 3, 2, 1]


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
