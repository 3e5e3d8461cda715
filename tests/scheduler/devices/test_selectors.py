import msgspec
import pytest

from kschedctl.objects.device import Device
from kschedctl.objects.releases.rules import DEVICES_1_35, DEVICES_1_36
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
    selector = Selector(expression, DEVICES_1_36)
    assert len(set(selector.looks([DRIVER] * 4, UUIDS))) == n_different


@pytest.mark.parametrize(("sees", "answer"), [(True, True), (False, False)])
def test_sharing_is_visible_to_some_releases(sees: bool, answer: bool) -> None:
    device = msgspec.convert(make_device(allowMultipleAllocations=True), Device)
    assert (
        Selector("device.allowMultipleAllocations", DEVICES_1_36 if sees else DEVICES_1_35).answer(DRIVER, device)
        is answer
    )


def test_help_against_absent_keys() -> None:
    assert with_hint("CEL runtime error: no such overload") == "CEL runtime error: no such overload"
    assert with_hint("CEL runtime error: no such key: x").endswith("for optional fields")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("1.0.0-rc.1+a.0", "", id="a version"),
        pytest.param("18446744073709551615.0.0", "", id="the largest number of 64 bits"),
        pytest.param("", "Version string empty", id="nothing"),
        pytest.param("1.0", "No Major.Minor.Patch elements found", id="two numbers"),
        pytest.param("a.0.0", 'Invalid character(s) found in major number "a"', id="a letter"),
        pytest.param("1..0", 'strconv.ParseUint: parsing "": invalid syntax', id="no number"),
        pytest.param("1.01.0", 'Minor number must not contain leading zeroes "01"', id="a leading zero"),
        pytest.param(
            "1.0.18446744073709551616+b",
            'strconv.ParseUint: parsing "18446744073709551616": value out of range',
            id="a number beyond 64 bits",
        ),
        pytest.param("1.0.0-", "Prerelease is empty", id="an empty prerelease"),
        pytest.param("1.0.0-a_b", 'Invalid character(s) found in prerelease "a_b"', id="a prerelease"),
        pytest.param(
            "1.0.0-01", 'Numeric PreRelease version must not contain leading zeroes "01"', id="a number in a prerelease"
        ),
        pytest.param("1.0.0+a.", "Build meta data is empty", id="an empty build"),
        pytest.param("1.0.0+a_b", 'Invalid character(s) found in build meta data "a_b"', id="a build"),
    ],
)
def test_versions(text: str, problem: str) -> None:
    device = msgspec.convert(make_device(firmware={"version": text}), Device)
    answer = Selector("true", DEVICES_1_36).answer(DRIVER, device)
    assert answer == (f"CEL runtime error: attribute firmware: parse semantic version: {problem}" if problem else True)
