from typing import Any

import msgspec
import pytest

from kschedctl.objects.device import CapacityRequirements, DeviceCapacity
from kschedctl.objects.quantity import Amount
from kschedctl.objects.releases.rules import DEVICES_1_36, DEVICES_1_37, DEVICES_1_38
from kschedctl.scheduler.devices.capacity import CapacityError, consumption, fits
from tests.scheduler.devices.builders import DRIVER

NANO = 10**9


def _capacity(value: str = "100", **policy: Any) -> dict[str, DeviceCapacity]:
    return {"units": msgspec.convert({"value": value, "requestPolicy": policy or None}, DeviceCapacity)}


def _asked(amount: str | None) -> CapacityRequirements | None:
    return None if amount is None else CapacityRequirements({"units": amount})


STEPS: dict[str, Any] = {"validRange": {"min": "10", "step": "5", "max": "40"}}
VALUES = {"validValues": ["10", "20"], "default": "20"}


@pytest.mark.parametrize(
    ("asked", "policy", "units"),
    [
        pytest.param(None, {}, 100, id="nothing asked for is all of it"),
        pytest.param(None, VALUES, 20, id="or the default"),
        pytest.param("7", {}, 7, id="without a policy as asked"),
        pytest.param("7", STEPS, 10, id="at least the minimum"),
        pytest.param("11", STEPS, 15, id="up to the next step from there: 10 + 5"),
        pytest.param("15", STEPS, 15, id="a step as it is"),
        pytest.param("11", VALUES, 20, id="the next larger value"),
        pytest.param("21", VALUES, 21, id="or as asked where none is larger"),
    ],
)
def test_what_a_request_takes(asked: str | None, policy: dict[str, Any], units: int) -> None:
    assert consumption(_asked(asked), _capacity(**policy), DRIVER, DEVICES_1_36) == {"units": units * NANO}


def test_a_capacity_that_a_device_does_not_have_cannot_be_taken() -> None:
    assert consumption(CapacityRequirements({"other": "1"}), _capacity(), DRIVER, DEVICES_1_37) is None


@pytest.mark.parametrize(
    ("asked", "policy", "used", "own", "fit"),
    [
        pytest.param("40", {}, 50, 10, True, id="50 + 10 + 40 of 100"),
        pytest.param("41", {}, 50, 10, False, id="one too many"),
        pytest.param("40", STEPS, 0, 0, True, id="the maximum"),
        pytest.param("41", STEPS, 0, 0, False, id="rounded to 45, above the maximum"),
        pytest.param("21", VALUES, 0, 0, False, id="no valid value"),
    ],
)
def test_whether_it_fits(asked: str, policy: dict[str, Any], used: int, own: int, fit: bool) -> None:
    capacities = _capacity(**policy)
    consumed = consumption(_asked(asked), capacities, DRIVER, DEVICES_1_36)
    assert consumed is not None
    assert fits(consumed, capacities, {"units": used * NANO}, {"units": own * NANO}, DRIVER, DEVICES_1_36) is fit


@pytest.mark.parametrize(
    ("asked", "policy", "problem"),
    [
        pytest.param("9300P", STEPS, "request 9300P exceeds MaxInt64", id="beyond int64"),
        pytest.param(
            "9223372036854775806",
            {"validRange": {"min": "0", "step": "5000000000000000000"}},
            "rounding request 9223372036854775806 up to the next step passes MaxInt64",
            id="rounded beyond int64",
        ),
    ],
)
def test_amounts_that_cannot_be_reckoned(asked: str, policy: dict[str, Any], problem: str) -> None:
    with pytest.raises(CapacityError) as caught:
        consumption(_asked(asked), _capacity(**policy), DRIVER, DEVICES_1_37)
    text = "capacity request cannot be represented in the device's range arithmetic"
    assert str(caught.value) == f'capacity "units": {text}: {problem}'
    consumption(_asked(asked), _capacity(**policy), DRIVER, DEVICES_1_36)


def test_a_negative_amount() -> None:
    with pytest.raises(CapacityError, match="capacity value is negative"):
        consumption(_asked("-1"), _capacity(), DRIVER, DEVICES_1_37)


def test_a_negative_amount_that_a_policy_raises() -> None:
    assert consumption(_asked("-0.5"), _capacity(**STEPS), DRIVER, DEVICES_1_37) == {"units": 10 * NANO}
    with pytest.raises(CapacityError) as caught:
        consumption(_asked("-0.5"), _capacity(**STEPS), DRIVER, DEVICES_1_38)
    assert str(caught.value) == f'capacity "{DRIVER}/units": capacity value is negative: request -500m'


@pytest.mark.parametrize(
    ("asked", "units"),
    [
        pytest.param("9300P", 0, id="ten to the 15th, digit by digit: 0"),
        pytest.param(
            "9300000000G", (9_300_000_000 * 10**9 + 2**63) % 2**64 - 2**63, id="ten to the 9th at once: wrapped"
        ),
        pytest.param("9300000000000000000", 9_300_000_000_000_000_000 - 2**64, id="too many digits: wrapped"),
    ],
)
def test_amounts_beyond_int64_where_they_are_no_error(asked: str, units: int) -> None:
    policy: dict[str, Any] = {"validRange": {"min": "1", "step": "1"}}
    assert consumption(_asked(asked), _capacity(**policy), DRIVER, DEVICES_1_36) == {"units": units * NANO}


@pytest.mark.parametrize(
    ("requests", "device", "expected"),
    [
        pytest.param({"units": "1"}, "units", {"units": NANO}, id="both without a domain"),
        pytest.param({f"{DRIVER}/units": "1"}, "units", {"units": NANO}, id="the request has the driver's domain"),
        pytest.param({"units": "1"}, f"{DRIVER}/units", {f"{DRIVER}/units": NANO}, id="the device has it"),
        pytest.param({"example.org/units": "1"}, "units", None, id="another domain"),
        pytest.param(
            {"units": "1", f"{DRIVER}/units": "2"},
            "units",
            f'capacity "units" requested both as "units" and as "{DRIVER}/units"',
            id="requested with both names",
        ),
        pytest.param({"units": "1", f"{DRIVER}/units": "2", "x": "1"}, "units", None, id="and another is not there"),
    ],
)
def test_names_with_the_domain_of_the_driver(
    requests: dict[str, str], device: str, expected: dict[str, int] | str | None
) -> None:
    capacities = {device: DeviceCapacity("10")}
    try:
        found: dict[str, int] | str | None = consumption(
            CapacityRequirements(dict(requests)), capacities, DRIVER, DEVICES_1_38
        )
    except CapacityError as error:
        found = str(error)
    assert found == expected
    if isinstance(found, dict):
        assert fits(found, capacities, {"units": 9 * NANO}, {}, DRIVER, DEVICES_1_38)
        assert not fits(found, capacities, {"units": 10 * NANO}, {}, DRIVER, DEVICES_1_38)


PARTS: dict[str, Any] = {"validRange": {"min": "0.5", "step": "250m", "max": "2"}}


@pytest.mark.parametrize(
    ("asked", "policy", "whole", "parts"),
    [
        pytest.param("600m", PARTS, "1", "750m", id="1 and steps of 1, or 500m and steps of 250m"),
        pytest.param("750m", PARTS, "1", "750m", id="a step as it is"),
        pytest.param("100m", PARTS, "500m", "500m", id="at least the minimum"),
        pytest.param("1", {"validRange": {"min": "1u", "step": "500m"}}, "1", "1", id="a minimum below thousandths"),
        pytest.param(
            "100P", PARTS, "100P", "request 100P is not a representable milli value", id="too much for thousandths"
        ),
        pytest.param(
            "9223372036854775",
            {"validRange": {"min": "0", "step": "5P"}},
            "10P",
            "rounding request 9223372036854775 up to the next step passes the milli-value range",
            id="a step too much for thousandths",
        ),
        pytest.param("600u", PARTS, "500m", "500m", id="small amounts are raised to the minimum"),
        pytest.param(
            "700001u", PARTS, "1", "request 700001u is not a representable milli value", id="below thousandths"
        ),
    ],
)
def test_ranges_in_parts_of_a_unit(asked: str, policy: dict[str, Any], whole: str, parts: str) -> None:
    found = []
    for rules in (DEVICES_1_37, DEVICES_1_38):
        try:
            taken = consumption(_asked(asked), _capacity("1E", **policy), DRIVER, rules)
            assert taken is not None
            found.append(str(Amount(taken["units"])))
        except CapacityError as error:
            found.append(str(error).rpartition("arithmetic: ")[2])
    assert found == [whole, parts]


@pytest.mark.parametrize(
    ("default", "fit"),
    [pytest.param("750m", True, id="a number of steps"), pytest.param("800m", True, id="the default is always valid")],
)
def test_defaults_in_parts_of_a_unit(default: str, fit: bool) -> None:
    capacities = _capacity("1", default=default, **PARTS)
    consumed = consumption(None, capacities, DRIVER, DEVICES_1_38)
    assert consumed is not None
    assert fits(consumed, capacities, {}, {}, DRIVER, DEVICES_1_38) is fit
