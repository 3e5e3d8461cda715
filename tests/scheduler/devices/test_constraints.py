import pytest

from kschedctl.objects.device import DeviceConstraint
from kschedctl.objects.releases.rules import DEVICES_1_34, DEVICES_1_36, DEVICES_1_37, DeviceRules
from kschedctl.scheduler.devices.constraints import make_constraint

#: The codes of six devices' values: two of the first, two of the second, one of a third, one without.
CODES = (0, 0, 1, 1, 2, -1)
MATCH = DeviceConstraint(match_attribute="x/a")
DISTINCT = DeviceConstraint(distinct_attribute="x/a")


@pytest.mark.parametrize(
    ("constraint", "rules", "devices", "taken"),
    [
        pytest.param(MATCH, DEVICES_1_36, "012", [True, True, False], id="the same value"),
        pytest.param(MATCH, DEVICES_1_36, "5", [False], id="a device without it"),
        pytest.param(DISTINCT, DEVICES_1_36, "01", [True, False], id="another value than the latest"),
        pytest.param(DISTINCT, DEVICES_1_36, "021", [True, True, True], id="not than those before it"),
        pytest.param(DISTINCT, DEVICES_1_37, "021", [True, True, False], id="1.37: than all"),
        pytest.param(DISTINCT, DEVICES_1_34, "015", [True, True, False], id="1.34: any two differ that have it"),
    ],
)
def test_devices_of_one_request(
    constraint: DeviceConstraint, rules: DeviceRules, devices: str, taken: list[bool]
) -> None:
    made = make_constraint(constraint, CODES, rules)
    assert [made.add("r", "", int(device)) for device in devices] == taken


def test_requests_keep_their_latest_value() -> None:
    made = make_constraint(DISTINCT, CODES, DEVICES_1_36)
    assert [made.add("r", "", 0), made.add("s", "", 2), made.add("t", "", 1)] == [True, True, False]


@pytest.mark.parametrize(
    ("rules", "again"),
    [
        pytest.param(DEVICES_1_36, True, id="1.36: going back forgets the request"),
        pytest.param(DEVICES_1_37, False, id="1.37: only the latest device"),
    ],
)
def test_going_back(rules: DeviceRules, again: bool) -> None:
    made = make_constraint(DISTINCT, CODES, rules)
    made.add("r", "", 0)
    made.add("r", "", 2)
    made.remove("r", "")
    assert made.add("r", "", 1) is again


@pytest.mark.parametrize(
    ("requests", "applies"),
    [((), True), (("r",), True), (("r/sub",), True), (("r/other",), False), (("other",), False)],
)
def test_the_requests_that_a_constraint_is_for(requests: tuple[str, ...], applies: bool) -> None:
    made = make_constraint(DeviceConstraint(requests=requests, match_attribute="x/a"), CODES, DEVICES_1_36)
    assert made.add("r", "sub", 5) is not applies
