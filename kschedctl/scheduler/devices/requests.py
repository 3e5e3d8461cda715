"""The device requests of the claims to allocate, and the device columns that influence them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.device import (
    CapacityRequirements,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from kschedctl.scheduler.devices.claims import AllocationError
from kschedctl.scheduler.devices.constraints import constraint_attribute

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.inventory import Inventory

_EXPRESSION_EMPTY: Final = "CEL expression empty (unsupported selector type?)"
_HINT: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional"
    " fields"
)


class Alternative(msgspec.Struct, frozen=True):
    """A device request, or one of its alternatives (subrequests)."""

    #: The key of the claim, ``namespace/name``.
    claim: str
    request: str
    #: The name of the subrequest; empty if the request has no alternatives.
    alternative: str
    device_class: str
    #: The selectors of the request, without those of the class.
    selectors: tuple[DeviceSelector, ...]
    #: The allocation mode: ``ExactCount`` or ``All``.
    mode: str
    #: The number of requested devices, for ``ExactCount``.
    count: int
    #: True if devices that are in use can be allocated.
    admin_access: bool
    #: The device taints that are tolerated.
    tolerations: tuple[DeviceToleration, ...]
    #: The capacity requested of each device.
    capacity: CapacityRequirements | None
    #: The result of the selectors of class and request for each device of the cluster: 0 no match, 1 match, above
    #: 1 the number of an error.
    verdict: Int64Array
    #: The error texts, from number 2 on; a null character marks the position for the device's name.
    errors: tuple[str, ...]
    #: An error that occurs before any device is checked; empty if there is none.
    problem: str = ""
    #: True if capacity is requested and the release rejects such requests.
    refused: bool = False

    @property
    def own_name(self) -> str:
        """The name in error messages: that of the alternative if there is one, otherwise that of the request."""
        return self.alternative or self.request

    @property
    def full_name(self) -> str:
        """The name in allocations: ``request`` or ``request/alternative``."""
        return f"{self.request}/{self.alternative}" if self.alternative else self.request

    def error(self, number: int, device: object, *, names_device: bool) -> AllocationError:
        """Return the error of a selector for a device."""
        where, _, problem = self.errors[number - 2].partition("\0")
        if not names_device or problem.startswith("CEL compile error"):
            return AllocationError(f"{where}: {problem}")
        return AllocationError(f"{where} on device {device}: {with_hint(problem)}")


class ClaimPlan(msgspec.Struct, frozen=True):
    """A claim to allocate, prepared for the search."""

    claim: ResourceClaim
    #: The alternatives of each request; a single one for a request without alternatives.
    requests: tuple[tuple[Alternative, ...], ...]
    #: The attribute of each constraint; ``None`` for a constraint that the release does not know.
    attributes: tuple[str | None, ...]


def with_hint(problem: str) -> str:
    """Return a runtime error with the advice that later releases add for absent keys."""
    return problem + _HINT if "no such key: " in problem else problem


def plan_claims(claims: Sequence[ResourceClaim], inventory: Inventory) -> tuple[ClaimPlan, ...]:
    """Prepare claims for the search: evaluate every selector once per distinguishable device."""
    return tuple(
        ClaimPlan(
            claim,
            tuple(
                tuple(_alternative(claim, request.name, sub.name, sub, inventory) for sub in request.first_available)
                or (_alternative(claim, request.name, "", request.exactly or ExactDeviceRequest(), inventory),)
                for request in claim.spec.devices.requests
            ),
            tuple(constraint_attribute(each, inventory.rules) for each in claim.spec.devices.constraints),
        )
        for claim in claims
    )


def _alternative(
    claim: ResourceClaim, name: str, sub: str, asked: ExactDeviceRequest | DeviceSubRequest, inventory: Inventory
) -> Alternative:
    where = f"claim {claim.key}, request {sub or name}"
    problem = ""
    for i, selector in enumerate(asked.selectors):
        if selector.cel is None:
            problem = problem or f"{where}, selector #{i}: {_EXPRESSION_EMPTY}"
    class_name = asked.device_class_name
    device_class = inventory.device_class(class_name)
    if not class_name:
        problem = problem or f"{where}: missing device class name (unsupported request type?)"
    elif device_class is None:
        missing = f'deviceclass.resource.k8s.io "{class_name}" not found'
        problem = problem or f"{where}: could not retrieve device class {class_name}: {missing}"
    if inventory.rules.refuses_derived_attributes and asked.derived_attributes:
        disabled = "cannot handle request with derived attributes, the feature is disabled"
        problem = problem or f"{where}: {disabled}"
    verdict = np.ones(len(inventory.devices), dtype=np.int64)
    errors: list[str] = []
    if not problem and device_class is not None:
        verdict, errors = inventory.matches(device_class.spec.selectors, f"class {class_name}")
        own, own_errors = inventory.matches(asked.selectors, f"claim {claim.key}")
        verdict = np.where(verdict == 1, np.where(own > 1, own + len(errors), own), verdict)
        errors = [*errors, *own_errors]
    if not inventory.rules.binding_conditions:
        verdict = np.where(inventory.content("binding_conditions") >= 0, 0, verdict)
    return Alternative(
        claim=claim.key,
        request=name,
        alternative=sub,
        device_class=class_name,
        selectors=asked.selectors,
        mode=asked.allocation_mode,
        count=asked.count,
        admin_access=isinstance(asked, ExactDeviceRequest) and bool(asked.admin_access),
        tolerations=asked.tolerations,
        capacity=asked.capacity if inventory.rules.capacity_requests else None,
        verdict=verdict,
        errors=tuple(errors),
        problem=problem,
        refused=inventory.rules.refuses_capacity_requests and asked.capacity is not None,
    )


def relevant_columns(plans: Sequence[ClaimPlan], inventory: Inventory) -> dict[Hashable, Int64Array]:
    """Return the columns that influence a search; devices with equal codes in all of them are interchangeable."""
    rules = inventory.rules
    out: dict[Hashable, Int64Array] = {"in use": inventory.in_use.astype(np.int64)}
    for c, plan in enumerate(plans):
        for r, alternatives in enumerate(plan.requests):
            for a, alternative in enumerate(alternatives):
                out["verdict", c, r, a] = alternative.verdict
        for name in plan.attributes:
            if name is not None:
                out["attribute", name] = inventory.attribute(name)
    if rules.taints:
        out["taints"] = inventory.content("taints")
    if rules.capacity_requests:
        out["multiple"] = inventory.content("allow_multiple_allocations")
        asks = any(alternative.capacity is not None for plan in plans for r in plan.requests for alternative in r)
        if asks or inventory.reckons_capacity.any():
            out["capacity"] = inventory.content("capacity")
        if asks and rules.names_have_domains:
            out["driver"] = inventory.column("driver", lambda number: inventory.drivers[number])
        out["shares"] = inventory.shares
    out["counters"] = inventory.content("consumes_counters")
    return out
