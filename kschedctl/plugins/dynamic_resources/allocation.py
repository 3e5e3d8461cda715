"""What the claims of a pod have or would get on a node, as Filter found it."""

from __future__ import annotations

from kschedctl.devices.allocation import ClaimAllocation, new_allocations, stored_allocation
from kschedctl.framework.cycle_state import CycleState
from kschedctl.plugins.dynamic_resources.state import State


def allocations_on(cycle: CycleState, row: int) -> tuple[ClaimAllocation, ...]:
    """The allocations of a pod's claims on a node: those that they have, then what the scheduler would write.

    Parameters
    ----------
    cycle : CycleState
        What the plugins kept.
    row : int
        The node.

    Returns
    -------
    tuple of ClaimAllocation
        Empty for a pod without claims, and where these cannot be used on the node.
    """
    state = cycle.read(State)
    if state is None or state.is_empty or state.verdict_of[row] < 0 or not state.available[:, row].all():
        return ()
    verdict = state.verdicts[int(state.verdict_of[row])]
    if verdict.refusal:
        return ()
    stored = tuple(found for claim in state.claims if (found := stored_allocation(claim)) is not None)
    if verdict.allocations is None:
        return stored
    new = new_allocations(verdict.allocations, int(state.place_of[row]))
    return (*stored, *new) if new else ()
