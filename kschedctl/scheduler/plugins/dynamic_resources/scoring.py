"""The Score of DynamicResources: prefers nodes on which earlier alternatives are chosen for the pod's requests."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.common.wording import listed
from kschedctl.objects.device import FIRST_AVAILABLE_MAX, ResourceClaim
from kschedctl.scheduler.devices.allocator import SearchOutcome
from kschedctl.scheduler.devices.claims import alternatives_score
from kschedctl.scheduler.framework.explanation import Arithmetic, Step, sum_expression
from kschedctl.scheduler.framework.interface import PluginError
from kschedctl.scheduler.plugins.dynamic_resources.state import State


def raw_scores(state: State, rows: Int64Array, *, needs_new_allocations: bool) -> Int64Array:
    """Return the nodes' raw scores: the sum of 8 - index of the chosen alternative, over requests with alternatives.

    Args:
        needs_new_allocations: True if scoring fails for pods with a claim that was allocated before.

    Raises PluginError if ``needs_new_allocations`` is true and a claim was allocated before.
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
        scores = np.array(
            [
                sum(alternatives_score(claim, chosen) for claim, chosen in _chosen_alternatives(claims, outcome))
                for outcome in found.outcomes
            ],
            dtype=np.int64,
        )
        here = state.verdict_of[rows] == number
        out[here] = scores[found.outcome_of[state.place_of[rows[here]]]]
    return out


def _chosen_alternatives(
    claims: Sequence[ResourceClaim], outcome: SearchOutcome
) -> Iterator[tuple[ResourceClaim, list[str]]]:
    """Yield each claim with the requests that its devices are for; nothing if a claim cannot be allocated."""
    if outcome.solution is None:
        return
    new = iter(outcome.solution)
    for claim in claims:
        allocation = claim.status.allocation
        if allocation is not None:
            yield claim, [result.request for result in allocation.devices.results]
        else:
            yield claim, [device.request for device in next(new)]


class ChosenAlternative(msgspec.Struct, frozen=True, rename="camel"):
    """The alternatives that are chosen for a claim on a node."""

    #: The claim's name.
    claim: str
    #: The requests that the claim's devices are for, ``request/alternative`` for alternatives.
    requests: tuple[str, ...]
    #: 8 - index of the chosen alternative, for each request with alternatives.
    scores: tuple[int, ...]


class AlternativesScore(Arithmetic, frozen=True):
    """The raw score of DynamicResources."""

    #: The claims with devices.
    claims: tuple[ChosenAlternative, ...]

    def formula(self) -> str:
        return "per request with alternatives 8 - the index of the chosen one, from 0; the sum"

    def steps(self) -> Iterator[Step]:
        for one in self.claims:
            terms = sum_expression(f"(8 - {FIRST_AVAILABLE_MAX - score})" for score in one.scores)
            note = f"gets {listed(one.requests)}" if one.requests else "gets nothing"
            yield Step(f"claim {one.claim}", terms, sum(one.scores), note)
        scores = [sum(one.scores) for one in self.claims]
        none = "" if self.claims else "no claim is allocated for this pod"
        yield Step("score", sum_expression(map(str, scores)), sum(scores), none)


def explain_scores(state: State | None, row: int) -> AlternativesScore:
    """Return the arithmetic of the score of a node that was examined.

    Args:
        state: The state after Filter; ``None`` for a pod without claims.
    """
    if state is None:
        return AlternativesScore(())
    verdict = state.verdicts[int(state.verdict_of[row])]
    found = verdict.allocations
    if found is None:
        return AlternativesScore(())
    claims = [*state.claims, *([verdict.extended_claim] if verdict.extended_claim is not None else ())]
    chosen = _chosen_alternatives(claims, found.outcomes[int(found.outcome_of[state.place_of[row]])])
    alternatives = [(claim, tuple(dict.fromkeys(requests))) for claim, requests in chosen]
    return AlternativesScore(
        tuple(
            ChosenAlternative(claim.name, names, tuple(filter(None, (alternatives_score(claim, [n]) for n in names))))
            for claim, names in alternatives
        )
    )
