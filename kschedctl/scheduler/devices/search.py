"""The exhaustive search for devices on one node; the first solution counts (upstream ``allocator_incubating.go``).

The search goes through the claims in order, their requests, the alternatives of a request, then pools, slices and
devices. It skips a device that is interchangeable with one that has failed at the same point.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from kschedctl.objects.device import ALL, ALLOCATION_RESULTS_MAX
from kschedctl.scheduler.devices.capacity import CapacityError
from kschedctl.scheduler.devices.constraints import ConstraintState, make_constraint
from kschedctl.scheduler.devices.errors import AllocationError
from kschedctl.scheduler.devices.request_work import RequestWork, capacity_error, claim_work, selectable
from kschedctl.scheduler.devices.requests import Alternative, ClaimPlan
from kschedctl.scheduler.devices.site import NodeDevices

#: The number of steps after which the search on a node is given up; kube-scheduler gives up after ten seconds.
MAX_STEPS: Final = 200_000


class TooManyStepsError(Exception):
    """An error for a search that takes more than ``MAX_STEPS`` steps."""


class _TooManyResultsError(Exception):
    """An error for a claim that needs more devices than an allocation can list (32)."""


@dataclass(frozen=True, slots=True)
class Allocated:
    """An allocated device of a solution.

    Attributes
    ----------
    request : str
        The request, as ``request`` or ``request/alternative``.
    device : int
        The device's number at the site, which is the devices that one node can use.
    admin_access : bool
        True if the device is accessed as an administrator, which does not mark it as used.
    consumed : dict of str to int, optional
        The consumed capacity of a device that can be shared, in nano-units; otherwise ``None``.
    """

    request: str
    device: int
    admin_access: bool
    consumed: dict[str, int] | None


class Search:
    """A search for the devices of claims at one site.

    Parameters
    ----------
    plans : sequence of ClaimPlan
        The claims, in order.
    site : NodeDevices
        The devices that the node can use.
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

        Raises
        ------
        AllocationError
            If the scheduler ends its cycle with an error.
        TooManyStepsError
            If the search takes more than ``MAX_STEPS`` steps.
        """
        for plan in self._plans:
            self._work.append(claim_work(plan, self._site))
        try:
            return self._results if self._next(0, 0) else None
        except _TooManyResultsError:
            raise AllocationError("allocation max size exceeded") from None

    def _next(self, claim: int, request: int) -> bool:
        """Search on from a request of a claim, or from the next claim; return true if a solution was found."""
        if claim >= len(self._plans):
            return True
        if request >= len(self._work[claim]):
            try:
                return self._next(claim + 1, 0)
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
            return self._next(claim, request + 1)
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
                alike = self._alike(device)
                if alike in failed:
                    continue
                following = (number, n_taken + 1, device + 1 if self._combines else 0)
                if self._take(claim, request, work, device, following, must=False):
                    return True
                failed.add(alike)
        return False

    def _alike(self, device: int) -> Hashable:
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
        site, asked = self._site, work.asked
        if not self._can_take(claim, asked, device):
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

    def _can_take(self, claim: int, asked: Alternative, device: int) -> bool:
        site, held = self._site, self._held.get(device, ())
        if site.draws_on_counters[device] and not self._rules.partitionable:
            return False
        if asked.admin_access:
            return bool(site.shareable[device]) or claim not in held
        return not site.in_use[device] and not held

    def _constrain(self, claim: int, asked: Alternative, device: int, *, must: bool) -> bool:
        """Add a device to all constraints of its claim, or to none of them."""
        constraints = self._constraints[claim]
        for number, constraint in enumerate(constraints):
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
