"""Device allocation on all nodes at once: one search for each group of nodes with interchangeable devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.device import ResourceClaim
from kschedctl.scheduler.devices.errors import AllocationError
from kschedctl.scheduler.devices.inventory import Inventory
from kschedctl.scheduler.devices.node_kinds import device_kinds, node_kinds
from kschedctl.scheduler.devices.requests import ClaimPlan, plan_claims, relevant_columns
from kschedctl.scheduler.devices.search import Allocated, Search, TooManyStepsError
from kschedctl.scheduler.devices.site import NodeDevices

CANNOT_ALLOCATE: Final = "cannot allocate all claims"
INVALID_POOLS: Final = "invalid resource pools were encountered"


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The outcome of a search, for nodes with interchangeable devices.

    Attributes
    ----------
    solution : list of list of Allocated, optional
        The devices of every claim; ``None`` if there is no solution.
    refusal : str
        The reason why the node is rejected; empty if it is not.
    failed : bool
        True if the scheduler ends its cycle with an error.
    gave_up : bool
        True if the search was given up after too many steps.
    """

    solution: list[list[Allocated]] | None = None
    refusal: str = ""
    failed: bool = False
    gave_up: bool = False


@dataclass(slots=True)
class Allocations:
    """The allocation of claims on each of some nodes.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_rows,)
        The rows of the nodes.
    outcome_of : ndarray of int64, shape (n_rows,)
        The index into ``outcomes`` for each node.
    outcomes : list of SearchOutcome
        The distinct outcomes.
    plans : tuple of ClaimPlan
        The claims.
    """

    rows: Int64Array
    outcome_of: Int64Array
    outcomes: list[SearchOutcome]
    plans: tuple[ClaimPlan, ...]
    _inventory: Inventory
    _kinds: Int64Array
    _errors: dict[int, str] = field(default_factory=dict)

    def site(self, row: int) -> NodeDevices:
        """Return the devices that a node can use, with nothing taken."""
        return NodeDevices(self._inventory, row, self._kinds)

    def error(self, row: int) -> str:
        """Return the error that the search ends with on a node; it names the node's own devices."""
        found = self._errors.get(row)
        if found is None:
            found = self._errors[row] = self._error(row)
        return found

    def _error(self, row: int) -> str:
        try:
            Search(self.plans, self.site(row)).run()
        except AllocationError as error:
            return str(error)
        except TooManyStepsError:
            name = self._inventory.cluster.nodes.names[row]
            return f"node {name}: timed out trying to allocate devices"
        raise AssertionError("nodes that look alike differ in the outcome of the search")


def allocate(claims: Sequence[ResourceClaim], inventory: Inventory, rows: Int64Array) -> Allocations:
    """Allocate claims on each of some nodes, as if the pod were scheduled there.

    Parameters
    ----------
    claims : sequence of ResourceClaim
        The claims that have no allocation, in the pod's order.
    inventory : Inventory
        The devices of the cluster.
    rows : ndarray of int64, shape (n_rows,)
        The rows of the nodes.
    """
    plans = plan_claims(claims, inventory)
    kinds = device_kinds(relevant_columns(plans, inventory).values(), len(inventory.devices))
    numbers = node_kinds(inventory, kinds, rows)
    _, first, outcome_of = np.unique(numbers, return_index=True, return_inverse=True)
    outcomes = [_outcome(plans, NodeDevices(inventory, int(rows[position]), kinds)) for position in first.tolist()]
    return Allocations(rows, outcome_of.astype(np.int64), outcomes, plans, inventory, kinds)


def _outcome(plans: Sequence[ClaimPlan], site: NodeDevices) -> SearchOutcome:
    try:
        solution = Search(plans, site).run()
    except AllocationError:
        return SearchOutcome(failed=True)
    except TooManyStepsError:
        return SearchOutcome(failed=True, gave_up=True)
    if solution is not None:
        return SearchOutcome(solution)
    rules = site.inventory.rules
    invalid = not rules.invalid_pool_fails and any(pool.invalid and not pool.incomplete for pool in site.pools)
    return SearchOutcome(refusal=INVALID_POOLS if invalid else CANNOT_ALLOCATE)
