from typing import Any

import msgspec
import pytest

from kschedctl.objects.device import DeviceTaint, DeviceTaintRule, DeviceToleration
from kschedctl.scheduler.devices.taints import untolerated, with_taint_rules
from tests.scheduler.devices.builders import DRIVER, make_device, make_slice

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
        pytest.param(None, "gpu-0 gpu-1", id="no selector: every device"),
        pytest.param({}, "gpu-0 gpu-1", id="an empty one likewise"),
        pytest.param({"driver": DRIVER}, "gpu-0 gpu-1", id="a driver"),
        pytest.param({"driver": "other"}, "", id="another driver"),
        pytest.param({"pool": "node", "device": "gpu-1"}, "gpu-1", id="a device of a pool"),
    ],
)
def test_rules_that_taint_devices(selector: dict[str, str] | None, tainted: str) -> None:
    taint = {"key": "ill", "effect": "NoSchedule"}
    rule = msgspec.convert({"spec": {"deviceSelector": selector, "taint": taint}}, DeviceTaintRule)
    (found,) = with_taint_rules([make_slice("s", make_device("gpu-0"), make_device("gpu-1"))], [rule])
    assert " ".join(device.name for device in found.spec.devices if device.taints) == tainted
