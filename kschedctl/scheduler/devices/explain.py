"""Explanation of failed allocations on a node: the number of devices per request, and the holders of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from kschedctl.common.findings import shortened
from kschedctl.common.wording import listed, similar
from kschedctl.objects.device import ALL, ResourceClaim
from kschedctl.scheduler.devices.capacity import CapacityError
from kschedctl.scheduler.devices.claims import AllocationError, NodeRejectedError
from kschedctl.scheduler.framework.operands import Operands, Shortfall
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext, replace_operation
from kschedctl.scheduler.framework.risk import Risk

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.inventory import Inventory
    from kschedctl.scheduler.devices.requests import Alternative, ClaimPlan
    from kschedctl.scheduler.devices.search import NodeDevices

# Devices rejected by selectors: their number, and the fields that a selector read. For explanations only.


class SelectorRejection(msgspec.Struct, frozen=True, rename="camel"):
    """A selector that rejects devices which passed the selectors before it."""

    #: The owner of the selector: ``class NAME`` or ``request NAME``.
    of: str
    #: The CEL expression.
    selector: str
    #: The number of devices that it rejects.
    devices: int
    #: The first rejected device, ``driver/pool/device``.
    example: str
    #: The fields that it reads on this device: attributes and capacities by name, ``None`` if absent.
    values: dict[str, str | None]

    def words(self) -> str:
        """Return ``class gpu-large rejects 2: DRIVER/POOL/DEVICE has memory 40Gi; its selector is EXPRESSION``."""
        has = [f"{name} {value}" for name, value in self.values.items() if value is not None]
        lacks = [name for name, value in self.values.items() if value is None]
        seen = [*(["has " + ", ".join(has)] if has else []), *(["has no " + ", ".join(lacks)] if lacks else [])]
        example = f"{self.example} {' and '.join(seen)}" if seen else f"such as {self.example}"
        selector = shortened(" ".join(self.selector.split()))
        return f"{self.of} rejects {self.devices}: {example}; its selector is {selector}"


def turned_away(asked: Alternative, site: NodeDevices, devices: Sequence[int]) -> Iterator[SelectorRejection]:
    """Yield the selectors of a request and its class that reject devices, in evaluation order."""
    inventory = site.inventory
    found = inventory.device_class(asked.device_class)
    selectors = [(f"class {asked.device_class}", one) for one in (() if found is None else found.spec.selectors)]
    left = list(devices)
    for of, selector in (*selectors, *((f"request {asked.full_name}", one) for one in asked.selectors)):
        expression = "" if selector.cel is None else selector.cel.expression
        answers, _ = inventory.answers(expression)
        gone = [device for device in left if answers[site.numbers[device]] != 1]
        if gone:
            known, device = site.device_id(gone[0]), site.device(gone[0])
            values = inventory.selector(expression).values(known.driver, device)
            yield SelectorRejection(of, expression, len(gone), str(known), values)
            left = [device for device in left if answers[site.numbers[device]] == 1]


# Remedies for claims that cannot be allocated: the right name of a ResourceClaim that does not exist.


def device_remedies(context: RemedyContext) -> Iterator[Remedy]:
    """Yield remedies that correct the name of a ResourceClaim that does not exist.

    A claim that exists is never replaced or dropped: the pod exists for the devices.
    """
    pod = context.pod
    claims = [claim for claim in context.cluster.list(ResourceClaim) if claim.namespace == pod.namespace]
    names = {claim.name for claim in claims}
    free = sorted(claim.name for claim in claims if claim.metadata.controller is None)
    for i, claim in enumerate(pod.spec.resource_claims):
        wrong = claim.resource_claim_name
        if not wrong or wrong in names:
            continue
        for j, other in enumerate(similar(wrong, free)):
            yield context.pod_patch(
                f"use ResourceClaim {other} instead of {wrong}, which does not exist",
                replace_operation(other, "spec", "resourceClaims", i, "resourceClaimName"),
                risk=Risk.MISTAKE,
                family=("other claim for devices", i),
                within=j,
            )


class DeviceHolder(msgspec.Struct, frozen=True, rename="camel"):
    """A claim that holds devices."""

    #: The key of the claim, ``namespace/name``.
    claim: str
    #: The names of the pods that the claim is reserved for.
    pods: tuple[str, ...]
    #: The number of matching devices that the claim holds.
    devices: int

    def __str__(self) -> str:
        pods = f" of {', '.join(self.pods)}" if self.pods else ""
        return f"{self.devices} by claim {self.claim}{pods}"


class RequestSupply(msgspec.Struct, frozen=True, rename="camel"):
    """The supply of devices on a node for one request."""

    #: The key of the claim, ``namespace/name``.
    claim: str
    #: The request, as ``request`` or ``request/alternative``.
    request: str
    device_class: str
    #: The number of requested devices; 0 for all that match.
    wanted: int
    #: The number of devices that the node can use, in pools that are complete and valid.
    here: int
    #: The number of these that match the selectors of the class.
    of_class: int
    #: The number of these that match the selectors of the request.
    matching: int
    #: The number of these that are not in use.
    free: int
    #: The number of free devices with a taint that is not tolerated.
    tainted: int
    #: The number of free, untainted devices with too little capacity left.
    exhausted: int
    #: The claims that hold matching devices.
    holders: tuple[DeviceHolder, ...] = ()
    #: The selectors that reject devices, in evaluation order.
    turned_away: tuple[SelectorRejection, ...] = ()
    #: The distinct taints that exclude these devices, ``key=value:effect``.
    taints: tuple[str, ...] = ()

    @property
    def usable(self) -> int:
        """The number of devices that can be allocated."""
        return self.free - self.tainted - self.exhausted

    @property
    def lacking(self) -> int:
        """The number of devices that are missing; for all devices, at least one must match."""
        wanted = self.wanted or max(self.matching, 1)
        return max(wanted - self.usable, 0)

    def words(self) -> str:
        """Return text like ``claim default/c, request r wants 4 gpu, 2 usable (8 here, 8 of the class, ...)``."""
        return f"claim {self.claim}, {self.short()}"

    def short(self) -> str:
        """Return the same text as ``words`` without the claim."""
        wanted = self.wanted or "all"
        steps = [f"{self.here} here", f"{self.of_class} of the class", f"{self.matching} match", f"{self.free} free"]
        if self.tainted:
            steps.append(f"{self.tainted} tainted with {listed(self.taints)}")
        if self.exhausted:
            steps.append(f"{self.exhausted} without the capacity")
        held = f"; held: {', '.join(map(str, self.holders))}" if self.holders else ""
        asked = f"request {self.request} wants {wanted} {self.device_class}"
        return f"{asked}, {self.usable} usable ({', '.join(steps)}{held})"


class NotAllocated(Operands, frozen=True):
    """The claims of the pod cannot all be allocated on the node."""

    #: The requests with too few devices; all requests if each alone has enough.
    requests: tuple[RequestSupply, ...]
    #: The constraint that prevents the allocation, as ``matchAttribute NAME``; empty if no single constraint does.
    constraint: str
    #: The pools that are not used, with the reason: ``driver/name: reason``.
    pools: tuple[str, ...]

    def words(self) -> str:
        return "; ".join(self.sentences(RequestSupply.words))

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop a claim, to use another one, or to delete a pod that holds devices."""
        yield from device_remedies(context)
        holders = (holder for request in self.requests for holder in request.holders)
        keys = (f"{holder.claim.partition('/')[0]}/{pod}" for holder in holders for pod in holder.pods)
        for key in dict.fromkeys(keys):
            yield from context.pod_removed(key)

    def sentences(self, worded: Callable[[RequestSupply], str]) -> Iterator[str]:
        """Yield the sentences of the explanation one by one; ``worded`` turns a request's supply into text."""
        said = [worded(request) for request in self.requests]
        if self.constraint:
            said = [f"no devices satisfy the constraint {self.constraint}"]
        elif not any(request.lacking for request in self.requests):
            said = (
                [f"each alone, but not together: {'; '.join(said)}"]
                if said
                else ["the node has nothing that is requested"]
            )
        yield from said
        yield from (f"pool {pool}" for pool in self.pools)

    def selectors(self) -> Iterator[str]:
        """Yield one sentence per selector that rejects devices."""
        for request in self.requests:
            yield from map(SelectorRejection.words, request.turned_away)

    def shortfall(self) -> Shortfall | None:
        short = max(self.requests, key=lambda request: request.lacking, default=None)
        if short is None or not short.lacking:
            return None
        wanted = short.wanted or max(short.matching, 1)
        return Shortfall(f"devices of class {short.device_class}", wanted, short.lacking, short.matching)


def explain_allocation(plans: Sequence[ClaimPlan], site: NodeDevices) -> NotAllocated:
    """Explain why claims cannot be allocated on a node."""
    requests = [[_supply(asked, site) for asked in one] for plan in plans for one in plan.requests]
    supplies = [supply for request in requests for supply in request]
    # A request lacks devices only if each of its alternatives does.
    short = [supply for request in requests if all(one.lacking for one in request) for supply in request]
    constraint = "" if short else _constraint(plans, site)
    pools = tuple(
        f"{pool.id} is not used: {pool.invalid or 'slices are missing'}" for pool in site.pools if not pool.usable
    )
    return NotAllocated(tuple(short or supplies), constraint, pools)


def _supply(asked: Alternative, site: NodeDevices) -> RequestSupply:
    inventory = site.inventory
    usable = [device for pool in site.pools if pool.usable for device in pool.devices if not site.elsewhere[device]]
    of_class = set(_of_class(asked, site, usable))
    verdict = site.verdict(asked)
    matching = [device for device in usable if verdict[device] == 1]
    in_use = [device for device in matching if site.in_use[device] or site.has_old_share(device)]
    free = matching if asked.admin_access else [device for device in matching if device not in in_use]
    tainted = [device for device in free if inventory.rules.taints and site.is_tainted_for(asked, device)]
    rest = set(free) - set(tainted)
    reckons = inventory.rules.capacity_requests
    exhausted = [device for device in rest if reckons and not _has_capacity(asked, site, device)]
    return RequestSupply(
        claim=asked.claim,
        request=asked.full_name,
        device_class=asked.device_class,
        wanted=0 if asked.mode == ALL else asked.count,
        here=len(usable),
        of_class=len(of_class),
        matching=len(matching),
        free=len(free),
        tainted=len(tainted),
        exhausted=len(exhausted),
        holders=tuple(_holders(inventory, site, matching)),
        turned_away=tuple(turned_away(asked, site, usable)),
        taints=tuple(dict.fromkeys(str(site.taint_for(asked, device)) for device in tainted)),
    )


def _has_capacity(asked: Alternative, site: NodeDevices, device: int) -> bool:
    try:
        return site.capacity.serves(asked, device)
    except CapacityError:
        return False


def _of_class(asked: Alternative, site: NodeDevices, devices: Sequence[int]) -> Iterator[int]:
    found = site.inventory.device_class(asked.device_class)
    if found is not None:
        verdict, _ = site.inventory.matches(found.spec.selectors, "")
        yield from (device for device in devices if verdict[site.numbers[device]] == 1)


def _holders(inventory: Inventory, site: NodeDevices, devices: Sequence[int]) -> Iterator[DeviceHolder]:
    """Yield the claims that hold some of these devices, those with the most first."""
    counts: dict[str, tuple[ResourceClaim, int]] = {}
    for device in devices:
        for claim in inventory.usage.holders.get(site.device_id(device), ()):
            counts[claim.key] = (claim, counts.get(claim.key, (claim, 0))[1] + 1)
    for key, (claim, n_devices) in sorted(counts.items(), key=lambda item: (-item[1][1], item[0])):
        yield DeviceHolder(key, tuple(user.name for user in claim.status.reserved_for), n_devices)


def _constraint(plans: Sequence[ClaimPlan], site: NodeDevices) -> str:
    """Return the first constraint without which the claims could be allocated; empty if there is none."""
    from kschedctl.scheduler.devices.requests import ClaimPlan
    from kschedctl.scheduler.devices.search import Search, TooManyStepsError

    for number, plan in enumerate(plans):
        for i, constraint in enumerate(plan.claim.spec.devices.constraints):
            devices = plan.claim.spec.devices
            constraints = (*devices.constraints[:i], *devices.constraints[i + 1 :])
            claim = replace(
                plan.claim, spec=replace(plan.claim.spec, devices=replace(devices, constraints=constraints))
            )
            lighter = (
                *plans[:number],
                ClaimPlan(claim, plan.requests, (*plan.attributes[:i], *plan.attributes[i + 1 :])),
                *plans[number + 1 :],
            )
            try:
                if Search(lighter, site.again()).run() is not None:
                    if constraint.match_attribute is not None:
                        return f"matchAttribute {constraint.match_attribute}"
                    return f"distinctAttribute {constraint.distinct_attribute}"
            except (AllocationError, NodeRejectedError, TooManyStepsError):
                continue
    return ""
