"""The work of each request at a site: the number of devices it needs, and the checks before the search."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.objects.device import ALL, ALLOCATION_RESULTS_MAX, EXACT_COUNT
from kschedctl.scheduler.devices.capacity import CapacityError
from kschedctl.scheduler.devices.constraints import unknown_constraint
from kschedctl.scheduler.devices.errors import AllocationError
from kschedctl.scheduler.devices.requests import Alternative, ClaimPlan
from kschedctl.scheduler.devices.site import NodeDevices


@dataclass(frozen=True, slots=True)
class RequestWork:
    """The work for a request, or for one of its alternatives, at a site.

    Attributes
    ----------
    asked : Alternative
        The request.
    verdict : list of int
        The result of the selectors for each device at the site, as in ``Alternative.verdict``.
    n_devices : int
        The number of devices that the request needs.
    every : list of int
        The devices that the request takes in mode ``All``; empty in mode ``ExactCount``.
    """

    asked: Alternative
    verdict: list[int]
    n_devices: int
    every: list[int]


def claim_work(plan: ClaimPlan, site: NodeDevices) -> list[list[RequestWork]]:
    """Return the work of a claim at a site, by request and alternative.

    Parameters
    ----------
    plan : ClaimPlan
        The claim.
    site : NodeDevices
        The devices that the node can use.

    Raises
    ------
    AllocationError
        If the scheduler ends its cycle with an error before the search.
    """
    keeps_alternative = site.inventory.rules.keeps_alternative
    out = []
    least = 0
    for alternatives in plan.requests:
        if any(asked.refused for asked in alternatives):
            disabled = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
            raise AllocationError(f"claim {plan.claim.key}, request {alternatives[0].request}: {disabled}")
        work: list[RequestWork] = []
        for i, asked in enumerate(alternatives):
            # Older releases store the matching devices of the first two alternatives under the same index.
            shares_first = i == 1 and not keeps_alternative and alternatives[0].mode == ALL
            seen = alternatives[0] if shares_first and asked.mode == ALL else asked
            work.append(_alternative_work(asked, seen, site))
        out.append(work)
        least += min(one.n_devices for one in work)
    if least > ALLOCATION_RESULTS_MAX:
        limit = f"exceeds the claim limit of {ALLOCATION_RESULTS_MAX}"
        raise AllocationError(f"claim {plan.claim.key}: number of requested devices {least} {limit}")
    for i, name in enumerate(plan.attributes):
        if name is None:
            raise unknown_constraint(plan.claim.key, i)
    return out


def _alternative_work(asked: Alternative, seen: Alternative, site: NodeDevices) -> RequestWork:
    if asked.problem:
        raise AllocationError(asked.problem)
    verdict = site.verdict(asked)
    if asked.mode == EXACT_COUNT:
        return RequestWork(asked, verdict, asked.count, [])
    if asked.mode != ALL:
        where = f"claim {asked.claim}, request {asked.own_name}"
        raise AllocationError(f"{where}: unsupported count mode {asked.mode}")
    every = _every_device(asked, site.verdict(seen), site)
    return RequestWork(asked, verdict, len(every), every)


def _every_device(asked: Alternative, verdict: list[int], site: NodeDevices) -> list[int]:
    where = f"claim {asked.claim}, request {asked.own_name}: asks for all devices, but resource pool"
    out: list[int] = []
    for pool in site.pools:
        if pool.incomplete:
            raise AllocationError(f"{where} {pool.id} is currently being updated")
        if pool.invalid:
            raise AllocationError(f"{where} {pool.id} is currently invalid")
        out += [
            device
            for device in pool.devices
            if selectable(site, asked, verdict, device) and _may_serve(site, asked, device)
        ]
    return out


def _may_serve(site: NodeDevices, asked: Alternative, device: int) -> bool:
    """Report whether a request in mode ``All`` counts a device, judging by its capacity."""
    rules = site.inventory.rules
    if not rules.capacity_requests:
        return True
    try:
        if rules.all_fails_on_used_capacity:
            return site.capacity.serves_at_all(asked, device)
        return site.capacity.serves(asked, device)
    except CapacityError as error:
        raise capacity_error(asked, site.device(device).name, error) from None


def selectable(site: NodeDevices, asked: Alternative, verdict: list[int], device: int) -> bool:
    """Report whether a device matches the selectors of a request and is for the node.

    Raises
    ------
    AllocationError
        If a selector fails with an error on the device.
    """
    found = verdict[device]
    if found > 1:
        names_device = site.inventory.rules.names_device_in_selector_errors
        raise asked.error(found, site.device_id(device), names_device=names_device)
    return found == 1 and not site.elsewhere[device]


def capacity_error(asked: Alternative, device: object, error: CapacityError) -> AllocationError:
    """Return the error for consumed capacity that cannot be computed."""
    where = f"claim {asked.claim}, request {asked.own_name}"
    return AllocationError(f"{where}: checking capacity for device {device}: {error}")
