from __future__ import annotations

from kschedctl.objects.releases.rules import DEVICES_1_36
from kschedctl.scheduler.devices.inventory import Inventory
from tests.builders import make_cluster, make_node
from tests.scheduler.devices.builders import DRIVER, make_device, make_slice

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
