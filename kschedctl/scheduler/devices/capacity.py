"""Consumable capacity: the consumption of a request on a device, and the check against what is left.

Source: ``consumable_capacity.go``. Amounts are in nano-units. Ranges with steps are computed in whole units, each
rounded up first, as Quantity.Value does, or in thousandths.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

from kschedctl.common.text.patterns import pattern
from kschedctl.objects.core import QuantityText
from kschedctl.objects.device import CapacityRequestPolicyRange, CapacityRequirements, DeviceCapacity
from kschedctl.objects.quantity import NANO, Amount, parse_quantity, value
from kschedctl.objects.releases.rules import DeviceRules

V = TypeVar("V")

_MAX: Final = 2**63 - 1
_MILLI: Final = NANO // 1000
_DIGITS: Final = pattern(r"[+-]?0*([0-9]*)\.?([0-9]*)")
#: Quantity stores amounts of at most this many digits as an int64 and a scale, and shifts by at most as many places.
_FEW_DIGITS: Final = 18
_OWN_SCALES: Final = frozenset({1, 2, 3, 6, 9})
_NEGATIVE: Final = "capacity value is negative"
_UNREPRESENTABLE: Final = "capacity request cannot be represented in the device's range arithmetic"


class CapacityError(Exception):
    """An error in the computation of consumed capacity, in the scheduler's words."""


def own_name(name: str, driver: str) -> str:
    """Return the name of an attribute or capacity without the domain, if the domain is the driver's."""
    return name.removeprefix(f"{driver}/")


def own_names(amounts: Mapping[str, V], driver: str) -> dict[str, V]:
    """Return values by the names without the driver's domain.

    If a name is there with and without the domain, the value with the domain counts.

    >>> own_names({"gpu.example.com/memory": 1, "memory": 2, "example.org/lanes": 3}, "gpu.example.com")
    {'memory': 1, 'example.org/lanes': 3}
    """
    out = {own_name(name, driver): amount for name, amount in amounts.items()}
    qualified = {name: amount for name, amount in amounts.items() if own_name(name, driver) != name}
    return out | {own_name(name, driver): amount for name, amount in qualified.items()}


def consumption(
    request: CapacityRequirements | None, capacities: Mapping[str, DeviceCapacity], driver: str, rules: DeviceRules
) -> dict[str, int] | None:
    """Return the amount that a request takes of each capacity of a device.

    Args:
        driver: The driver of the device.

    Returns: The consumption by capacity, as the device names it, in nano-units; ``None`` if the request names a
        capacity that the device lacks.

    Raises CapacityError if the release has such errors, and an amount is negative or cannot be represented in int64,
        or a capacity is requested twice.
    """
    asked = _asked_amounts(request, capacities, driver, rules)
    if asked is None:
        return None
    exact = rules.capacity_errors
    out = {}
    for name, capacity in capacities.items():
        wanted, policy = asked.get(name), capacity.request_policy
        try:
            if wanted is None:
                default = None if policy is None else policy.default
                amount = parse_quantity(capacity.value if default is None else default)
            else:
                amount = parse_quantity(wanted)
                if rules.refuses_negative_capacity and amount < 0:
                    raise CapacityError(f"{_NEGATIVE}: request {Amount.parse(wanted)}")
                if policy is not None and policy.valid_range is not None and policy.valid_range.min is not None:
                    amount = _round_up(wanted, policy.valid_range, rules)
                elif policy is not None and policy.valid_values:
                    amount = next((each for each in map(parse_quantity, policy.valid_values) if amount <= each), amount)
            if exact and amount < 0:
                raise CapacityError(_NEGATIVE)
        except CapacityError as error:
            shown = f"{driver}/{name}" if rules.names_have_domains and "/" not in name else name
            raise CapacityError(f'capacity "{shown}": {error}') from None
        out[name] = amount
    return out


def _asked_amounts(
    request: CapacityRequirements | None, capacities: Mapping[str, DeviceCapacity], driver: str, rules: DeviceRules
) -> Mapping[str, QuantityText] | None:
    """Return the requested amounts by the device's names of the capacities; ``None`` if the device lacks one."""
    asked = {} if request is None else request.requests
    if not rules.names_have_domains:
        return asked if all(name in capacities for name in asked) else None
    names = {own_name(name, driver): name for name in capacities}
    if any(own_name(name, driver) not in names for name in asked):
        return None
    out: dict[str, QuantityText] = {}
    for name, amount in asked.items():
        own = own_name(name, driver)
        if names[own] in out:
            raise CapacityError(f'capacity "{own}" requested both as "{own}" and as "{driver}/{own}"')
        out[names[own]] = amount
    return out


def fits(
    consumed: Mapping[str, int],
    capacities: Mapping[str, DeviceCapacity],
    used: Mapping[str, int],
    own: Mapping[str, int],
    driver: str,
    rules: DeviceRules,
) -> bool:
    """Report whether a consumption respects the device's request policies and the capacity that is left.

    Args:
        used: The consumption by other claims, in nano-units; see ``Usage.consumed``.
        own: The consumption by the current search, in nano-units, by the device's names.
        driver: The driver of the device.
    """
    for name, capacity in capacities.items():
        in_use = used.get(own_name(name, driver) if rules.names_have_domains else name, 0) + own.get(name, 0)
        if _violates(consumed[name], capacity, rules) or in_use + consumed[name] > parse_quantity(capacity.value):
            return False
    return True


def _uses_thousandths(valid: CapacityRequestPolicyRange, rules: DeviceRules) -> bool:
    """Report whether a range with a step is computed in thousandths."""
    bounds = [parse_quantity(bound) for bound in (valid.min, valid.max, valid.step) if bound is not None]
    positive = valid.step is not None and parse_quantity(valid.step) > 0
    return rules.fractional_ranges and positive and all(map(_is_milli, bounds))


def _is_milli(nanos: int) -> bool:
    """Report whether an amount is a number of thousandths that fits into an int64."""
    return nanos % _MILLI == 0 and -_MAX - 1 <= nanos // _MILLI <= _MAX


def _round_up(asked: QuantityText, valid: CapacityRequestPolicyRange, rules: DeviceRules) -> int:
    """Round a requested amount up to the minimum of a range, or to a whole number of steps above it."""
    amount, least = parse_quantity(asked), parse_quantity(valid.min or 0)
    if amount < least:
        return least
    if valid.step is None:
        return amount
    if _uses_thousandths(valid, rules):
        step = parse_quantity(valid.step)
        if not _is_milli(amount):
            raise CapacityError(f"{_UNREPRESENTABLE}: request {Amount.parse(asked)} is not a representable milli value")
        rounded = least + step * -((amount - least) // -step)
        if not _is_milli(rounded):
            rounding = f"rounding request {Amount.parse(asked)} up to the next step"
            raise CapacityError(f"{_UNREPRESENTABLE}: {rounding} passes the milli-value range")
        return rounded
    step, start = value(parse_quantity(valid.step)), value(least)
    if rules.capacity_errors:
        if amount > _MAX * NANO:
            raise CapacityError(f"{_UNREPRESENTABLE}: request {Amount.parse(asked)} exceeds MaxInt64")
        steps = -((value(amount) - start) // -step)
        if start >= 0 and steps > (_MAX - start) // step:
            rounding = f"rounding request {Amount.parse(asked)} up to the next step"
            raise CapacityError(f"{_UNREPRESENTABLE}: {rounding} passes MaxInt64")
        return (start + step * steps) * NANO
    steps = _quotient(_wrapped(_asked_value(asked, amount) - start), step)
    return _wrapped(start + step * steps) * NANO


def _asked_value(asked: QuantityText, amount: int) -> int:
    """Return Quantity.Value of a decimal amount, including amounts beyond int64.

    Binary amounts are capped when they are parsed. An amount of at most 18 digits is multiplied by a power of ten.
    Powers that have a function of their own wrap around; the others are multiplied digit by digit and give 0.
    """
    whole = -(-amount // NANO)
    if whole <= _MAX:
        return whole
    form = _DIGITS.match(str(asked))
    if form is None:
        raise AssertionError(f"a quantity without digits: {asked}")
    digits = form[1] + form[2]
    if len(digits) > _FEW_DIGITS:
        return _wrapped(whole)
    scale = len(str(whole // int(digits))) - 1
    return _wrapped(whole) if scale in _OWN_SCALES else 0


def _quotient(dividend: int, divisor: int) -> int:
    """Divide as Go does (toward zero), and add 1 if there is a remainder."""
    quotient = abs(dividend) // divisor
    quotient = quotient if dividend >= 0 else -quotient
    return quotient + 1 if quotient * divisor != dividend else quotient


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _violates(amount: int, capacity: DeviceCapacity, rules: DeviceRules) -> bool:
    policy = capacity.request_policy
    if policy is None or (policy.default is not None and amount == parse_quantity(policy.default)):
        return False
    if policy.valid_range is not None:
        valid = policy.valid_range
        if valid.max is not None and amount > parse_quantity(valid.max):
            return True
        if valid.step is None:
            return False
        if _uses_thousandths(valid, rules):
            return not _is_milli(amount) or (amount - parse_quantity(valid.min or 0)) % parse_quantity(valid.step) != 0
        step, start = value(parse_quantity(valid.step)), value(parse_quantity(valid.min or 0))
        # Whole units are rounded up. Beyond int64 they wrap around, as in Quantity.Value.
        return _wrapped(_wrapped(-(-amount // NANO)) - start) % step != 0
    return bool(policy.valid_values) and amount not in map(parse_quantity, policy.valid_values)
