"""The exhaustive search for devices on one node; the first solution counts (upstream ``allocator_incubating.go``).

The search goes through the claims in order, their requests, the alternatives of a request, then pools, slices and
devices. It skips a device that is interchangeable with one that has failed at the same point.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.device import ALL, ALLOCATION_RESULTS_MAX, EXACT_COUNT, Device, DeviceTaint, ResourceSlice
from kschedctl.scheduler.devices.capacity import CapacityError, consumption, fits
from kschedctl.scheduler.devices.claims import AllocationError, DeviceID, NodeRejectedError, PoolID
from kschedctl.scheduler.devices.constraints import ConstraintState, counters_of, make_constraint
from kschedctl.scheduler.devices.requests import Alternative, ClaimPlan
from kschedctl.scheduler.devices.taints import untolerated

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.inventory import Inventory

# The devices that one node can use, numbered in search order, and the devices and shares that a search has taken.


class SitePool(msgspec.Struct, frozen=True):
    """A pool at a site; ``devices`` is a range of device numbers at the site."""

    id: PoolID
    view: int
    incomplete: bool
    invalid: str
    usable: bool
    devices: range

    @property
    def last(self) -> int:
        """The number of the pool's last device at the site."""
        return self.devices.stop - 1


class NodeDevices:
    """The devices that one node can use.

    pools: The pools, in search order.
    numbers: The number in the inventory of each device at the site.

    Args:
        kinds: The kind of each device of the cluster; the search does not distinguish devices of the same kind.
    """

    def __init__(self, inventory: "Inventory", row: int, kinds: Int64Array) -> None:
        self.inventory = inventory
        self._row, self._kinds = row, kinds
        rules = inventory.rules
        self.pools: list[SitePool] = []
        self.pool_of: list[int] = []
        rows: list[Int64Array] = []
        elsewhere: list[bool] = []
        n_devices = 0
        for number in inventory.pools_of(row):
            view, devices = inventory.views[number], inventory.view_devices[number]
            usable = not view.invalid and not (view.incomplete and rules.whole_pools)
            here = range(n_devices, n_devices + len(devices))
            self.pools.append(SitePool(view.id, number, view.incomplete, view.invalid, usable, here))
            self.pool_of += [len(self.pools) - 1] * len(devices)
            rows.append(devices)
            elsewhere += inventory.view_elsewhere[number].tolist()
            n_devices += len(devices)
        self._rows = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        self.numbers: list[int] = self._rows.tolist()
        self.elsewhere = elsewhere
        self.kind: list[int] = kinds[self._rows].tolist()
        self.in_use: list[bool] = inventory.in_use[self._rows].tolist()
        self.draws_on_counters: list[bool] = (inventory.content("consumes_counters")[self._rows] >= 0).tolist()
        shareable = inventory.content("allow_multiple_allocations")[self._rows] >= 0
        self.shareable: list[bool] = (shareable & rules.capacity_requests).tolist()
        self.reckons_capacity: list[bool] = []
        if rules.capacity_requests:
            self.reckons_capacity = inventory.reckons_capacity[self._rows].tolist()
        self.capacity = SiteCapacity(self)
        self.counters = SiteCounters(self)

    def again(self) -> "NodeDevices":
        """Return a new site with the same devices, of which nothing is taken."""
        return NodeDevices(self.inventory, self._row, self._kinds)

    @property
    def node(self) -> str:
        return self.inventory.cluster.nodes.names[self._row]

    def slice(self, number: int) -> ResourceSlice:
        """Return the slice that lists a device."""
        return self.inventory.slice_of(self.numbers[number])

    def device(self, number: int) -> Device:
        """Return a device by its number at the site."""
        return self.inventory.devices[self.numbers[number]]

    def device_id(self, number: int) -> DeviceID:
        return self.inventory.ids[self.numbers[number]]

    def codes(self, attribute: str) -> list[int]:
        """Return the code of an attribute's value for each device; -1 for a device without the attribute."""
        found: list[int] = self.inventory.attribute(attribute)[self._rows].tolist()
        return found

    def verdict(self, asked: Alternative) -> list[int]:
        """Return the result of the request's selectors for each device, as in ``Alternative.verdict``."""
        found: list[int] = asked.verdict[self._rows].tolist()
        return found

    def has_old_share(self, number: int) -> bool:
        """Report whether a device is in use because a claim has a share of it, though it can no longer be shared."""
        blocks = self.inventory.rules.shares_block_whole_devices
        return blocks and not self.shareable[number] and self.capacity.is_shared(number)

    def is_tainted_for(self, asked: Alternative, number: int) -> bool:
        """Report whether a device has a taint that the request does not tolerate."""
        return self.taint_for(asked, number) is not None

    def taint_for(self, asked: Alternative, number: int) -> DeviceTaint | None:
        """Return the first taint of a device that the request does not tolerate, or ``None``."""
        return untolerated(self.device(number).taints, asked.tolerations)


class SiteCapacity(msgspec.Struct):
    """The consumption of shareable devices, by other claims and by the search."""

    site: NodeDevices
    _own: dict[int, dict[str, int]] = msgspec.field(default_factory=dict)
    _n_shares: dict[int, int] = msgspec.field(default_factory=dict)

    def consumption(self, asked: Alternative, number: int) -> dict[str, int] | None:
        """Return the amounts that a request takes of a device; ``None`` if the device lacks a requested capacity."""
        driver = self.site.device_id(number).driver
        return consumption(asked.capacity, self.site.device(number).capacity, driver, self.site.inventory.rules)

    def serves(self, asked: Alternative, number: int) -> bool:
        """Report whether the capacity left on a device is enough for a request."""
        if asked.capacity is None and not self.site.reckons_capacity[number]:
            return True
        used = self.site.inventory.usage.consumed.get(self.site.device_id(number), {})
        return self._serves(asked, number, used, self._own.get(number, {}))

    def serves_at_all(self, asked: Alternative, number: int) -> bool:
        """Report whether the total capacity of a device is enough for a request."""
        if asked.capacity is None and not self.site.reckons_capacity[number]:
            return True
        return self._serves(asked, number, {}, {})

    def _serves(self, asked: Alternative, number: int, used: dict[str, int], own: dict[str, int]) -> bool:
        capacities = self.site.device(number).capacity
        if not capacities:
            return asked.capacity is None or not asked.capacity.requests
        taken = self.consumption(asked, number)
        driver, rules = self.site.device_id(number).driver, self.site.inventory.rules
        return taken is not None and fits(taken, capacities, used, own, driver, rules)

    def is_shared(self, number: int) -> bool:
        """Report whether a share of a device is taken, in which case its counters have been counted."""
        usage, device = self.site.inventory.usage, self.site.device_id(number)
        if self._n_shares.get(number) or device in usage.consumed:
            return True
        return self.site.inventory.rules.counters_by_driver and device in usage.shared

    def own_key(self, number: int) -> Hashable:
        """Return a hashable form of what the search has taken of a device."""
        own = self._own.get(number)
        return (self._n_shares.get(number), tuple(own.items())) if own else self._n_shares.get(number)

    def take(self, asked: Alternative, number: int) -> dict[str, int]:
        """Take a share of a device, and return the consumed amounts."""
        taken = self.consumption(asked, number) or {}
        own = self._own.setdefault(number, {})
        for name, amount in taken.items():
            own[name] = own.get(name, 0) + amount
        self._n_shares[number] = self._n_shares.get(number, 0) + 1
        return taken

    def give_back(self, number: int, taken: dict[str, int]) -> None:
        """Release a share that the search has taken."""
        for name, amount in taken.items():
            self._own[number][name] -= amount
        self._n_shares[number] -= 1


class SiteCounters(msgspec.Struct):
    """The counters of the pools, and the amounts that the search has drawn."""

    site: NodeDevices
    _available: dict[Hashable, dict[tuple[str, str], int]] = msgspec.field(default_factory=dict)
    _drawn: dict[Hashable, dict[tuple[str, str], int]] = msgspec.field(default_factory=dict)

    def take(self, number: int) -> bool:
        """Draw a device's counters; return false, with nothing drawn, if a counter of its pool would be overdrawn."""
        pool = self.site.pools[self.site.pool_of[number]]
        key = self._pool_key(pool)
        available = self._available.get(key)
        if available is None:
            available = self._available[key] = self.site.inventory.available_counters(pool.view)
        drawn = self._drawn.setdefault(key, {})
        for counter, amount in counters_of(self.site.device(number)):
            drawn[counter] = drawn.get(counter, 0) + amount
        if all(amount >= drawn.get(counter, 0) for counter, amount in available.items()):
            return True
        self.give_back(number)
        return False

    def give_back(self, number: int) -> None:
        """Release the counters that a device has drawn."""
        drawn = self._drawn[self._pool_key(self.site.pools[self.site.pool_of[number]])]
        for counter, amount in counters_of(self.site.device(number)):
            drawn[counter] -= amount

    def _pool_key(self, pool: SitePool) -> Hashable:
        return pool.id if self.site.inventory.rules.counters_by_driver else pool.id.pool


# The work of each request at a site: the number of devices it needs, and the checks before the search.


class RequestWork(msgspec.Struct, frozen=True):
    """The work for a request, or for one of its alternatives, at a site."""

    asked: Alternative
    #: The result of the selectors for each device at the site, as in ``Alternative.verdict``.
    verdict: list[int]
    #: The number of devices that the request needs.
    n_devices: int
    #: The devices that the request takes in mode ``All``; empty in mode ``ExactCount``.
    every: list[int]


def claim_work(plan: ClaimPlan, site: NodeDevices) -> list[list[RequestWork]]:
    """Return the work of a claim at a site, by request and alternative.

    Raises AllocationError if the scheduler ends its cycle with an error before the search.
    Raises NodeRejectedError if the scheduler rejects the node before the search.
    """
    rules, keeps_alternative = site.inventory.rules, site.inventory.rules.keeps_alternative
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
        n_devices = min(one.n_devices for one in work)
        if rules.counts_by_request and least + n_devices > ALLOCATION_RESULTS_MAX:
            limit = f"exceeds the claim limit of {ALLOCATION_RESULTS_MAX}, with {least} already accounted for"
            where = f"claim {plan.claim.key}, request {alternatives[0].request}"
            raise AllocationError(f"{where}: adding {n_devices} devices {limit}")
        least += n_devices
    if least > ALLOCATION_RESULTS_MAX:
        limit = f"exceeds the claim limit of {ALLOCATION_RESULTS_MAX}"
        raise AllocationError(f"claim {plan.claim.key}: number of requested devices {least} {limit}")
    for i, name in enumerate(plan.attributes):
        if name is None:
            where = f"claim {plan.claim.key}, constraint #{i}"
            raise AllocationError(f"{where}: empty constraint (unsupported constraint type?)")
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
    bad_pool = NodeRejectedError if site.inventory.rules.all_rejects_node else AllocationError
    out: list[int] = []
    for pool in site.pools:
        if pool.incomplete:
            raise bad_pool(f"{where} {pool.id} is currently being updated")
        if pool.invalid:
            raise bad_pool(f"{where} {pool.id} is currently invalid")
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

    Raises AllocationError if a selector fails with an error on the device.
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


#: The number of steps after which the search on a node is given up; kube-scheduler gives up after ten seconds.
MAX_STEPS: Final = 200_000


class TooManyStepsError(Exception):
    """An error for a search that takes more than ``MAX_STEPS`` steps."""


class _TooManyResultsError(Exception):
    """An error for a claim that needs more devices than an allocation can list (32)."""


class Allocated(msgspec.Struct, frozen=True):
    """An allocated device of a solution."""

    #: The request, as ``request`` or ``request/alternative``.
    request: str
    #: The device's number at the site, which is the devices that one node can use.
    device: int
    #: True if the device is accessed as an administrator, which does not mark it as used.
    admin_access: bool
    #: The consumed capacity of a device that can be shared, in nano-units; otherwise ``None``.
    consumed: dict[str, int] | None


class Search:
    """A search for the devices of claims at one site.

    Args:
        plans: The claims, in order.
    """

    def __init__(self, plans: Sequence[ClaimPlan], site: NodeDevices) -> None:
        self._plans = plans
        self._site = site
        self._rules = site.inventory.rules
        self._steps = 0
        self._results: list[list[Allocated]] = [[] for _ in plans]
        self._held: dict[int, set[int]] = {}
        self._constraints = [
            [
                make_constraint(constraint, site.codes(name), self._rules)
                for constraint, name in zip(plan.claim.spec.devices.constraints, plan.attributes, strict=True)
                if name is not None
            ]
            for plan in plans
        ]
        # Trying only later devices is enough for the further devices of a request, because another order of the same
        # devices gives the same result. A ``distinctAttribute`` constraint may forget devices, so that upstream's order
        # is kept with one.
        forgets = any(c.match_attribute is None for plan in plans for c in plan.claim.spec.devices.constraints)
        self._combines = self._rules.combinations or not forgets
        self._work: list[list[list[RequestWork]]] = []

    def run(self) -> list[list[Allocated]] | None:
        """Return the devices of every claim, or ``None`` if there is no solution.

        Raises AllocationError if the scheduler ends its cycle with an error.
        Raises NodeRejectedError if the scheduler rejects the node without a search.
        Raises TooManyStepsError if the search takes more than ``MAX_STEPS`` steps.
        """
        for plan in self._plans:
            self._work.append(claim_work(plan, self._site))
        try:
            return self._results if self._search_from(0, 0) else None
        except _TooManyResultsError:
            raise AllocationError("allocation max size exceeded") from None

    def _search_from(self, claim: int, request: int) -> bool:
        """Search on from a request of a claim, or from the next claim; return true if a solution was found."""
        if claim >= len(self._plans):
            return True
        if request >= len(self._work[claim]):
            try:
                return self._search_from(claim + 1, 0)
            except _TooManyResultsError:
                # Other devices for this claim may leave a later claim with fewer.
                return False
        alternatives = self._work[claim][request]
        if not alternatives[0].asked.alternative:
            return self._devices(claim, request, 0, 0, 0)
        exceeded = True
        for number in range(len(alternatives)):
            try:
                if self._devices(claim, request, number, 0, 0):
                    return True
            except _TooManyResultsError:
                continue
            exceeded = False
        # The error is raised only if every alternative needs too many devices.
        if exceeded:
            raise _TooManyResultsError
        return False

    def _devices(self, claim: int, request: int, number: int, n_taken: int, start: int) -> bool:
        """Find the missing devices of a request from device number ``start`` on, and those of all later requests."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooManyStepsError
        work = self._work[claim][request][number]
        every = work.asked.mode == ALL
        if every and not work.every:
            return False
        if n_taken >= work.n_devices:
            return self._search_from(claim, request + 1)
        if len(self._results[claim]) + work.n_devices - n_taken > ALLOCATION_RESULTS_MAX:
            raise _TooManyResultsError
        if every:
            following = number if self._rules.keeps_alternative else 0
            return self._take(claim, request, work, work.every[n_taken], (following, n_taken + 1, 0), must=True)
        return self._any_devices(claim, request, number, n_taken, start)

    def _any_devices(self, claim: int, request: int, number: int, n_taken: int, start: int) -> bool:
        work = self._work[claim][request][number]
        failed: set[Hashable] = set()
        for pool in self._site.pools:
            if pool.last < start and pool.devices:
                continue
            if pool.invalid and self._rules.invalid_pool_fails:
                raise AllocationError(f"pool {pool.id.pool} is invalid: {pool.invalid}")
            if not pool.usable:
                continue
            for device in pool.devices:
                if device < start or not self._free(work.asked, claim, device):
                    continue
                if not selectable(self._site, work.asked, work.verdict, device) or not self._serves(work.asked, device):
                    continue
                alike = self._interchange_key(device)
                if alike in failed:
                    continue
                following = (number, n_taken + 1, device + 1 if self._combines else 0)
                if self._take(claim, request, work, device, following, must=False):
                    return True
                failed.add(alike)
        return False

    def _interchange_key(self, device: int) -> Hashable:
        """Return a key that is equal for devices that are interchangeable at this point of the search."""
        site = self._site
        held = self._held.get(device)
        pool = site.pool_of[device] if site.draws_on_counters[device] else -1
        return site.kind[device], pool, frozenset(held) if held else None, site.capacity.own_key(device)

    def _free(self, asked: Alternative, claim: int, device: int) -> bool:
        held = self._held.get(device, ())
        if asked.admin_access:
            return claim not in held
        return not self._site.in_use[device] and not held

    def _serves(self, asked: Alternative, device: int) -> bool:
        if not self._rules.capacity_requests:
            return True
        try:
            return self._site.capacity.serves(asked, device)
        except CapacityError as error:
            raise capacity_error(asked, self._site.device_id(device), error) from None

    def _take(
        self, claim: int, request: int, work: RequestWork, device: int, following: tuple[int, int, int], *, must: bool
    ) -> bool:
        """Take a device and search for the rest; release the device if that fails."""
        site, asked, held = self._site, work.asked, self._held.get(device, ())
        if site.draws_on_counters[device] and not self._rules.partitionable:
            return False
        if (claim in held and not site.shareable[device]) if asked.admin_access else (site.in_use[device] or held):
            return False
        if not asked.admin_access and site.has_old_share(device):
            return False
        draws = site.draws_on_counters[device] and not (site.shareable[device] and site.capacity.is_shared(device))
        if draws and not site.counters.take(device):
            return False
        constrained = done = False
        try:
            if self._rules.taints and site.is_tainted_for(asked, device):
                return False
            constrained = self._constrain(claim, asked, device, must=must)
            done = constrained and self._serves(asked, device) and self._hold(claim, request, asked, device, following)
            return done
        finally:
            if not done:
                if constrained:
                    self._release(self._constraints[claim], asked)
                if draws:
                    site.counters.give_back(device)

    def _constrain(self, claim: int, asked: Alternative, device: int, *, must: bool) -> bool:
        """Add a device to all constraints of its claim, or to none of them."""
        constraints = self._constraints[claim]
        for number, constraint in enumerate(constraints):
            if self._rules.values_are_parsed and constraint.cannot_compare(asked.request, asked.alternative, device):
                self._release(constraints[:number], asked)
                names = [name for name in self._plans[claim].attributes if name is not None]
                where = f"claim {asked.claim}, request {asked.own_name}: device {self._site.device_id(device)}"
                raise AllocationError(f"{where}: unsupported attribute value for {names[number]}")
            if not constraint.add(asked.request, asked.alternative, device):
                self._release(constraints[:number], asked)
                if must:
                    where = f"claim {asked.claim}, request {asked.own_name}: cannot add device"
                    problem = "because a claim constraint would not be satisfied"
                    raise AllocationError(f"{where} {self._site.device_id(device)} {problem}")
                return False
        return True

    def _release(self, constraints: Sequence[ConstraintState], asked: Alternative) -> None:
        """Remove the last device of a request from the constraints."""
        for constraint in reversed(constraints):
            constraint.remove(asked.request, asked.alternative)

    def _hold(self, claim: int, request: int, asked: Alternative, device: int, following: tuple[int, int, int]) -> bool:
        """Add a device to the solution and search for the rest; remove the device if the search fails."""
        site = self._site
        consumed = None
        if site.shareable[device]:
            consumed = site.capacity.take(asked, device)
        else:
            self._held.setdefault(device, set()).add(claim)
        self._results[claim].append(Allocated(asked.full_name, device, asked.admin_access, consumed))
        done = False
        try:
            done = self._devices(claim, request, *following)
        finally:
            if not done:
                self._results[claim].pop()
                if consumed is not None:
                    site.capacity.give_back(device, consumed)
                else:
                    self._held[device].discard(claim)
        return done
