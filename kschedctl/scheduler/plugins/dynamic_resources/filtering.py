"""The Filter of DynamicResources: allocated claims must be usable on the node, all others must be allocatable there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.releases.rules import DeviceRules
from kschedctl.scheduler.devices.allocator import allocate
from kschedctl.scheduler.devices.claims import available_on
from kschedctl.scheduler.devices.explain import device_remedies, explain_allocation
from kschedctl.scheduler.devices.extended_resources import can_be_backed, new_claim
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.framework.status import Code, Reason, Rejections
from kschedctl.scheduler.plugins.dynamic_resources.state import NOT_AVAILABLE, AllocationVerdict, Extended, State

if TYPE_CHECKING:
    from kschedctl.scheduler.devices.inventory import Inventory


class ClaimNotUsableOnNode(Operands, frozen=True):
    """A claim of the pod is allocated, but cannot be used on the node."""

    #: The claim, ``namespace/name``.
    claim: str
    #: The allocated devices, ``driver/pool/device``.
    devices: tuple[str, ...]
    #: True if the devices are ready, so that only the node is wrong.
    ready: bool
    #: The names of the pods that the claim is reserved for.
    pods: tuple[str, ...]

    def words(self) -> str:
        devices = ", ".join(self.devices)
        if not self.ready:
            return f"claim {self.claim} holds {devices}, which failed to become ready"
        pods = f" for {', '.join(self.pods)}" if self.pods else ""
        return f"claim {self.claim} holds {devices}{pods}, which this node cannot use"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop a claim, or to use another one."""
        return device_remedies(context)


class UnavailableExtendedResource(Operands, frozen=True):
    """The pod requests an extended resource that the node does not list and that no DeviceClass backs."""

    #: The resources.
    resources: tuple[str, ...]

    def words(self) -> str:
        return f"neither the node nor a DeviceClass has {', '.join(self.resources)}"


class LeftoverClaim(Operands, frozen=True):
    """An earlier attempt created a claim for the pod's extended resources, which must be deleted first."""

    #: The claim, ``namespace/name``.
    claim: str

    def words(self) -> str:
        return f"claim {self.claim} is left over from an earlier attempt and is deleted first"


def claim_elsewhere(claim: ResourceClaim, *, ready: bool) -> ClaimNotUsableOnNode:
    """Return the operands for a claim that cannot be used on a node."""
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    return ClaimNotUsableOnNode(
        claim.key,
        tuple(f"{result.driver}/{result.pool}/{result.device}" for result in results),
        ready,
        tuple(user.name for user in claim.status.reserved_for),
    )


LEFTOVER: Final = "cannot schedule extended resource claim"
CANNOT_FIT: Final = "cannot fit resource"


def examine(state: State, inventory: Inventory, rows: Int64Array) -> None:
    """Allocate the claims on the nodes that were not examined before, and store the verdicts in the state."""
    for verdict, members in _verdicts(state, inventory, rows[state.verdict_of[rows] < 0]):
        state.verdict_of[members] = len(state.verdicts)
        state.place_of[members] = np.arange(len(members))
        state.verdicts.append(verdict)


def _verdicts(state: State, inventory: Inventory, rows: Int64Array) -> list[tuple[AllocationVerdict, Int64Array]]:
    """Return one verdict per group of nodes that need the same claims, with the rows of the group."""
    if not len(rows):
        return []
    if state.extended is None:
        return [(_allocated(state, inventory, rows, AllocationVerdict()), rows)]
    if state.extended.leftover is not None and state.extended.leftover.spec.devices.requests:
        return [(AllocationVerdict(refusal=LEFTOVER), rows)]
    out = []
    delegated, misfit = _served(inventory.cluster, state.extended, rows)
    if misfit.any():
        out.append((AllocationVerdict(refusal=CANNOT_FIT), rows[misfit]))
    names = list(state.extended.amounts)
    patterns, pattern_of = np.unique(delegated[:, ~misfit], axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T.tolist()):
        members = rows[~misfit][pattern_of.reshape(-1) == number]
        resources = [name for name, bit in zip(names, pattern, strict=True) if bit]
        verdict = AllocationVerdict()
        if resources or state.claims:
            if state.extended.leftover is None or state.extended.leftover.status.allocation is None:
                if state.template is None:
                    raise AssertionError("a pod with extended resources has a template for their claim")
                verdict.extended_claim = new_claim(state.template, resources, state.extended.classes)
            verdict = _allocated(state, inventory, members, verdict)
        out.append((verdict, members))
    return out


def _served(cluster: Cluster, extended: Extended, rows: Int64Array) -> tuple[Mask, Mask]:
    """Return the resources that devices must provide, and the nodes that cannot have one of the resources.

    Returns: delegated: true if the node offers none of the resource and a DeviceClass backs it; misfit: true if
        neither the node nor a DeviceClass has one of the resources
    """
    delegated = np.zeros((len(extended.amounts), len(rows)), dtype=np.bool_)
    misfit = np.zeros(len(rows), dtype=np.bool_)
    offers = [cluster.nodes.allocatable[row] for row in rows.tolist()]
    for i, name in enumerate(extended.amounts):
        if not can_be_backed(name):
            continue
        amount = np.array([offer.get(name, -1) for offer in offers], dtype=np.int64)
        if name in extended.classes:
            delegated[i] = amount <= 0
        else:
            misfit |= amount < 0
    return delegated, misfit


def _allocated(state: State, inventory: Inventory, rows: Int64Array, verdict: AllocationVerdict) -> AllocationVerdict:
    """Allocate the unallocated claims on each of the nodes, and store the result in the verdict."""
    claims = [claim for claim in state.claims if claim.status.allocation is None]
    if verdict.extended_claim is not None:
        claims.append(verdict.extended_claim)
    if claims:
        verdict.allocations = allocate(claims, inventory, rows)
    return verdict


def rejections(state: State, cluster: Cluster, rules: DeviceRules, rows: Int64Array) -> Rejections:
    """Return the rejections of nodes that were examined."""
    texts: dict[str, int] = {}
    code = np.zeros(len(rows), dtype=np.int8)
    reason = np.zeros(len(rows), dtype=np.int64)
    unavailable: Mask = np.logical_not(state.available[:, rows].all(axis=0))
    for number in np.unique(state.verdict_of[rows]).tolist():
        verdict = state.verdicts[number]
        for at, status, text in _statuses(state, verdict, rows, state.verdict_of[rows] == number, unavailable):
            code[at] = status
            reason[at] = texts.setdefault(text, len(texts))
    words = list(texts)

    def details(position: int) -> tuple[Reason, ...]:
        text = words[int(reason[position])]
        return (Reason(text, _operands(state, cluster, rules, int(rows[position]), text)),)

    return Rejections(code, reason, lambda number: (words[number],), details)


def _statuses(
    state: State, verdict: AllocationVerdict, rows: Int64Array, here: Mask, unavailable: Mask
) -> Iterator[tuple[Mask | int, Code, str]]:
    """Yield the statuses of a verdict's nodes, each with its positions; a later status overrides an earlier one.

    Args:
        here, unavailable: The verdict's nodes, and the nodes on which an allocated claim is not available.
    """
    if verdict.refusal:
        yield here, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, verdict.refusal
        return
    found = verdict.allocations
    if state.claims or found is not None:
        yield here & unavailable, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, NOT_AVAILABLE
    if found is None:
        return
    outcome_of = np.full(len(rows), -1, dtype=np.int64)
    outcome_of[here] = found.outcome_of[state.place_of[rows[here]]]
    for i, outcome in enumerate(found.outcomes):
        at = outcome_of == i
        if outcome.is_own:
            # The text contains the node's devices or pool, so there is one per node.
            code = Code.ERROR if outcome.failed else Code.UNSCHEDULABLE_AND_UNRESOLVABLE
            for position in np.flatnonzero(at).tolist():
                yield position, code, found.problem(int(rows[position]))
        elif outcome.refusal:
            yield at, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, outcome.refusal


def _operands(state: State, cluster: Cluster, rules: DeviceRules, row: int, text: str) -> Operands | None:
    """Return the operands of a reason on a node, or ``None`` for an error."""
    verdict = state.verdicts[int(state.verdict_of[row])]
    if text == NOT_AVAILABLE:
        claim = next(c for c, available in zip(state.claims, state.available, strict=True) if not available[row])
        return claim_elsewhere(claim, ready=not available_on(cluster, claim, rules)[row])
    if state.extended is not None and text == LEFTOVER and state.extended.leftover is not None:
        return LeftoverClaim(state.extended.leftover.key)
    if state.extended is not None and text == CANNOT_FIT:
        offered, known = cluster.nodes.allocatable[row], state.extended.classes
        names = (name for name in state.extended.amounts if can_be_backed(name))
        return UnavailableExtendedResource(tuple(name for name in names if name not in offered and name not in known))
    found = verdict.allocations
    if found is None or found.outcome_at(int(state.place_of[row])).failed:
        return None
    return explain_allocation(found.plans, found.site(row))
