"""The requests of the claims that a pod needs allocated, and what of every device bears on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kschedctl.api.device import (
    CapacityRequirements,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from kschedctl.arrays import Int64Array
from kschedctl.devices.constraints import constraint_attribute
from kschedctl.devices.errors import AllocationError
from kschedctl.devices.inventory import Inventory
from kschedctl.devices.selectors import helped

_EXPRESSION_EMPTY: Final = "CEL expression empty (unsupported selector type?)"


@dataclass(frozen=True, slots=True)
class Alternative:
    """One request, or one of its alternatives.

    Attributes
    ----------
    claim : str
        The claim, ``namespace/name``.
    request : str
        The request's name.
    alternative : str
        The alternative's; empty where the request has none.
    device_class : str
        The class that is asked for.
    selectors : tuple of DeviceSelector
        Its own selectors, besides those of the class.
    mode : str
        ``ExactCount`` or ``All``.
    count : int
        How many devices, for ``ExactCount``.
    admin_access : bool
        Whether use by others does not matter.
    tolerations : tuple of DeviceToleration
        Which taints do not.
    capacity : CapacityRequirements, optional
        What is asked of each device.
    verdict : ndarray of int64, shape (n_devices,)
        Per device of the cluster whether the selectors of class and request match: 0 no, 1 yes, more: an error.
    errors : tuple of str
        The errors, from number 2 on; the place of the device is marked by a null character.
    problem : str
        An error that comes before any device is looked at; empty where there is none.
    refused : bool
        Whether capacity is asked for, and the release refuses that.
    """

    claim: str
    request: str
    alternative: str
    device_class: str
    selectors: tuple[DeviceSelector, ...]
    mode: str
    count: int
    admin_access: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: CapacityRequirements | None
    verdict: Int64Array
    errors: tuple[str, ...]
    problem: str = ""
    refused: bool = False

    @property
    def own_name(self) -> str:
        """The name that errors give: the alternative's where it is one."""
        return self.alternative or self.request

    @property
    def full_name(self) -> str:
        """The name that allocations give."""
        return f"{self.request}/{self.alternative}" if self.alternative else self.request

    def error(self, number: int, device: object, *, names_device: bool) -> AllocationError:
        """The error of a selector at a device."""
        where, _, problem = self.errors[number - 2].partition("\0")
        if not names_device or problem.startswith("CEL compile error"):
            return AllocationError(f"{where}: {problem}")
        return AllocationError(f"{where} on device {device}: {helped(problem)}")


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """A claim that is to be allocated, with what the search needs.

    Attributes
    ----------
    requests : tuple of tuple of Alternative
        Per request its alternatives; one where it has none.
    attributes : tuple of (str or None)
        Per constraint the attribute; ``None`` for one that the release does not know.
    """

    claim: ResourceClaim
    requests: tuple[tuple[Alternative, ...], ...]
    attributes: tuple[str | None, ...]


def plan_claims(claims: Sequence[ResourceClaim], inventory: Inventory) -> tuple[ClaimPlan, ...]:
    """Prepare claims for the search: every selector is asked of every device that looks different to it."""
    return tuple(_plan(claim, inventory) for claim in claims)


def _plan(claim: ResourceClaim, inventory: Inventory) -> ClaimPlan:
    spec = claim.spec.devices
    return ClaimPlan(
        claim,
        tuple(_alternatives(claim, request, inventory) for request in spec.requests),
        tuple(constraint_attribute(constraint, inventory.rules) for constraint in spec.constraints),
    )


def _alternatives(claim: ResourceClaim, request: DeviceRequest, inventory: Inventory) -> tuple[Alternative, ...]:
    if request.first_available:
        return tuple(_alternative(claim, request.name, sub.name, sub, inventory) for sub in request.first_available)
    exactly = request.exactly or ExactDeviceRequest()
    return (_alternative(claim, request.name, "", exactly, inventory),)


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


def bearing_columns(plans: Sequence[ClaimPlan], inventory: Inventory) -> dict[Hashable, Int64Array]:
    """The columns that bear on a search: devices with the same codes are alike to it.

    Returns
    -------
    dict of hashable to ndarray of int64, shape (n_devices,)
    """
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
        out["shares"] = inventory.shares
    out["counters"] = inventory.content("consumes_counters")
    return out
