"""Constraints over the devices of a claim: an attribute has the same value on all devices, or distinct values.

Values are compared by their codes: equal typed values have equal codes.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kschedctl.objects.device import CounterSet, Device, DeviceAttribute, DeviceConstraint
from kschedctl.objects.quantity import parse_quantity
from kschedctl.objects.releases.rules import DeviceRules

#: The code of a device without the attribute.
ABSENT: Final = -1
#: The code of values that cannot be compared: lists, and values of an unknown type.
UNSUPPORTED: Final = -2


def lookup_attribute(driver: str, device: Device, name: str) -> DeviceAttribute | None:
    """Return an attribute by its fully qualified name; an attribute without a domain belongs to the driver's domain."""
    found = device.attributes.get(name)
    domain, slash, identifier = name.partition("/")
    if found is None and slash and domain == driver:
        found = device.attributes.get(identifier)
    return found


def attribute_value(attribute: DeviceAttribute) -> int | bool | str | None:
    """Return the value of an attribute: a version as text, ``None`` if there is no value."""
    for value in (attribute.int_value, attribute.bool_value, attribute.string_value, attribute.version_value):
        if value is not None:
            return value
    return None


class ConstraintState(ABC):
    """A constraint of a claim, and its record of the devices taken so far.

    Args:
        requests: The constrained requests, as ``request`` or ``request/alternative``; empty for all requests.
        codes: The code of the attribute's value for each device of the search.
    """

    def __init__(self, requests: Sequence[str], codes: Sequence[int]) -> None:
        self._requests = frozenset(requests)
        self._codes = codes

    def applies(self, request: str, alternative: str) -> bool:
        """Report whether the constraint covers a request."""
        return (
            not self._requests
            or request in self._requests
            or bool(alternative and f"{request}/{alternative}" in self._requests)
        )

    def cannot_compare(self, request: str, alternative: str, device: int) -> bool:
        """Report whether the constraint covers a request, and the device has a value that cannot be compared."""
        return self._codes[device] == UNSUPPORTED and self.applies(request, alternative)

    def add(self, request: str, alternative: str, device: int) -> bool:
        """Add a device; return false if it violates the constraint."""
        if not self.applies(request, alternative):
            return True
        code = self._codes[device]
        return code != ABSENT and self._take_code(request, code)

    def remove(self, request: str, alternative: str) -> None:
        """Remove the last added device of a request."""
        if self.applies(request, alternative):
            self._release_code(request)

    @abstractmethod
    def _take_code(self, request: str, code: int) -> bool: ...

    @abstractmethod
    def _release_code(self, request: str) -> None: ...


class MatchAttribute(ConstraintState):
    """A constraint that all devices have the same value; one that cannot be compared is equal to none."""

    def __init__(self, requests: Sequence[str], codes: Sequence[int]) -> None:
        super().__init__(requests, codes)
        self._code = -1
        self._n_devices = 0

    def _take_code(self, request: str, code: int) -> bool:
        if self._n_devices and (code != self._code or code == UNSUPPORTED):
            return False
        self._code = code
        self._n_devices += 1
        return True

    def _release_code(self, request: str) -> None:
        self._n_devices -= 1


class HasAttribute(ConstraintState):
    """A constraint that all devices have the attribute.

    Some releases compare the addresses of values, which always differ, instead of the values.
    """

    def _take_code(self, request: str, code: int) -> bool:
        return True

    def _release_code(self, request: str) -> None:
        pass


class DistinctFromLatest(ConstraintState):
    """A constraint that a device differs from the latest device of each request.

    Upstream forgets the earlier devices of a request, and when it backtracks, the latest one too.
    """

    def __init__(self, requests: Sequence[str], codes: Sequence[int]) -> None:
        super().__init__(requests, codes)
        self._latest: dict[str, int] = {}
        self._n_devices = 0

    def _take_code(self, request: str, code: int) -> bool:
        if self._n_devices and self._latest and (code in self._latest.values() or code == UNSUPPORTED):
            return False
        self._latest[request] = code
        self._n_devices += 1
        return True

    def _release_code(self, request: str) -> None:
        self._latest.pop(request, None)
        self._n_devices -= 1


class DistinctFromAll(ConstraintState):
    """A constraint that a device differs from all other devices."""

    def __init__(self, requests: Sequence[str], codes: Sequence[int]) -> None:
        super().__init__(requests, codes)
        self._taken: list[int] = []

    def _take_code(self, request: str, code: int) -> bool:
        if code in self._taken or (self._taken and code == UNSUPPORTED):
            return False
        self._taken.append(code)
        return True

    def _release_code(self, request: str) -> None:
        self._taken.pop()


def constraint_attribute(constraint: DeviceConstraint, rules: DeviceRules) -> str | None:
    """Return the attribute of a constraint; ``None`` if the release does not know the constraint."""
    if constraint.match_attribute is not None:
        return constraint.match_attribute
    return constraint.distinct_attribute if rules.distinct_attribute else None


def make_constraint(constraint: DeviceConstraint, codes: Sequence[int], rules: DeviceRules) -> ConstraintState:
    """Return a constraint without any devices."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.requests, codes)
    if not rules.distinct_compares:
        return HasAttribute(constraint.requests, codes)
    if rules.distinct_keeps_all:
        return DistinctFromAll(constraint.requests, codes)
    return DistinctFromLatest(constraint.requests, codes)


# Counters of pools, from which partitions of a device draw. Amounts are in nano-units.

#: A counter set and a counter in it.
CounterName = tuple[str, str]


def counters_of(device: Device) -> list[tuple[CounterName, int]]:
    """Return the counters that a device draws from, as set and counter, with the amounts in nano-units."""
    return [
        ((use.counter_set, name), parse_quantity(counter.value))
        for use in device.consumes_counters
        for name, counter in use.counters.items()
    ]


def available_counters(sets: Mapping[str, CounterSet], allocated: Iterable[Device]) -> dict[CounterName, int]:
    """Return the counters of a pool less what its allocated devices draw, in nano-units."""
    out = {
        (name, counter): parse_quantity(amount.value)
        for name, counters in sets.items()
        for counter, amount in counters.counters.items()
    }
    for device in allocated:
        for counter, amount in counters_of(device):
            if counter in out:
                out[counter] -= amount
    return out
