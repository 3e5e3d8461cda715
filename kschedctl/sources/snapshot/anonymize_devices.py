"""Pseudonyms in objects about devices: names of drivers, pools and attributes, and the text values of attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kschedctl.objects import device
from kschedctl.objects.core import Condition
from kschedctl.objects.device import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    DeviceAttribute,
    DeviceCapacity,
    DeviceTaint,
    DeviceToleration,
)
from kschedctl.sources.snapshot.anonymize_amounts import anonymous_amount
from kschedctl.sources.snapshot.anonymize_expressions import OWN_ATTRIBUTES, OWN_DOMAIN, VERSION, ExpressionRenaming
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms
from kschedctl.sources.snapshot.rewriting import Replacement

#: Fields with a fixed set of values defined by Kubernetes.
DEVICE_CHOICES: Final = frozenset(
    {
        (device.ExactDeviceRequest, "allocation_mode"),
        (device.DeviceSubRequest, "allocation_mode"),
        (device.DeviceRequest, "allocation_mode"),
    }
)
_STATUSES: Final = frozenset({"True", "False", "Unknown"})


class DeviceRenaming:
    """The replacement rules for the kinds of resource.k8s.io.

    Parameters
    ----------
    names : Pseudonyms
        The pseudonyms of the snapshot.
    """

    def __init__(self, names: Pseudonyms) -> None:
        self._names = names
        self._expressions = ExpressionRenaming(names)

    @property
    def fields(self) -> dict[tuple[type, str], Replacement]:
        """The replacements by type and field."""
        drivers = (
            device.ResourceSliceSpec,
            device.DeviceRequestAllocationResult,
            device.AllocatedDeviceStatus,
            device.DeviceTaintSelector,
        )
        return {
            **{(type_, "driver"): self._driver for type_ in drivers},
            (device.CELDeviceSelector, "expression"): self._expressions.expression,
            (device.DeviceFeatures, "attributes"): self._attributes,
            (device.DeviceFeatures, "capacity"): self._capacities,
            (device.CapacityRequirements, "requests"): self._amounts,
            (device.DeviceRequestAllocationResult, "consumed_capacity"): self._amounts,
            (device.CounterSet, "counters"): self._counters,
            (device.DeviceCounterConsumption, "counters"): self._counters,
            (device.DeviceConstraint, "requests"): lambda texts: tuple(map(self._request, texts)),
            (device.DeviceRequestAllocationResult, "request"): self._request,
            (device.DeviceConstraint, "match_attribute"): self._optional_qualified,
            (device.DeviceConstraint, "distinct_attribute"): self._optional_qualified,
            (device.AllocatedDeviceStatus, "conditions"): self._conditions,
            (device.ResourceClaimConsumerReference, "uid"): self._names.uid,
        }

    @property
    def structs(self) -> dict[type[msgspec.Struct], Replacement]:
        """The replacements of whole structs."""
        return {DeviceTaint: self._taint, DeviceToleration: self._toleration}

    def _driver(self, name: str | None) -> str | None:
        return None if name is None else self._domain(name)

    def _domain(self, name: str) -> str:
        if name == OWN_DOMAIN:
            return name
        self._expressions.domains.add(name)
        return self._names.word(name, "driver")

    def _qualified(self, name: str) -> str:
        domain, slash, identifier = name.partition("/")
        if not slash:
            domain, identifier = "", name
        if domain == OWN_DOMAIN and identifier in OWN_ATTRIBUTES:
            self._expressions.kept.add(identifier)
            return name
        self._expressions.identifiers.add(identifier)
        own = self._names.word(identifier, "attribute")
        return f"{self._domain(domain)}/{own}" if slash else own

    def _optional_qualified(self, name: str | None) -> str | None:
        return None if name is None else self._qualified(name)

    def _request(self, name: str) -> str:
        return "/".join(map(self._names.word, name.split("/")))

    def _amounts(self, amounts: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if amounts is None:
            return None
        return {self._qualified(name): anonymous_amount(amount) for name, amount in amounts.items()}

    def _capacities(self, capacities: Mapping[str, DeviceCapacity]) -> dict[str, DeviceCapacity]:
        return {self._qualified(name): self._capacity(capacity) for name, capacity in capacities.items()}

    def _capacity(self, capacity: DeviceCapacity) -> DeviceCapacity:
        policy = capacity.request_policy
        return replace(
            capacity,
            value=anonymous_amount(capacity.value),
            request_policy=None if policy is None else _policy(policy),
        )

    def _counters(self, counters: Mapping[str, Counter]) -> dict[str, Counter]:
        return {self._names.word(name): Counter(value=anonymous_amount(c.value)) for name, c in counters.items()}

    def _attributes(self, attributes: Mapping[str, DeviceAttribute]) -> dict[str, DeviceAttribute]:
        return {self._qualified(name): self._attribute(name, value) for name, value in attributes.items()}

    def _attribute(self, name: str, attribute: DeviceAttribute) -> DeviceAttribute:
        text, version = attribute.string_value, attribute.version_value
        if version is not None and not VERSION.fullmatch(version):
            attribute = replace(attribute, version_value=self._names.word(version, "value"))
        if text is None or name.rpartition("/")[2] in self._expressions.looked_inside:
            return attribute
        return replace(attribute, string_value=self._names.word(text, "value"))

    def _taint(self, taint: Any) -> Any:
        names = self._names
        key, value = names.key(taint.key), names.value(taint.key, taint.value)
        return replace(taint, key=key, value=value, effect=names.choice(taint.effect))

    def _toleration(self, toleration: DeviceToleration) -> DeviceToleration:
        tolerated: DeviceToleration = self._taint(toleration)
        return replace(tolerated, operator=self._names.choice(toleration.operator))

    def _conditions(self, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        return tuple(
            Condition(
                type=self._names.word(condition.type),
                status=condition.status if condition.status in _STATUSES else "Unknown",
                last_transition_time=condition.last_transition_time,
            )
            for condition in conditions
        )


def _policy(policy: CapacityRequestPolicy) -> CapacityRequestPolicy:
    span = policy.valid_range
    return CapacityRequestPolicy(
        default=_optional_amount(policy.default),
        valid_values=tuple(map(anonymous_amount, policy.valid_values)),
        valid_range=None
        if span is None
        else CapacityRequestPolicyRange(
            min=_optional_amount(span.min), max=_optional_amount(span.max), step=_optional_amount(span.step)
        ),
    )


def _optional_amount(amount: Any) -> Any:
    return None if amount is None else anonymous_amount(amount)
