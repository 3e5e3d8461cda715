import msgspec
import pytest

from kschedctl.objects.device import Device
from kschedctl.scheduler.devices.requests import with_hint
from kschedctl.scheduler.devices.selectors import Selector
from tests.scheduler.devices.builders import DRIVER, make_device

UUIDS = [msgspec.convert(make_device(f"gpu-{i}", "40Gi", uuid=f"GPU-{i}", model="ab"[i % 2]), Device) for i in range(4)]


@pytest.mark.parametrize(
    ("expression", "n_different"),
    [
        pytest.param("true", 1, id="nothing is looked at"),
        pytest.param("device.driver == 'x'", 1, id="the driver"),
        pytest.param(f"device.attributes['{DRIVER}'].model == 'a'", 2, id="an attribute by its name"),
        pytest.param(f"device.attributes['{DRIVER}']['model'] == 'a'", 2, id="an attribute by its index"),
        pytest.param(f"device.attributes['{DRIVER}'].?model.orValue('') == 'a'", 2, id="an optional attribute"),
        pytest.param(f"device.attributes[?'{DRIVER}'].?model.hasValue()", 2, id="an optional attribute of a domain"),
        pytest.param(f"'model' in device.attributes['{DRIVER}']", 2, id="whether it is there"),
        pytest.param(f"device.attributes['{DRIVER}'].uuid == 'a'", 4, id="one that is different everywhere"),
        pytest.param(f"device.attributes['{DRIVER}'].exists(k, k == 'model')", 4, id="all attributes"),
        pytest.param(f"cel.bind(d, device.attributes['{DRIVER}'], d.model == 'a')", 4, id="bound to a name"),
        pytest.param(f"device.capacity['{DRIVER}'].memory.isInteger()", 1, id="a capacity"),
    ],
)
def test_a_selector_is_asked_once_for_what_looks_the_same_to_it(expression: str, n_different: int) -> None:
    selector = Selector(expression, sees_multiple_allocations=True)
    assert len(set(selector.looks([DRIVER] * 4, UUIDS))) == n_different


@pytest.mark.parametrize(("sees", "answer"), [(True, True), (False, False)])
def test_sharing_is_visible_to_some_releases(sees: bool, answer: bool) -> None:
    device = msgspec.convert(make_device(allowMultipleAllocations=True), Device)
    assert Selector("device.allowMultipleAllocations", sees_multiple_allocations=sees).answer(DRIVER, device) is answer


def test_help_against_absent_keys() -> None:
    assert with_hint("CEL runtime error: no such overload") == "CEL runtime error: no such overload"
    assert with_hint("CEL runtime error: no such key: x").endswith("for optional fields")
