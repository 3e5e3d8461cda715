"""Constraints over the devices of a claim: the same value of an attribute for all, or another for each.

Values are compared by their codes: the same number for the same value of the same type, -1 for a device without.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kschedctl.api.device import Device, DeviceAttribute, DeviceConstraint
from kschedctl.devices.errors import AllocationError
from kschedctl.releases.device_rules import DeviceRules


def lookup_attribute(driver: str, device: Device, name: str) -> DeviceAttribute | None:
    """An attribute by its fully qualified name; without a domain it is of the driver's."""
    found = device.attributes.get(name)
    domain, slash, identifier = name.partition("/")
    if found is None and slash and domain == driver:
        found = device.attributes.get(identifier)
    return found


class Constraint(ABC):
    """One constraint of a claim, and what it knows of the devices taken so far.

    Parameters
    ----------
    requests : sequence of str
        The requests it is for, or ``request/alternative``; all where it is empty.
    codes : sequence of int
        Per device of the search the code of its value.
    """

    def __init__(self, requests: Sequence[str], codes: Sequence[int]) -> None:
        self._requests = frozenset(requests)
        self._codes = codes

    def applies(self, request: str, alternative: str) -> bool:
        """Whether the constraint is for a request."""
        return (
            not self._requests
            or request in self._requests
            or bool(alternative and f"{request}/{alternative}" in self._requests)
        )

    def add(self, request: str, alternative: str, device: int) -> bool:
        """Take a device in; false where it breaks the constraint."""
        if not self.applies(request, alternative):
            return True
        code = self._codes[device]
        return code >= 0 and self._add(request, code)

    def remove(self, request: str, alternative: str) -> None:
        """Give the latest device of a request back."""
        if self.applies(request, alternative):
            self._remove(request)

    @abstractmethod
    def _add(self, request: str, code: int) -> bool: ...

    @abstractmethod
    def _remove(self, request: str) -> None: ...


class MatchAttribute(Constraint):
    """All devices have the same value."""

    def __init__(self, requests: Sequence[str], codes: Sequence[int]) -> None:
        super().__init__(requests, codes)
        self._code = -1
        self._n_devices = 0

    def _add(self, request: str, code: int) -> bool:
        if self._n_devices and code != self._code:
            return False
        self._code = code
        self._n_devices += 1
        return True

    def _remove(self, request: str) -> None:
        self._n_devices -= 1


class HasAttribute(Constraint):
    """All devices have the attribute: upstream once compared where values are kept, and these always differ."""

    def _add(self, request: str, code: int) -> bool:
        return True

    def _remove(self, request: str) -> None:
        pass


class DistinctFromLatest(Constraint):
    """A device differs from the latest one of each request; upstream forgets the others, and all on going back."""

    def __init__(self, requests: Sequence[str], codes: Sequence[int]) -> None:
        super().__init__(requests, codes)
        self._latest: dict[str, int] = {}
        self._n_devices = 0

    def _add(self, request: str, code: int) -> bool:
        if self._n_devices and code in self._latest.values():
            return False
        self._latest[request] = code
        self._n_devices += 1
        return True

    def _remove(self, request: str) -> None:
        self._latest.pop(request, None)
        self._n_devices -= 1


class DistinctFromAll(Constraint):
    """A device differs from all others."""

    def __init__(self, requests: Sequence[str], codes: Sequence[int]) -> None:
        super().__init__(requests, codes)
        self._taken: list[int] = []

    def _add(self, request: str, code: int) -> bool:
        if code in self._taken:
            return False
        self._taken.append(code)
        return True

    def _remove(self, request: str) -> None:
        self._taken.pop()


def constraint_attribute(constraint: DeviceConstraint, rules: DeviceRules) -> str | None:
    """The attribute that a constraint is about; ``None`` where the release does not know the constraint."""
    if constraint.match_attribute is not None:
        return constraint.match_attribute
    return constraint.distinct_attribute if rules.distinct_attribute else None


def make_constraint(constraint: DeviceConstraint, codes: Sequence[int], rules: DeviceRules) -> Constraint:
    """A constraint that nothing is taken into yet."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.requests, codes)
    if not rules.distinct_compares:
        return HasAttribute(constraint.requests, codes)
    if rules.distinct_keeps_all:
        return DistinctFromAll(constraint.requests, codes)
    return DistinctFromLatest(constraint.requests, codes)


def unknown_constraint(claim: str, number: int) -> AllocationError:
    """The error of a constraint that the release does not know."""
    return AllocationError(f"claim {claim}, constraint #{number}: empty constraint (unsupported constraint type?)")
