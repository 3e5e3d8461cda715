"""How much nodes are preferred: by the alternatives that the pod's requests get there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kschedctl.api.device import ResourceClaim
from kschedctl.arrays import Int64Array
from kschedctl.devices.allocator import Outcome
from kschedctl.devices.claims import alternatives_score
from kschedctl.framework.interface import PluginError
from kschedctl.plugins.dynamic_resources.state import State


def raw_scores(state: State, rows: Int64Array, *, needs_new_allocations: bool) -> Int64Array:
    """The score of nodes: per request with alternatives 8 less the number of the one that was found.

    Parameters
    ----------
    state : State
        The state, with these nodes examined.
    rows : ndarray of int64, shape (n_rows,)
        The nodes.
    needs_new_allocations : bool
        Whether claims that were allocated before make scoring fail.

    Returns
    -------
    ndarray of int64, shape (n_rows,)

    Raises
    ------
    PluginError
        Where ``needs_new_allocations`` and some claim was allocated before.
    """
    out = np.zeros(len(rows), dtype=np.int64)
    for number in np.unique(state.verdict_of[rows]).tolist():
        verdict = state.verdicts[number]
        found = verdict.allocations
        if found is None:
            continue
        claims = list(state.claims)
        if verdict.extended_claim is not None:
            claims.append(verdict.extended_claim)
        if needs_new_allocations and len(found.plans) < len(claims):
            n_new = len(found.plans)
            raise PluginError(f"number of allocations {n_new} is smaller than number of claims")
        scores = np.array([_score(claims, outcome) for outcome in found.outcomes], dtype=np.int64)
        here = state.verdict_of[rows] == number
        out[here] = scores[found.outcome_of[state.place_of[rows[here]]]]
    return out


def _score(claims: Sequence[ResourceClaim], outcome: Outcome) -> int:
    if outcome.solution is None:
        return 0
    new = iter(outcome.solution)
    total = 0
    for claim in claims:
        allocation = claim.status.allocation
        if allocation is not None:
            chosen = [result.request for result in allocation.devices.results]
        else:
            chosen = [device.request for device in next(new)]
        total += alternatives_score(claim, chosen)
    return total
