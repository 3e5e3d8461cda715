"""Requests that no device answers: selectors, taints, numbers, and expressions that fail."""

import pytest

from kschedctl.diagnosis.diagnose import diagnose
from kschedctl.objects.device import DeviceTaintRule
from kschedctl.objects.meta import ApiObject
from tests.builders import decide, make_cluster, make_node, make_object
from tests.diagnosis.rules.cures import cures
from tests.scheduler.devices.builders import claiming_pod, make_claim, make_class, make_device, make_slice, request

OF_DRIVER = make_class("gpu", 'device.driver == "gpu.example.com"')
MODEL = 'device.attributes["gpu.example.com"].model == "H200"'
XID = {"key": "gpu.example.com/xid", "value": "79", "effect": "NoExecute"}
SICK = (
    "request r of claim default/c cannot be answered: 1 free device on n has the taint gpu.example.com/xid=79:NoExecute"
)
NEW = "add a node with such devices (untried)"
RULE = make_object(DeviceTaintRule, "xid", spec={"deviceSelector": {"pool": "n"}, "taint": XID})


@pytest.mark.parametrize(
    ("objects", "cause", "expected"),
    [
        pytest.param(
            [make_claim("c", request("r", 1, MODEL)), make_slice("s", make_device("d", model="H100"), node="n")],
            "no device answers request r of claim default/c: request r rejects 1: gpu.example.com/n/d has model H100; "
            f"its selector is {MODEL}",
            [
                "correct the selector of request r in claim default/c, and recreate the pod (untried)",
                "add a node with devices that match (untried)",
            ],
            id="no device of the model",
        ),
        pytest.param(
            [make_claim("c", request("r", 1)), make_slice("s", make_device("d", taints=[XID]), node="n")],
            SICK,
            ["repair the devices of n, or replace the node: the driver then takes the taint off (untried)", NEW],
            id="a broken device",
        ),
        pytest.param(
            [make_claim("c", request("r", 1)), make_slice("s", make_device("d"), node="n"), RULE],
            SICK,
            ["delete DeviceTaintRule xid, once the devices of n are in order (untried)", "add a node like n"],
            id="a taint of a rule",
        ),
        pytest.param(
            [make_claim("c", request("r", 4)), make_slice("s", make_device("d"), make_device("e"), node="n")],
            "n has 2 usable gpu devices (2 there), claim default/c wants 4",
            [
                "add a node with 4 such devices (untried)",
                "request 2 devices or fewer in claim default/c, and recreate the pod (untried)",
            ],
            id="more than a node has",
        ),
    ],
)
def test_cause(objects: list[ApiObject], cause: str, expected: list[str]) -> None:
    decision = decide(claiming_pod("c"), make_cluster([make_node("n")], [], OF_DRIVER, *objects))
    assert [one.cause for one in diagnose(decision)] == [cause]
    assert cures(decision) == expected


def test_an_expression_that_reads_a_missing_attribute() -> None:
    objects = [make_claim("c", request("r", 1, MODEL)), make_slice("s", make_device("d"), node="n")]
    decision = decide(claiming_pod("c"), make_cluster([make_node("n")], [], OF_DRIVER, *objects))
    assert [one.cause for one in diagnose(decision)] == ["a CEL expression of claim default/c fails for a device"]
