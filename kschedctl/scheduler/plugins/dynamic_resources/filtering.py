"""The Filter of DynamicResources: allocated claims must be usable on the node, all others must be allocatable there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.arrays import Int64Array, Mask
from kschedctl.objects.releases.rules import DeviceRules
from kschedctl.scheduler.devices.allocator import CANNOT_ALLOCATE, INVALID_POOLS, allocate
from kschedctl.scheduler.devices.claims import available_on
from kschedctl.scheduler.devices.explain import explain_allocation
from kschedctl.scheduler.devices.extended_resources import can_be_backed, new_claim
from kschedctl.scheduler.devices.inventory import Inventory
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.status import Code, Reason, Rejections
from kschedctl.scheduler.plugins.dynamic_resources.reasons import (
    LeftoverClaim,
    UnavailableExtendedResource,
    claim_elsewhere,
)
from kschedctl.scheduler.plugins.dynamic_resources.state import AllocationVerdict, Extended, State

NOT_AVAILABLE: Final = "resourceclaim not available on the node"
LEFTOVER: Final = "cannot schedule extended resource claim"
CANNOT_FIT: Final = "cannot fit resource"


def examine(state: State, inventory: Inventory, rows: Int64Array) -> None:
    """Allocate the claims on the nodes that were not examined before, and store the verdicts in the state."""
    new = rows[state.verdict_of[rows] < 0]
    for verdict, members in _verdicts(state, inventory, new):
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
        out.append((_with_resources(state, state.extended, inventory, resources, members), members))
    return out


def _served(cluster: Cluster, extended: Extended, rows: Int64Array) -> tuple[Mask, Mask]:
    """Return the resources that devices must provide, and the nodes that cannot have one of the resources.

    Returns
    -------
    delegated : ndarray of bool, shape (n_resources, n_rows)
        True if the node offers none of the resource and a DeviceClass backs it.
    misfit : ndarray of bool, shape (n_rows,)
        True if neither the node nor a DeviceClass has one of the resources.
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


def _with_resources(
    state: State, extended: Extended, inventory: Inventory, resources: list[str], rows: Int64Array
) -> AllocationVerdict:
    if not resources and not state.claims:
        return AllocationVerdict()
    pod_claim = extended.leftover
    if pod_claim is None or pod_claim.status.allocation is None:
        if state.template is None:
            raise AssertionError("a pod with extended resources has a template for their claim")
        return _allocated(
            state,
            inventory,
            rows,
            AllocationVerdict(extended_claim=new_claim(state.template, resources, extended.classes)),
        )
    return _allocated(state, inventory, rows, AllocationVerdict())


def _allocated(state: State, inventory: Inventory, rows: Int64Array, verdict: AllocationVerdict) -> AllocationVerdict:
    """Allocate the unallocated claims on each of the nodes, and store the result in the verdict."""
    claims = [*state.open_claims, *([verdict.extended_claim] if verdict.extended_claim is not None else [])]
    if claims:
        verdict.allocations = allocate(claims, inventory, rows)
    return verdict


def rejections(state: State, cluster: Cluster, rules: DeviceRules, rows: Int64Array) -> Rejections:
    """Return the rejections of nodes that were examined.

    Parameters
    ----------
    rules : DeviceRules
        The release's rules.
    rows : ndarray of int64, shape (n_rows,)
        The rows of the nodes.
    """
    texts: dict[str, int] = {}
    code = np.zeros(len(rows), dtype=np.int8)
    reason = np.zeros(len(rows), dtype=np.int64)
    unavailable: Mask = np.logical_not(state.available[:, rows].all(axis=0))
    for number in np.unique(state.verdict_of[rows]).tolist():
        verdict = state.verdicts[number]
        here = state.verdict_of[rows] == number
        for at, status, text in _statuses(state, verdict, rows, here, unavailable):
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

    Parameters
    ----------
    rows : ndarray of int64, shape (n_rows,)
        All nodes.
    here, unavailable : ndarray of bool, shape (n_rows,)
        The verdict's nodes, and the nodes on which an allocated claim is not available.
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
        if outcome.failed:
            # The error contains the node's devices, so there is one per node.
            for position in np.flatnonzero(at).tolist():
                yield position, Code.ERROR, found.error(int(rows[position]))
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
    if text in (CANNOT_ALLOCATE, INVALID_POOLS) and verdict.allocations is not None:
        return explain_allocation(verdict.allocations.plans, verdict.allocations.site(row))
    return None
